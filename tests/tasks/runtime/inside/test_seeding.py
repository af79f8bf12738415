"""Seeded generators, without a sandbox."""

import random
import sys

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
