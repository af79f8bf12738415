"""What each connector asks of its package, by stand-ins for the few names that it uses."""

import asyncio
import io
import json
import signal
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.probe.foreign import (
    cave_agent_runtimes,
    dspy_runtime,
    monty_runtime,
    open_interpreter_runtime,
    rlms_runtimes,
    serve,
    smolagents_runtimes,
)


@pytest.fixture
def install(monkeypatch):
    """Install modules of a package for the test: call it with the names in each module."""

    def install(**modules):
        for name, members in modules.items():
            parts = name.split("__")
            for depth in range(1, len(parts) + 1):
                place = ".".join(parts[:depth])
                if place not in sys.modules or depth == len(parts):
                    monkeypatch.setitem(sys.modules, place, ModuleType(place))
            vars(sys.modules[".".join(parts)]).update(members)

    return install


def test_monty_feeds_a_session_that_is_resumed_from_its_dump(install):
    asked: list[Any] = []

    class MontyError(Exception):
        pass

    class Session:
        def __init__(self, number):
            self.number = number

        def __enter__(self):
            asked.append(("enter", self.number))

        def __exit__(self, *raised):
            asked.append(("exit", self.number, raised))

        def feed_run(self, code, *, inputs, print_callback):
            asked.append((self.number, code, inputs))
            print_callback.output = "printed"
            if code == "bad":
                raise MontyError("NameError: bad")
            return 3

        def dump(self):
            return f"state of {self.number}"

        def load_session(self, state):
            asked.append(("load", self.number, state))

    class Pool(Session):
        def checkout(self, *, limits):
            asked.append(("checkout", limits))
            self.number += 1
            return Session(self.number)

    install(pydantic_monty={"Monty": lambda: Pool(0), "MontyError": MontyError, "CollectString": SimpleNamespace})
    runtime = monty_runtime.Session()
    runtime.open()
    limits = ("checkout", {"max_feed_duration_secs": 1.0})
    assert asked == [("enter", 0), limits, ("enter", 1)]
    assert runtime.injected() == {}
    given = {"x": [1]}
    runtime.inject(given)
    assert runtime.injected() is given
    assert (runtime.run("x"), runtime.run("bad")) == ("printed\n3", "printed\nNameError: bad")
    assert asked[3:] == [(1, "x", given), (1, "bad", given)]
    asked.clear()
    runtime.resume()
    nothing = (None, None, None)
    assert asked == [("exit", 1, nothing), limits, ("enter", 2), ("load", 2, "state of 1")]
    asked.clear()
    runtime.time_out()
    assert asked == [(2, "while True:\n    pass", given)]
    asked.clear()
    runtime.close()
    assert asked == [("exit", 2, nothing), ("exit", 2, nothing)]


def test_rlms_runs_code_in_its_repls(install):
    asked: list[Any] = []

    class Repl:
        def __init__(self, name):
            self.locals: dict[str, Any] = {"answer": 1}
            asked.append(name)

        def execute_code(self, code):
            asked.append(code)
            return SimpleNamespace(stdout="out", stderr="err")

        def cleanup(self):
            asked.append("cleanup")

    install(
        rlm__environments__ipython_repl={"IPythonREPL": lambda: Repl("ipython")},
        rlm__environments__local_repl={"LocalREPL": lambda: Repl("local")},
    )
    for kind, name in ((rlms_runtimes.IPythonREPL, "ipython"), (rlms_runtimes.LocalREPL, "local")):
        asked.clear()
        runtime = kind()
        runtime.open()
        assert runtime.run("x = 1") == "out\nerr"
        runtime.close()
        assert asked == [name, "x = 1", "cleanup"]
    local = rlms_runtimes.LocalREPL()
    local.open()
    assert local.injected() == {}
    given = {"x": 3}
    local.inject(given)
    assert local.injected() is given
    assert local._repl.locals == {"answer": 1, "x": 3}


