"""What a kernel is asked for by the engine's protocol, and which kernel is asked."""

from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.runtime.engine import Block, FrozenFiles
from carryover.tasks.runtime.jupyter import kernel_engine
from carryover.tasks.runtime.jupyter import runtime as runtime_module
from carryover.tasks.runtime.jupyter.kernel_engine import JupyterEngine
from carryover.tasks.runtime.jupyter.runtime import JupyterRuntime
from carryover.tasks.runtime.lifetime import Lifetime
from carryover.tasks.runtime.objects import Binding
from carryover.tasks.runtime.process.node import NodeGoneError
from carryover.tasks.runtime.runtime_spec import RuntimeSpec

LIVE = Lifetime("live", "all")
FRESH = Lifetime("fresh", "nothing")
SPEC = RuntimeSpec(backend="jupyter", block_timeout_seconds=2.0)
WITH_FILES = SPEC.model_copy(update={"scratch_limit_bytes": 1000})
BINDING = Binding(("define", "f", "def f(): pass"))
FILES: Any = SimpleNamespace(memory=SimpleNamespace(size=7, descriptor=9))
PACKED = FrozenFiles(FILES)


class FakeKernel:
    """Keeps what it is asked, under its number."""

    def __init__(self, number, asked):
        self.number = number
        self.node = f"node {number}"
        self.keeper = f"keeper {number}"
        self.has_output = True
        self.is_gone = False
        self._asked = asked

    def note(self, *what):
        self._asked.append((self.number, *what))

    def folder_settings(self, *, keeps):
        return f"folder, keeps {keeps}"

    def ask(self, message, descriptors=(), _limit=0):
        self.note(message, descriptors)
        if self.is_gone:
            raise NodeGoneError("gone")

    def execute(self, step, seed, code):
        self.note("execute", step, seed, code)

    def settle(self, seconds):
        self.note("settle", round(seconds, 1))
        return self.has_output

    def close(self):
        self.note("close")


@pytest.fixture
def opened():
    """Open engines on kernels that are numbered as they are taken; return both, and what kernels were asked."""
    engines = []

    def open_engine(lifetime=LIVE, spec=SPEC):
        asked = []
        kernels = []

        def take():
            kernels.append(FakeKernel(len(kernels), asked))
            return kernels[-1]

        engines.append(JupyterEngine(lifetime, spec, take, {"look": "def look()"}))
        return engines[-1], kernels, asked

    yield open_engine
    for engine in engines:
        engine.close()


def set_up(number, keeps=True):
    return (number, ("setup", {"look": "def look()"}, f"folder, keeps {keeps}"))


def without_descriptors(asked):
    return [entry[:2] if isinstance(entry[1], tuple) else entry for entry in asked]


def test_a_kernel_is_set_up_with_tools_folder_and_output(opened):
    engine, _, asked = opened(Lifetime("live", "all", keeps_files=False))
    assert without_descriptors(asked) == [set_up(0, keeps=False)]
    assert asked[0][2] == (engine._output.descriptor,)


@pytest.mark.parametrize("has_output", [True, False])
def test_a_block_is_a_cell_whose_calls_are_attended(opened, monkeypatch, has_output):
    engine, (kernel,), asked = opened()
    kernel.has_output = has_output
    attended = []
    monkeypatch.setattr(kernel_engine, "attend", lambda *given: attended.append(given) or "report")
    asked.clear()
    assert engine._run(engine._next(), Block(3, "s", "x = 1"), "answer") == "report"
    assert attended == [("node 0", "keeper 0", 3, "answer", SPEC)]
    expected = [(0, "execute", 3, "s", "x = 1"), (0, "settle", 3.0)]
    if not has_output:
        expected.append((0, ("output",), (engine._output.descriptor,)))
    assert asked == expected


def test_a_late_block_leaves_jupyter_a_second(opened, monkeypatch):
    engine, _, asked = opened()
    times = iter([0.0, 100.0])
    monkeypatch.setattr(kernel_engine.time, "monotonic", lambda: next(times))
    monkeypatch.setattr(kernel_engine, "attend", lambda *_: "report")
    asked.clear()
    engine._run(engine._next(), Block(1, "s", ""), "answer")
    assert asked[-1] == (0, "settle", 1.0)


