"""Names, values and draws of a block: equal on both backends."""

import hashlib
import random

import numpy as np
import pytest

from carryover.tasks.runtime import notices
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.identity import Identity
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.lifetime import lifetime_of
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.tools import ToolTable
from tests.tasks.runtime.opened import engine_of


def test_output_and_last_value_are_both_returned(open_one, contract):
    result = open_one(contract).run_block("print('seen')\n6 * 7")
    assert (result.output, result.result, result.error) == ("seen\n", "42", None)


def test_value_none_is_no_result(open_one, contract):
    assert open_one(contract).run_block("print('x')").result is None


def test_only_a_last_expression_has_a_value(open_one, contract):
    assert open_one(contract).run_block("1 + 1\nx = 3").result is None


def test_json_is_there_without_an_import(open_one, contract):
    assert open_one(contract).run_block("json.dumps([1])").result == "'[1]'"


def test_contract_keeps_bindings_made_before_an_exception(open_one, contract):
    interpreter = open_one(contract)
    result = interpreter.run_block("x = 1\n1 / 0")
    assert (result.error.type, result.state_event) == ("ZeroDivisionError", "kept")
    assert result.last_step_globals == ("x",)
    assert result.active_globals == (("x",) if contract.name == "persistent" else ())
    assert interpreter.run_block("'x' in globals()").result == str(contract.name == "persistent")


def test_names_are_the_users_own(open_one, contract, tools):
    code = """
import math, os.path as path
from math import pi
def function(): pass
class Class: pass
value = _hidden = 1
__dunder__ = 2
for index in range(2): pass
"""
    names = ("Class", "_hidden", "function", "index", "pi", "value")
    result = open_one(contract, tools).run_block(code)
    assert result.last_step_globals == names
    assert result.active_globals == (names if contract.name == "persistent" else ())


def test_modules_stay_in_a_persistent_interpreter_unlisted(open_one):
    interpreter = open_one("persistent")
    assert interpreter.run_block("import math").active_globals == ()
    assert interpreter.run_block("math.floor(2.5)").result == "2"


def test_stateless_block_finds_no_name_of_the_block_before(open_one):
    interpreter = open_one("stateless")
    interpreter.run_block("x = 1")
    result = interpreter.run_block("x")
    assert result.error.message.endswith("NameError: name 'x' is not defined")


@pytest.mark.parametrize("ending", ["", "1 / 0", "import os; os._exit(0)"])
def test_tools_are_restored_after_a_step(open_one, contract, tools, ending):
    interpreter = open_one(contract, tools)
    interpreter.run_block(f"inspect = None\ndel list_items\n{ending}")
    assert interpreter.run_block("inspect('item_a'), list_items()").error is None


def test_names_that_hide_a_builtin_are_dropped_and_told(open_one, contract):
    interpreter = open_one(contract)
    result = interpreter.run_block("max = 3\nlist = [1]\nkept = max")
    assert result.last_step_globals == ("kept",)
    assert result.notices == (notices.HIDING_DROPPED.format(names="list, max"),)
    assert interpreter.run_block("max([1, 2])").result == "2"


def test_draws_are_those_of_instance_step_and_salt(open_one, contract):
    interpreter = open_one(contract, instance_id="item", salt="run")
    for step in (1, 2):
        seed = int(hashlib.sha256(f"item:{step}:run".encode()).hexdigest(), 16)
        legacy = np.random.RandomState([seed >> shift & 0xFFFFFFFF for shift in range(0, 256, 32)])
        drawn = interpreter.run_block("import random, numpy as np\nrandom.random(), float(np.random.random())")
        assert drawn.result == repr((random.Random(seed).random(), float(legacy.random())))


def test_order_of_sets_is_the_same_in_every_worker(open_fork_tree):
    other = open_runtime(RuntimeSpec())
    interpreter = other.open_interpreter(CONTRACTS["stateless"], {}, instance_id="instance")
    code = "list({'knapsack', 'items', 'budget', 'value', 'weight'}), hash('item')"
    result = interpreter.run_block(code).result
    interpreter.close()
    other.close()
    assert open_fork_tree("stateless").run_block(code).result == result


def test_order_of_sets_is_the_same_on_both_backends(open_one, open_fork_tree, contract):
    code = "list({'knapsack', 'items', 'budget', 'value', 'weight'}), hash('item')"
    assert open_one(contract).run_block(code).result == open_fork_tree(contract).run_block(code).result


