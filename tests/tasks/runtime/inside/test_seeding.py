"""Seeded generators, without a sandbox."""

import os
import random
import sys
from importlib.machinery import PathFinder
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from carryover.tasks.runtime.inside.seeding import Seeder


@pytest.fixture
def seeder():
    made = Seeder()
    sys.meta_path.remove(made)
    return made


def imported(seeder):
    """Import `random` as a block does after it forgot the module."""
    module = seeder.create_module(None)
    seeder.exec_module(module)
    return module


def test_random_is_one_module_that_each_import_seeds(seeder):
    seeder.reseed("2a")
    module = imported(seeder)
    drawn = module.random()
    assert drawn == random.Random(42).random()
    assert imported(seeder) is module
    assert module.random() == drawn


def test_a_seed_reaches_an_imported_module(seeder):
    module = imported(seeder)
    module.gauss(0, 1)
    module.seed = None
    seeder.reseed("2b")
    reference = random.Random(43)
    assert [module.gauss(0, 1), module.random()] == [reference.gauss(0, 1), reference.random()]


def test_seeder_is_asked_first_for_modules():
    made = Seeder()
    assert sys.meta_path.index(made) == 0
    sys.meta_path.remove(made)


def test_module_looks_like_python_s_own(seeder):
    register = os.register_at_fork
    module = imported(seeder)
    assert module.__spec__.origin == random.__file__
    assert os.register_at_fork is register
    assert module is not random


def test_other_modules_are_left_to_python(seeder):
    assert seeder.find_spec("random").loader is seeder
    assert seeder.find_spec("numpy") is None
    assert seeder.find_spec("numpy.random.mtrand", []) is None


SEED = "0123456789abcdef" * 4


def test_numpy_is_seeded_at_its_import_and_before_each_block(seeder, monkeypatch):
    def execute(module: Any) -> None:
        module._rand = np.random.RandomState(0)

    spec = SimpleNamespace(loader=SimpleNamespace(exec_module=execute))
    monkeypatch.setattr(PathFinder, "find_spec", lambda *_: spec)
    module = SimpleNamespace()
    seeder.reseed(SEED)
    seeder.find_spec("numpy.random.mtrand").loader.exec_module(module)
    words = [0x89ABCDEF, 0x01234567] * 4
    drawn = np.random.RandomState(words).random(3).tolist()
    assert module._rand.random(3).tolist() == drawn
    seeder.reseed(SEED)
    assert module._rand.random(3).tolist() == drawn
    seeder.reseed("1")
    assert module._rand.random(3).tolist() == np.random.RandomState([1, *[0] * 7]).random(3).tolist()


def test_first_seed_is_zero(seeder):
    assert imported(seeder).random() == random.Random(0).random()
