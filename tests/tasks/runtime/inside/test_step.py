"""Blocks in a runner of this process: values, errors, names, and what is left of them."""

import asyncio
import builtins
import json
import linecache
import os
import signal
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.runtime.inside import step as module
from carryover.tasks.runtime.inside.namespace import hash_state
from carryover.tasks.runtime.inside.step import StepRunner
from carryover.tasks.runtime.inside.tools import StepTimeout, ToolRuntimeException


class Fit:
    """Finds no problem with a process, unless it was told to."""

    def __init__(self) -> None:
        self.kind: str | None = None

    def begin_block(self) -> None: ...
    def restore_builtins(self) -> None: ...
    def problem(self) -> str | None:
        return self.kind


@pytest.fixture
def runner(monkeypatch):
    """A runner whose traces in this process are removed."""
    monkeypatch.setattr(module, "Fitness", Fit)
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setitem(builtins.__dict__, "help", help)
    monkeypatch.setitem(builtins.__dict__, "display", None)
    monkeypatch.setattr(module.adapting, "_shown_by", [print])
    handler = signal.getsignal(signal.SIGINT)
    kept = dict(linecache.cache)
    seeds: list[str] = []
    seeder: Any = SimpleNamespace(reseed=seeds.append)
    made = StepRunner(seeder)
    made.seeds = seeds  # pyright: ignore[reportAttributeAccessIssue]
    yield made
    if made.awaiting._loop is not None:
        made.awaiting._loop.close()
        asyncio.set_event_loop(None)
    signal.signal(signal.SIGINT, handler)
    linecache.cache.clear()
    linecache.cache.update(kept)


def run(runner: StepRunner, source: str, step: int = 1) -> Any:
    channel: Any = None
    return runner.run(channel, step, "5", source)


def without_canary(report: dict[str, Any]) -> dict[str, Any]:
    canary = report.pop("canary")
    assert len(canary) == 32
    return report


REPORT = {
    "result": None, "error": None, "call": None, "names": [], "hiding": [], "restored": [], "is_excessive": False,
    "shown": 0,
}  # fmt: skip


def test_block_is_reported_whole(runner):
    report = run(runner, "x = 20\nx + 1")
    assert runner.canary() == report["canary"] == runner.namespace["__canary__"]
    digest = hash_state({"x": 20})
    assert without_canary(report) == {**REPORT, "result": "21", "names": ["x"], "hash": digest}
    assert runner.seeds == ["5"]
    assert without_canary(run(runner, "y = _", 2)) == {
        **REPORT, "names": ["x", "y"], "hash": hash_state({"x": 20, "y": 21}),
    }  # fmt: skip
    assert run(runner, "None", 3)["result"] is None


def test_error_is_told_by_the_frames_of_blocks(runner):
    run(runner, "def fail():\n    raise KeyError('a')")
    report = run(runner, "try:\n    1 / 0\nexcept ZeroDivisionError:\n    fail()", 2)
    name, text = report["error"]
    assert name == "KeyError"
    lines = text.splitlines()
    assert "    ~~^~~" in lines
    assert [line for line in lines if set(line) - set(" ~^") or not line] == [
        "Traceback (most recent call last):",
        '  File "<step 2>", line 2, in <module>',
        "    1 / 0",
        "ZeroDivisionError: division by zero",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        '  File "<step 2>", line 4, in <module>',
        "    fail()",
        '  File "<step 1>", line 2, in fail',
        "    raise KeyError('a')",
        "KeyError: 'a'",
    ]
    assert (report["result"], report["names"]) == (None, ["fail"])


def test_causes_and_groups_are_told_alike(runner):
    source = "import json\ntry:\n    json.loads('')\nexcept ValueError as e:\n    raise ExceptionGroup('g', [e]) from e"
    _, text = run(runner, source)["error"]
    assert "json/" not in text
    assert text.count('File "<step 1>", line 3') == 2
    name, text = run(runner, "raise SystemExit(2)", 2)["error"]
    assert name == "SystemExit"
    assert text.endswith('File "<step 2>", line 1, in <module>\n    raise SystemExit(2)\nSystemExit: 2')