def test_smolagents_executors_tell_logs_outputs_and_errors(install):
    asked: list[Any] = []

    class Executor:
        def __init__(self, *given, **named):
            asked.append(("made", given, named))
            self.state: dict[str, Any] = {}

        def send_tools(self, tools):
            asked.append(("tools", tools))

        def send_variables(self, values):
            asked.append(("variables", values))

        def __call__(self, code):
            asked.append(code)
            if code == "bad":
                self.state["_print_outputs"] = "printed"
                raise ValueError("no")
            if code == "worse":
                self.state.clear()
                raise KeyError("x")
            return SimpleNamespace(logs="logs", output=3)

        def run(self, code):
            asked.append(code)
            return SimpleNamespace(stdout="out", stderr="err")

    install(
        smolagents={"LocalPythonExecutor": Executor},
        openenv__core__tools__local_python_executor={"PyExecutor": Executor},
    )
    runtime = smolagents_runtimes.LocalExecutor()
    runtime.open()
    assert asked == [("made", ([],), {"timeout_seconds": 2}), ("tools", {})]
    assert runtime.injected() == {}
    given = {"x": 1}
    runtime.inject(given)
    assert runtime.injected() is given
    assert runtime.run("3") == "logs\n3"
    assert runtime.run("bad") == "printed\nValueError: no"
    assert runtime.run("worse") == "\nKeyError: 'x'"
    runtime.time_out()
    assert asked[2:] == [("variables", given), "3", "bad", "worse", "import time\ntime.sleep(4)"]
    runtime.close()
    assert not hasattr(runtime, "_executor")

    asked.clear()
    other = smolagents_runtimes.OpenEnvExecutor()
    other.open()
    assert other.run("3") == "out\nerr"
    other.reset()
    assert asked == [("made", (), {}), "3", ("made", (), {})]
    other.close()
    assert not hasattr(other, "_executor")


@pytest.mark.parametrize("is_kernel", [False, True])
def test_cave_agents_runtimes_are_awaited_on_a_loop_of_their_own(install, monkeypatch, is_kernel):
    asked: list[Any] = []

    class Runtime:
        def __init__(self, **settings):
            asked.append(("made", settings))

        async def execute(self, code):
            asked.append(code)
            if code == "quiet":
                return SimpleNamespace(stdout=None, error=None)
            return SimpleNamespace(stdout="out", error="err")

        async def start(self):
            asked.append("start")

        async def stop(self):
            asked.append("stop")

        async def reset(self):
            asked.append("reset")

        async def interrupt(self):
            asked.append("interrupt")

        def inject_variable(self, variable):
            asked.append(variable)

    install(
        cave_agent={"Variable": lambda name, value: (name, value)},
        cave_agent__runtime={"IPythonRuntime": Runtime, "IPyKernelRuntime": Runtime},
    )
    runtime: Any = (cave_agent_runtimes.IPyKernel if is_kernel else cave_agent_runtimes.IPython)()
    runtime.open()
    begun = [("made", {"iopub_timeout": 5.0}), "start"] if is_kernel else [("made", {})]
    assert asked == begun
    assert runtime.injected() == {}
    given = {"x": 1, "y": 2}
    runtime.inject(given)
    assert runtime.injected() is given
    assert (runtime.run("x"), runtime.run("quiet")) == ("out\nerr", "\n")
    runtime.reset()
    assert asked[len(begun) :] == [("x", 1), ("y", 2), "x", "quiet", "reset"]
    asked.clear()
    if is_kernel:
        slept = []
        sleep = asyncio.sleep

        async def sleep_briefly(seconds):
            slept.append(seconds)
            await sleep(0)

        monkeypatch.setattr(cave_agent_runtimes.asyncio, "sleep", sleep_briefly)
        runtime.time_out()
        assert (asked, slept) == (["while True: pass", "interrupt"], [2])
        runtime.kill()
        assert asked[2:] == ["import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"]
        asked.clear()
    runtime.close()
    assert asked == (["stop"] if is_kernel else [])
    assert runtime._loop.is_closed()


