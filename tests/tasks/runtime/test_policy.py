import pytest

from carryover.tasks.runtime.policy import StaticPolicy
from carryover.tasks.runtime.results import BlockError, Violation

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


def test_allow_list_of_calls_admits_names_dotted_paths_and_methods():
    policy = StaticPolicy(allowed_calls=("print", "json.loads", ".append"))
    assert policy.violations("print(json.loads('1')); rows[0].append(1)") == ()
    assert policy.violations("eval('1')\njson.dumps(1)\nmakers[0]()\nrows[0].pop()\n(lambda: 1)()") == (
        Violation("call", "eval", 1),
        Violation("call", "json.dumps", 2),
        Violation("call", "makers[0]", 3),
        Violation("call", "rows[0].pop", 4),
        Violation("call", "lambda: 1", 5),
    )


def test_allow_list_of_attributes_admits_no_other():
    policy = StaticPolicy(allowed_attributes=("append", "value"))
    assert policy.violations("rows.append(item.value)") == ()
    assert policy.violations("rows.append\nitem.weight") == (Violation("attribute", "weight", 2),)


@pytest.mark.parametrize("allowed", ["allowed_calls", "allowed_attributes", "allowed_imports"])
def test_empty_allow_list_admits_nothing(allowed):
    rule = {"allowed_calls": "call", "allowed_attributes": "attribute", "allowed_imports": "import"}[allowed]
    found = StaticPolicy.model_validate({allowed: ()}).violations("import json\njson.x\nf()")
    assert [violation.rule for violation in found] == [rule]


def test_denial_wins_over_permission():
    policy = StaticPolicy(
        allowed_imports=("os",),
        denied_imports=("os",),
        allowed_calls=("eval", ".system"),
        denied_calls=("eval", ".system"),
        allowed_attributes=("system",),
        denied_attributes=("system",),
    )
    assert policy.violations("import os\neval('1')\nos.system('x')") == (
        Violation("import", "os", 1),
        Violation("call", "eval", 2),
        Violation("attribute", "system", 3),
        Violation("call", "os.system", 3),
    )


def test_null_allow_lists_are_no_part_of_a_plan():
    fields = {"allowed_imports", "denied_imports", "denied_calls", "denied_attributes"}
    assert StaticPolicy().model_dump(mode="json").keys() == fields
    whole = StaticPolicy(allowed_calls=("len",), allowed_attributes=())
    assert StaticPolicy.model_validate_json(whole.model_dump_json()) == whole
    assert whole.model_dump().keys() == {*fields, "allowed_calls", "allowed_attributes"}


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
