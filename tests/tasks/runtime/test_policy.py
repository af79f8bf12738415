import pytest

from tasks.runtime.policy import StaticPolicy, Violation

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


def test_violation_is_an_observation_and_nothing_runs(fork_tree):
    from tasks.runtime.fork_tree.runtime import ForkTreeRuntime
    from tasks.runtime.protocol import CONTRACTS
    from tasks.runtime.spec import RuntimeSpec

    runtime = ForkTreeRuntime(RuntimeSpec(policy=STRICT))
    interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    result = interpreter.run_block("print('ran')\nimport os")
    after = interpreter.run_block("x = 1")
    runtime.close()
    interpreter.close()
    assert result.error is not None
    assert (result.output, result.error.type) == ("", "PolicyViolation")
    assert result.error.message == "PolicyViolation: the block was not run; rewrite it without\n  line 2: import of os"
    assert after.active_globals == ("x",)