@pytest.mark.parametrize(
    ("source", "last_line"),
    [
        ("size = 1\nsiez", "NameError: name 'siez' is not defined"),
        ("collections", "NameError: name 'collections' is not defined"),
        ("[].apend", "AttributeError: 'list' object has no attribute 'apend'"),
        ("from math import sqr", "ImportError: cannot import name 'sqr' from 'math'"),
    ],
)
def test_no_python_suggests_another_name(runner, source, last_line):
    """Python 3.12 and later would."""
    text = run(runner, source)["error"][1]
    assert (text.splitlines()[-1].partition(" (")[0], "Did you" in text) == (last_line, False)


def test_an_errors_own_text_is_told_wherever_it_stands(runner):
    own = "class Missing(AttributeError):\n    def __str__(self): return f'no field {self.name!r}'\n"
    assert run(runner, f"{own}raise Missing(name='weight')")["error"][1].endswith("Missing: no field 'weight'")
    later = "class Later(Exception):\n    def __str__(self): return f'lacks {self.__context__.name}'\n"
    text = run(runner, f"{later}try: siez\nexcept NameError: raise Later", 2)["error"][1]
    assert "NameError: name 'siez' is not defined\n" in text
    assert text.endswith("Later: lacks siez")
    failing = "class Bent(NameError):\n    def __str__(self): raise ValueError\n"
    text = run(runner, f"{failing}raise ExceptionGroup('g', [Bent(name='size'), KeyError('b')])", 3)["error"][1]
    assert ("Bent: <exception str() failed>" in text, "KeyError: 'b'" in text) == (True, True)


def test_errors_that_cannot_be_shown_or_are_long(runner):
    failing = "class Bent(Exception):\n    def __str__(self):\n        raise ValueError\n"
    assert "<exception str() failed>" in run(runner, f"{failing}raise Bent")["error"][1]
    name, text = run(runner, "raise type('N' * 2000, (Exception,), {})('m' * 200_000)", 2)["error"]
    assert (len(name), text[-10:]) == (1000, "m" * 10)
    assert text[50_000:].startswith("\n... [")
    assert text[:-50_000].endswith(" characters left out] ...\n")
    left = int(text[50_000:].split("[")[1].split()[0])
    assert len(text) == 100_000 + len(f"\n... [{left} characters left out] ...\n")


def test_long_value_is_cut_by_the_host(runner):
    assert len(run(runner, "'x' * 100_010")["result"]) == 100_001


def test_call_behind_an_error_is_told(runner):
    def refuse(call: Any) -> None:
        error = ToolRuntimeException("not now")
        error.__dict__["call"] = call
        raise error

    runner.inject("refuse", refuse, is_own=True)
    assert [run(runner, f"refuse({call})")["call"] for call in ("3", "'3'", "None")] == [3, None, None]
    assert run(runner, "error = ValueError()\nerror.call = 3\nraise error")["call"] is None


def test_names_of_the_host_are_put_back(runner):
    runner.add_tools({"inspect": "Look."})
    runner.inject("helper", len, is_own=True)
    runner.inject("table", [1], is_own=False)
    report = run(runner, "inspect = helper = 1\ntable = [2]\nlen = 3\nx = 4")
    assert (report["names"], report["hiding"], report["restored"]) == (["x"], ["len"], ["helper", "inspect"])
    assert runner.namespace["helper"] is len
    assert runner.namespace["inspect"].__doc__ == "Look."
    assert runner.namespace["table"] == [2]
    runner.inject("helper", 5, is_own=False)
    assert run(runner, "helper = 6")["restored"] == []
    runner.forget(None)
    assert (runner.namespace["table"], runner.namespace["helper"], "x" in runner.namespace) == ([1], 5, False)
    assert runner.namespace["json"] is json


