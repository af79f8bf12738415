"""Tests that the machine cannot run are left out, and a line at the end of the run says so, with workers as without."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = """
import tests.conftest as own
from tests.conftest import *

own.NEEDS = (
    own.Need("marked `gpu`", own.marked("gpu"), lambda: False, "a GPU"),
    own.Need("marked `browser`", own.marked("browser"), lambda: True, "a browser"),
    own.Need("of processor time", own.using("processor_seconds"), lambda: False, "a control group"),
)


@pytest.fixture
def processor_seconds():
    raise AssertionError("must not be asked for")
"""
TESTS = """
import pytest


@pytest.mark.gpu
def test_training():
    raise AssertionError


@pytest.mark.browser
def test_report():
    pass


def test_cost(processor_seconds):
    raise AssertionError


def test_anything():
    pass
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_what_the_machine_cannot_run_is_left_out_and_named(pytester, monkeypatch, workers):
    pytester.makeini("[pytest]\nmarkers =\n    gpu: g\n    browser: b\n")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))  # the inner run imports `tests`
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", *workers)
    done.assert_outcomes(passed=2, deselected=0 if workers else 2)
    lines = [line for line in done.outlines if "left out" in line]
    assert lines == [
        "1 tests marked `gpu` left out: they need a GPU",
        "1 tests of processor time left out: they need a control group",
    ]
