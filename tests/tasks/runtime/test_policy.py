import pytest

from tasks.runtime.policy import StaticPolicy
from tasks.runtime.protocol import BlockError, Violation

STRICT = StaticPolicy(
    denied_imports=("os", "subprocess"), denied_calls=("eval", "os.system"), denied_attributes=("__globals__",)
)


@pytest.mark.parametrize(
    ("code", "violation"),
    [
        ("import os", Violation("import", "os", 1)),
        ("x = 1\nimport os.path as p", Violation("import", "os", 2)),
        ("from os.path import join", Violation("import", "os", 1)),
        ("def f():\n    import subprocess", Violation("import", "subprocess", 2)),
        ("eval('1')", Violation("call", "eval", 1)),
        ("os.system('x')", Violation("call", "os.system", 1)),
        ("f.__globals__", Violation("attribute", "__globals__", 1)),
    ],
)
def test_denied_constructs_are_found(code, violation):
    assert STRICT.violations(code) == (violation,)


@pytest.mark.parametrize(
    "code",
    ["import ostrich", "frame.eval('a')", "model.system('x')", "'import os'", "x = {'os': 1}", "from . import os"],
)
def test_look_alikes_are_not(code):
    assert STRICT.violations(code) == ()


def test_allow_list_admits_root_modules_and_their_submodules():
    policy = StaticPolicy(allowed_imports=("json", "collections"))
    assert policy.violations("import json, collections.abc") == ()
    assert policy.violations("import math") == (Violation("import", "math", 1),)


def test_block_that_does_not_parse_is_left_to_the_interpreter():
    assert STRICT.violations("def f(:") == ()


def test_violation_is_an_observation_and_nothing_runs(open_with, contract):
    interpreter = open_with(contract, {"look": lambda: 1}, policy=STRICT)
    interpreter.run_block("x = 1")
    alive = interpreter.run_block("y = 2").active_globals
    result = interpreter.run_block("print('ran')\nlook()\nimport os\neval('z')")
    assert result.error == BlockError(
        "interpreter",
        "PolicyViolation",
        "PolicyViolation: the block was not run; rewrite it without import of os (line 3), call of eval (line 4)",
        (Violation("import", "os", 3), Violation("call", "eval", 4)),
    )
    assert (result.output, result.result, result.tool_calls, result.state_event) == ("", None, (), "kept")
    assert (result.active_globals, result.last_step_globals) == (alive, alive)
    assert interpreter.verify_contract()
    after = interpreter.run_block("sorted(name for name in globals() if len(name) == 1)")
    assert after.result == str(list(alive))
    assert after.error is None


def test_policy_is_no_wall(open_with, contract):
    interpreter = open_with(contract, policy=STRICT)
    assert interpreter.run_block("__import__('o' + 's').__name__").result == "'os'"