def test_names_are_forgotten_one_by_one_or_all(runner):
    run(runner, "a = 1\nb = 2\n7")
    runner.forget(["a", "gone"])
    assert run(runner, "_", 2)["result"] == "7"
    assert runner.user_values() == {"b": 2}
    runner.forget(["_"])
    assert run(runner, "_", 3)["error"][0] == "NameError"
    run(runner, "from __future__ import annotations\nb", 4)
    assert run(runner, "def f(x: gone): pass", 5)["error"] is None
    runner.forget(None)
    assert run(runner, "def f(x: gone): pass", 6)["error"][0] == "NameError"


def test_a_user_s_underscore_is_their_own(runner):
    assert run(runner, "_ = 5\n6")["names"] == ["_"]
    assert run(runner, "_", 2)["result"] == "5"


def test_awaits_at_the_top_run_in_a_loop(runner):
    source = "import asyncio\nasync def double(x):\n    await asyncio.sleep(0)\n    return 2 * x\n"
    assert run(runner, f"{source}y = await double(2)\ny + 1")["result"] == "5"
    assert run(runner, "await double(3)", 2)["result"] == "6"
    for number, last in enumerate(("x = next(iter([]))", "next(iter([]))"), start=3):
        assert run(runner, f"await double(1)\n{last}", number)["error"][0] == "StopIteration"


def test_printed_words_come_in_order(runner, capfd):
    run(runner, "import sys\nprint('a', end='')\nprint('\\ud800', file=sys.stderr)\nsys.stdout.close()")
    run(runner, "print('b')", 2)
    assert capfd.readouterr().out == "a\\ud800\nb\n"


def test_block_without_another_is_its_problem_alone(runner):
    runner._fitness.kind = "files"
    assert run(runner, "x = 1") == "files"
    runner._fitness.kind = None
    runner.folder = SimpleNamespace(begin_block=lambda: None, end_block=lambda canary, is_mapped: "folder")
    assert run(runner, "x = 1", 2) == "folder"


@pytest.mark.parametrize(("canary", "said"), [("c" * 32, "c" * 32), ("c" * 31, None), (5, None)])
def test_canary_is_a_word_of_the_namespace(runner, canary, said):
    assert runner.canary() is None
    runner.namespace["__canary__"] = canary
    assert runner.canary() == said
    assert "__canary__" not in run(runner, "list(globals())")["result"]


def test_interrupt_reaches_the_block_alone(runner):
    runner.tidy()
    os.kill(os.getpid(), signal.SIGINT)
    assert not runner.line.is_interrupt_pending
    runner.inject("interrupt", lambda: os.kill(os.getpid(), signal.SIGINT), is_own=True)
    assert run(runner, "interrupt()\nfor _ in range(9): pass")["error"][0] == "StepTimeout"
    runner.line.is_main_thread_calling = True
    os.kill(os.getpid(), signal.SIGINT)
    assert runner.line.is_interrupt_pending
    runner.line.is_main_thread_calling = False
    runner._is_running = True
    with pytest.raises(StepTimeout):
        runner._on_interrupt(2, None)
    runner._on_interrupt(2, None)


def test_calls_go_through_while_a_block_runs(runner):
    opened: list[Any] = []
    runner.inject("look", lambda: opened.append((runner.line._channel, runner.line._owner)), is_own=True)
    channel: Any = "channel"
    runner.run(channel, 1, "5", "look()")
    assert opened == [("channel", os.getpid())]
    assert runner.line._channel is None


def test_main_module_is_the_namespace(runner):
    report = run(runner, "import sys, __main__\nx = 3\n__main__.x, sys.modules['__main__'].__dict__ is globals()")
    assert report["result"] == "(3, True)"
    run(runner, "sys.modules['__main__'] = None", 2)
    assert run(runner, "import __main__; __main__.x", 3)["result"] == "3"


def test_rich_values_are_counted(runner):
    runner.showing.is_watched = True
    source = "class Rich:\n    def _repr_html_(self):\n        return '<b>x</b>'\ndisplay(Rich())\nRich()"
    assert run(runner, source)["shown"] == 2
    assert run(runner, "1", 2)["shown"] == 0
