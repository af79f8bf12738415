import os
import sys

import pytest

from carryover.tasks.serving.cpu_server import HUGE_PAGES_VARIABLE, main


def run_without_model(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["cpu_server", "--model", "/nowhere/model"])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_a_model_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setenv(HUGE_PAGES_VARIABLE, "1")
    assert run_without_model(monkeypatch) == (
        "error: model '/nowhere/model': /nowhere/model is not a directory; "
        "give the one that training saved, or a hub name"
    )


def test_torch_uses_huge_pages_unless_the_environment_says_otherwise(monkeypatch):
    monkeypatch.setenv(HUGE_PAGES_VARIABLE, "0")
    run_without_model(monkeypatch)
    assert os.environ[HUGE_PAGES_VARIABLE] == "0"
    monkeypatch.delenv(HUGE_PAGES_VARIABLE)
    run_without_model(monkeypatch)
    assert os.environ[HUGE_PAGES_VARIABLE] == "1"