def test_a_live_kernel_drops_names_and_clears_unkept_files(opened):
    engine, (kernel,), asked = opened(Lifetime("live", "some", keeps_files=False), WITH_FILES)
    asked.clear()
    engine.finish([])
    assert (asked, engine.forgets) == ([(0, ("clear",), ())], False)
    engine.finish(["x"])
    assert (asked[-1], engine.forgets) == ((0, ("drop", ["x"]), ()), False)
    kernel.is_gone = True
    engine.finish(None)
    assert (asked[-1], engine.forgets) == ((0, ("drop", None), ()), True)

    for lifetime, spec in ((LIVE, WITH_FILES), (Lifetime("live", "all", keeps_files=False), SPEC)):
        engine, _, asked = opened(lifetime, spec)
        asked.clear()
        engine.finish([])
        assert asked == []


def test_a_fresh_lifetime_takes_the_next_kernel_with_its_files(opened, monkeypatch):
    engine, _, asked = opened(Lifetime("fresh", "nothing", keeps_files=True), WITH_FILES)
    engine.keep(BINDING)
    monkeypatch.setattr(kernel_engine.JupyterEngine, "pack_files", lambda engine: PACKED)
    asked.clear()
    engine.finish(None)
    assert without_descriptors(asked) == [(0, "close"), set_up(1), (1, BINDING.message), (1, ("unpack", 7))]
    asked.clear()
    engine.restart([])
    assert without_descriptors(asked) == [(1, "close"), set_up(2)]
    assert engine.installed == []


def test_going_back_is_another_kernel_and_a_replay(opened):
    for lifetime, recovery in ((LIVE, "incomplete"), (FRESH, "complete")):
        engine, _, asked = opened(lifetime)
        asked.clear()
        assert engine.roll_back() == recovery
        assert without_descriptors(asked) == [(0, "close"), set_up(1)] if lifetime is LIVE else [(0, "close")]
        assert engine.thaw(None) == recovery
        assert engine.freeze() is None


def test_what_is_installed_is_installed_in_later_kernels(opened):
    engine, _, asked = opened()
    asked.clear()
    engine.install(BINDING)
    assert asked == [(0, BINDING.message, ())]
    engine.roll_back()
    assert without_descriptors(asked)[1:] == [(0, "close"), set_up(1), (1, BINDING.message)]


def test_a_branch_is_a_further_kernel_with_the_bindings(opened):
    engine, kernels, asked = opened()
    engine.install(BINDING)
    asked.clear()
    other, recovery = engine.branch()
    assert recovery == "incomplete"
    assert without_descriptors(asked) == [set_up(1), (1, BINDING.message)]
    other.close()
    assert asked[-1] == (1, "close")
    assert engine._next() is kernels[0]


class FakeStarted:
    """A kernel of a runtime."""

    opened: list["FakeStarted"] = []  # noqa: RUF012 - emptied by each test

    def __init__(self, *given):
        self.given = given
        self.is_closed = False
        self.opened.append(self)

    def close(self):
        self.is_closed = True


def test_a_runtime_starts_kernels_ahead_and_ends_those_left(monkeypatch):
    FakeStarted.opened.clear()
    monkeypatch.setattr(runtime_module, "Kernel", FakeStarted)
    spec = SPEC.model_copy(update={"warm_kernel_count": 2})
    runtime = JupyterRuntime(spec)
    taken = [runtime.take() for _ in range(3)]
    assert len(set(map(id, taken))) == 3
    runtime.close()
    assert len(FakeStarted.opened) >= 3
    assert all(kernel.given == (spec, runtime.sandbox_level, runtime._folders) for kernel in FakeStarted.opened)
    assert [kernel for kernel in FakeStarted.opened if not kernel.is_closed] == taken
    assert len(FakeStarted.opened) <= 5