def test_draws_depend_on_instance_and_salt(open_one, contract):
    code = "import random\nrandom.random()"
    options = [{"instance_id": "a"}, {"instance_id": "b"}, {"instance_id": "a", "salt": "run"}]
    assert len({open_one(contract, **option).run_block(code).result for option in options}) == 3


def test_equal_states_have_equal_hashes_and_others_do_not(open_one, contract):
    first, second = open_one(contract), open_one(contract)
    assert first.run_block("x = {'a': [1, 2.5]}").state_hash == second.run_block("x = {'a': [1] + [2.5]}").state_hash
    assert first.run_block("y = 1").state_hash != second.run_block("y = 2").state_hash


@pytest.mark.parametrize(
    "code",
    [
        "t = [0] * 50\nw = [t] * 2000",
        "w = 0\nfor _ in range(27): w = [w, w]",
        "w = ['x' * 10**6] * 2000",
        "w = []\nw.append(w)",
    ],
)
def test_hash_follows_what_is_shared(open_one, contract, code):
    first, second = open_one(contract), open_one(contract)
    made = first.run_block(code)
    assert (made.error, made.state_hash) == (None, second.run_block(code).state_hash)
    assert "too large" not in made.state_hash
    assert first.run_block("1").error is None


def test_value_that_is_too_large_to_hash_says_so(open_one, contract):
    made = open_one(contract).run_block("x = 1\nw = [[number] for number in range(200_000)]")
    assert made.state_hash.endswith("; too large: w")


def test_values_without_a_hash_leave_it_unchanged(open_one, contract):
    first, second = open_one(contract), open_one(contract)
    assert first.run_block("x = 1").state_hash == second.run_block("x = 1; f = lambda: 0; s = {1}").state_hash


def test_contract_is_verified_before_every_step(open_one, contract, tools):
    interpreter = open_one(contract, tools)
    for code in ("x = 1", "1 / 0", "import os; os._exit(0)", "globals().clear()", "x = 2"):
        assert interpreter.verify_contract()
        interpreter.run_block(code)
    assert interpreter.verify_contract()


def test_interpreter_that_breaks_its_contract_is_found(runtime, contract):
    engine = runtime.open_engine(lifetime_of(contract), {})
    finish = engine.finish
    engine.finish = lambda _: finish([])
    promised = CONTRACTS["stateless" if contract.lifetime == "episode" else "persistent"]
    identity = Identity("instance", "")
    settings = {"identity": identity, "spec": runtime.spec, "level": runtime.sandbox_level}
    with Interpreter(promised, ToolTable({}, None), engine, **settings) as interpreter:
        interpreter.run_block("x = 1")
        assert not interpreter.verify_contract()


def test_names_dropped_against_the_contract_are_found(open_one):
    interpreter = open_one("persistent")
    engine = engine_of(interpreter)
    finish = engine.finish
    engine.finish = lambda _: finish(None)
    interpreter.run_block("x = 1")
    assert not interpreter.verify_contract()


def test_canary_shows_in_no_name(open_one, contract):
    interpreter = open_one(contract)
    interpreter.run_block("x = 1")
    assert interpreter.verify_contract()
    result = interpreter.run_block("sorted(globals()), dir()")
    assert "canary" not in result.result
    assert not any("canary" in name for name in result.last_step_globals)


def test_dropped_name_is_gone(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("x = y = 1")
    assert interpreter.drop_name("x")
    assert not interpreter.drop_name("x")
    assert interpreter.verify_contract()
    result = interpreter.run_block("x")
    assert (result.error.type, result.active_globals) == ("NameError", ("y",))


def test_dropped_name_stays_gone_after_a_rollback(open_fork_tree):
    interpreter = open_fork_tree("persistent")
    interpreter.run_block("x = y = 1")
    interpreter.drop_name("x")
    assert interpreter.run_block("import os; os._exit(0)").active_globals == ("y",)
    assert interpreter.run_block("x").error.type == "NameError"


def test_stateless_interpreter_has_no_name_to_drop(open_one):
    interpreter = open_one("stateless")
    interpreter.run_block("x = 1")
    assert not interpreter.drop_name("x")


def test_forked_child_of_a_block_reports_nothing(open_one, contract):
    code = "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('parent' if pid else 'child')"
    result = open_one(contract).run_block(code)
    assert sorted(result.output.split()) == ["child", "parent"]
    assert result.error is None


def test_empty_block_does_nothing(open_one, contract):
    result = open_one(contract).run_block("")
    assert (result.output, result.result, result.error, result.last_step_globals) == ("", None, None, ())