def test_dspys_interpreter_is_begun_anew_after_a_kill(install, monkeypatch):
    asked: list[Any] = []

    class Interpreter:
        deno_process = SimpleNamespace(pid=77)

        def start(self):
            asked.append("start")

        def execute(self, code, *, variables):
            asked.append((code, variables))
            if code == "bad":
                raise ValueError("no")
            return 3

        def shutdown(self):
            asked.append("shutdown")

    install(dspy__primitives__python_interpreter={"PythonInterpreter": Interpreter})
    monkeypatch.setattr(dspy_runtime.os, "kill", lambda *given: asked.append(given))
    runtime = dspy_runtime.Interpreter()
    runtime.open()
    given = {"x": 1}
    runtime.inject(given)
    assert runtime.injected() is given
    assert (runtime.run("x"), runtime.run("bad")) == ("3", "ValueError: no")
    assert asked == ["start", ("x", given), ("bad", given)]
    asked.clear()
    runtime.kill()
    assert asked == [(77, signal.SIGKILL), ("print(1)", given), "shutdown", "start"]
    assert runtime.injected() == {}


def test_open_interpreters_computer_runs_python(install, monkeypatch):
    asked: list[Any] = []

    def run(language, code):
        asked.append((language, code))
        return [{"content": "a"}, {"format": "output"}, {"content": 3}]

    computer = SimpleNamespace(
        run=run, stop=lambda: asked.append("stop"), terminate=lambda: asked.append("end"), import_computer_api=True
    )
    install(interpreter={"interpreter": SimpleNamespace(computer=computer)})
    started = []

    def timer(seconds, act):
        started.append(seconds)
        return SimpleNamespace(start=act)

    monkeypatch.setattr(open_interpreter_runtime.threading, "Timer", timer)
    runtime = open_interpreter_runtime.Computer()
    runtime.open()
    assert computer.import_computer_api is False
    assert runtime.run("x") == "a\n\n3"
    runtime.time_out()
    runtime.reset()
    runtime.close()
    python = [("python", code) for code in ("pass", "x", "import time\ntime.sleep(60)")]
    assert asked == [*python[:2], "stop", python[2], "end", "end"]
    assert started == [2]


class Served:
    """A runtime of a package that is installed."""

    PACKAGES = ("pytest", "pluggy")

    def __init__(self):
        self.asked = []

    def run(self, code):
        return len(code)

    def reset(self):
        self.asked.append("reset")

    def inject(self, values):
        self.asked.append(values)

    def injected(self):
        return {"x": 1}


def test_requests_are_answered_by_their_kind(monkeypatch):
    monkeypatch.setattr(serve, "HIDDEN", [])
    runtime = Served()
    described = serve._answer(runtime, {"do": "describe"})
    pytest_version, pluggy_version = (serve.version(name) for name in Served.PACKAGES)
    python = sys.version.split()[0]
    assert described == {
        "version": f"pytest {pytest_version}, pluggy {pluggy_version}, Python {python}",
        "offers": ["reset", "inject", "hide"],
    }
    assert serve._answer(runtime, {"code": "abc"}) == {"text": "3"}
    done = {"text": ""}
    assert serve._answer(runtime, {"do": "inject", "values": {"y": 2}}) == done
    assert serve._answer(runtime, {"do": "injected"}) == {"values": {"x": 1}}
    assert serve._answer(runtime, {"do": "hide", "value": "token"}) == done
    assert serve._answer(runtime, {"do": "reset"}) == done
    assert (runtime.asked, serve.HIDDEN) == ([{"y": 2}, "reset"], ["token"])
    assert json.dumps(described)


def test_requests_are_served_line_by_line_until_the_input_ends(monkeypatch, install):
    events = []

    class Opened(Served):
        def open(self):
            events.append("open")

        def close(self):
            events.append("close")

    install(served_runtime={"Opened": Opened})
    requests = io.BytesIO(b'{"code": "abc"}\n{"do": "injected"}\n')
    replies = io.BytesIO()
    monkeypatch.setattr(serve, "_take_streams", lambda: (requests, replies))
    serve.serve("served_runtime", "Opened")
    assert replies.getvalue() == b'{"text": "3"}\n{"values": {"x": 1}}\n'
    assert events == ["open", "close"]
