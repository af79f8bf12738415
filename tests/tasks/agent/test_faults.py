from carryover.tasks.agent.faults import FaultInjector, FaultSpec
from carryover.tasks.runtime.results import BlockError, BlockResult

ALWAYS = FaultSpec(rate=1.0, storm_share=0.0)


class RecordingInterpreter:
    def __init__(self, *names):
        self.names = set(names)

    def drop_name(self, name):
        had = name in self.names
        self.names.discard(name)
        return had


class RecordingEnvironment:
    def __init__(self):
        self.failing = None

    def fail_next(self, tool):
        self.failing = tool

    def disarm(self):
        was_armed, self.failing = self.failing is not None, None
        return was_armed


def result(error=None):
    return BlockResult("", None, error, (), (), (), "kept", None, (), 0.0)


def missing(name):
    return result(BlockError("interpreter", "NameError", f"NameError: name '{name}' is not defined"))


def inject(spec, code, names=(), *, step=1, injector=None):
    injector = injector or FaultInjector(spec, "a")
    interpreter, environment = RecordingInterpreter(*names), RecordingEnvironment()
    injector.before_step(step, code, tuple(names), interpreter.drop_name, environment.fail_next)
    return injector, interpreter, environment


def test_a_block_that_reads_a_live_name_loses_it():
    injector, interpreter, environment = inject(ALWAYS, "print(total)", names=("other", "total"))
    assert interpreter.names == {"other"}
    assert injector.after_step(missing("total"), environment.disarm) == "drop:total"


def test_a_name_bound_before_it_is_read_is_never_dropped():
    injector, interpreter, environment = inject(ALWAYS, "total = 1\nprint(total)", names=("total",))
    assert interpreter.names == {"total"}
    assert injector.after_step(result(), environment.disarm) is None


def test_a_name_read_inside_a_function_may_be_dropped():
    _, interpreter, _ = inject(ALWAYS, "def grab():\n    return items\ngrab()", names=("items",))
    assert interpreter.names == set()


def test_block_without_live_names_meets_a_failing_tool():
    injector, _, environment = inject(ALWAYS, "items = list_items()")
    assert environment.failing == "list_items"
    environment.failing = None  # the call that failed
    assert injector.after_step(result(), environment.disarm) == "fail:list_items"


def test_unmet_tool_failure_is_taken_back_unrecorded():
    injector, _, environment = inject(ALWAYS, "if False: list_items()")
    assert injector.after_step(result(), environment.disarm) is None
    assert environment.failing is None


def test_a_dropped_name_that_no_statement_missed_is_not_recorded():
    injector, _, environment = inject(ALWAYS, "if False: print(total)", names=("total",))
    assert injector.after_step(result(), environment.disarm) is None


def test_faults_end_at_the_maximum():
    injector = FaultInjector(FaultSpec(rate=1.0, storm_share=0.0, maximum=1), "a")
    inject(ALWAYS, "print(total)", names=("total",), injector=injector)
    injector.after_step(missing("total"), RecordingEnvironment().disarm)
    _, interpreter, _ = inject(ALWAYS, "print(total)", names=("total",), step=2, injector=injector)
    assert interpreter.names == {"total"}


def test_both_contracts_meet_their_faults_at_the_same_steps():
    spec = FaultSpec(rate=0.5, storm_share=0.0, maximum=50)
    persistent, stateless = FaultInjector(spec, "a"), FaultInjector(spec, "a")
    struck = []
    for step in range(1, 31):
        _, interpreter, _ = inject(spec, "print(total)", names=("total",), step=step, injector=persistent)
        dropped = persistent.after_step(missing("total"), RecordingEnvironment().disarm) is not None
        _, _, environment = inject(spec, "list_items()", step=step, injector=stateless)
        failed = environment.failing is not None
        environment.failing = None
        stateless.after_step(result(), environment.disarm)
        assert dropped == failed == (interpreter.names == set())
        struck.append(dropped)
    assert 5 < sum(struck) < 25
