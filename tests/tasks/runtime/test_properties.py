"""Random programs: pure blocks mean the same wherever and however they run."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carryover.tasks.runtime.contract import CONTRACTS

NAMES = ("a", "b", "c", "d")
SETTINGS = settings(
    max_examples=15, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

values = st.one_of(
    st.integers(-5, 5).map(repr), st.sampled_from(["[1, 2]", "'text'", "{'k': 1}", "None", "2.5", "(1,)"])
)
names = st.sampled_from(NAMES)
statements = st.one_of(
    st.builds("{} = {}".format, names, values),
    st.builds("{} = {}".format, names, names),
    st.builds("{} = [{}, {}]".format, names, names, values),
    st.builds("def {}(): return {}".format, names, names),
    st.builds("print({})".format, values),
    st.builds("print({} if not callable({}) else 'function')".format, names, names).filter(lambda s: s[6] == s[24]),
    st.builds("for {} in range(3): pass".format, names),
    st.builds("try: {}.append({})\nexcept Exception as e: print(type(e).__name__)".format, names, values),
    st.builds("{} / 0".format, st.integers(1, 3)),
    st.builds("len({})".format, names),
)
blocks = st.lists(statements, min_size=1, max_size=4).map("\n".join)
programs = st.lists(blocks, min_size=1, max_size=4)


def shown(result) -> tuple:
    message = result.error.message.splitlines()[-1] if result.error is not None else None
    return result.output, result.result, message, result.last_step_globals, result.state_hash


@SETTINGS
@given(program=programs)
def test_stateless_runs_with_earlier_blocks_reach_the_persistent_state(fork_tree, program):
    assert_prepending_is_persisting(fork_tree, program)


@pytest.mark.kernel
@settings(parent=SETTINGS, max_examples=2)
@given(program=programs)
def test_stateless_kernels_with_earlier_blocks_reach_the_persistent_state(jupyter, program):
    assert_prepending_is_persisting(jupyter, program)


def assert_prepending_is_persisting(runtime, program: list[str]) -> None:
    """Run a program block by block in one state, and all its blocks so far in a new one each time."""
    persistent, stateless = (
        runtime.open_interpreter(CONTRACTS[name], {}, instance_id="a") for name in ("persistent", "stateless")
    )
    for count in range(1, len(program) + 1):
        kept = persistent.run_block(program[count - 1])
        guarded = [f"try:\n{indented(block)}\nexcept Exception: pass" for block in program[: count - 1]]
        again = stateless.run_block("\n".join([*guarded, "print('--')", program[count - 1]]))
        output = again.output.rpartition("--\n")[2]
        assert (kept.output, *shown(kept)[1:]) == (output, *shown(again)[1:])
    persistent.close()
    stateless.close()


@pytest.mark.kernel
@pytest.mark.parametrize("contract", ["persistent", "stateless"])
@settings(parent=SETTINGS, max_examples=5)
@given(program=programs)
def test_both_backends_show_the_same(fork_tree, jupyter, contract, program):
    interpreters = [
        runtime.open_interpreter(CONTRACTS[contract], {}, instance_id="a") for runtime in (fork_tree, jupyter)
    ]
    for block in program:
        first, second = (interpreter.run_block(block) for interpreter in interpreters)
        assert shown(first) == shown(second)
        assert first.error == second.error
    for interpreter in interpreters:
        interpreter.close()


def indented(block: str) -> str:
    return "\n".join(f"    {line}" for line in block.splitlines())
