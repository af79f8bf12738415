import inspect

import pytest

from carryover.tasks.agent.faults import FailingTools, FaultInjector, FaultSpec
from carryover.tasks.runtime.inside.tools import ToolRuntimeException
from carryover.tasks.runtime.results import BlockError, BlockResult

ALWAYS = FaultSpec(rate=1.0, storm_share=0.0)


class RecordingInterpreter:
    def __init__(self, *names):
        self.names = set(names)

    def drop_name(self, name):
        had = name in self.names
        self.names.discard(name)
        return had


def listing() -> FailingTools:
    """Return the tool that faults strike, and another one."""
    return FailingTools({"list_items": lambda: "[]", "inspect": lambda item_id: item_id})


def result(error=None):
    return BlockResult("", None, error, (), (), (), "kept", None, (), 0.0)


def missing(name):
    return result(BlockError("interpreter", "NameError", f"NameError: name '{name}' is not defined"))


def inject(spec, code, names=(), *, step=1, injector=None):
    tools = listing()
    injector = injector or FaultInjector(spec, "a", tools)
    interpreter = RecordingInterpreter(*names)
    injector.before_step(step, code, tuple(names), interpreter.drop_name)
    return injector, interpreter, tools


def test_a_block_that_reads_a_live_name_loses_it():
    injector, interpreter, _ = inject(ALWAYS, "print(total)", names=("other", "total"))
    assert interpreter.names == {"other"}
    assert injector.after_step(missing("total")) == "drop:total"


def test_a_step_tells_the_name_that_it_dropped():
    injector = FaultInjector(ALWAYS, "a", listing())
    assert injector.before_step(1, "print(total)", ("total",), lambda name: name == "total") == "total"
    assert injector.before_step(2, "print(total)", ("total",), lambda name: False) is None
    assert injector.before_step(3, "list_items()", (), lambda name: True) is None


def test_a_name_bound_before_it_is_read_is_never_dropped():
    injector, interpreter, _ = inject(ALWAYS, "total = 1\nprint(total)", names=("total",))
    assert interpreter.names == {"total"}
    assert injector.after_step(result()) is None


def test_a_name_read_inside_a_function_may_be_dropped():
    _, interpreter, _ = inject(ALWAYS, "def grab():\n    return items\ngrab()", names=("items",))
    assert interpreter.names == set()


def test_block_without_live_names_meets_a_failing_tool():
    injector, _, failing = inject(ALWAYS, "items = list_items()")
    assert failing.tools["inspect"]("a") == "a"
    with pytest.raises(ToolRuntimeException, match="list_items is temporarily unavailable"):
        failing.tools["list_items"]()
    assert injector.after_step(result()) == "fail:list_items"
    assert failing.tools["list_items"]() == "[]"


def test_unmet_tool_failure_is_taken_back_unrecorded():
    injector, _, failing = inject(ALWAYS, "if False: list_items()")
    assert injector.after_step(result()) is None
    assert failing.tools["list_items"]() == "[]"


def test_a_failing_tool_keeps_signature_and_documentation():
    def inspect_item(item_id: str) -> str:
        """Reveal an item."""
        return item_id

    guarded = FailingTools({"inspect": inspect_item}).tools["inspect"]
    assert inspect.signature(guarded) == inspect.signature(inspect_item)
    assert inspect.getdoc(guarded) == "Reveal an item."


def test_an_unknown_tool_cannot_fail():
    with pytest.raises(ValueError, match="unknown tool 'look'; choose from list_items, inspect"):
        listing().fail_next("look")


def test_a_dropped_name_that_no_statement_missed_is_not_recorded():
    injector, _, _ = inject(ALWAYS, "if False: print(total)", names=("total",))
    assert injector.after_step(result()) is None


def test_faults_end_at_the_maximum():
    injector = FaultInjector(FaultSpec(rate=1.0, storm_share=0.0, maximum=1), "a", listing())
    inject(ALWAYS, "print(total)", names=("total",), injector=injector)
    injector.after_step(missing("total"))
    _, interpreter, _ = inject(ALWAYS, "print(total)", names=("total",), step=2, injector=injector)
    assert interpreter.names == {"total"}


def test_both_contracts_meet_their_faults_at_the_same_steps():
    spec = FaultSpec(rate=0.5, storm_share=0.0, maximum=50)
    failing = listing()
    persistent = FaultInjector(spec, "a", listing())
    stateless = FaultInjector(spec, "a", failing)
    struck = []
    for step in range(1, 31):
        _, interpreter, _ = inject(spec, "print(total)", names=("total",), step=step, injector=persistent)
        dropped = persistent.after_step(missing("total")) is not None
        inject(spec, "list_items()", step=step, injector=stateless)
        failed = failing.disarm()
        stateless.after_step(result())
        assert dropped == failed == (interpreter.names == set())
        struck.append(dropped)
    assert 5 < sum(struck) < 25
