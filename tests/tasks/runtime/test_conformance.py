"""What a block sees and what is observed of it: the same on both backends, under both contracts."""

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


def test_traceback_shows_only_frames_of_blocks(open_one, contract):
    error = open_one(contract).run_block("def f():\n    return json.loads('{')\nf()").error
    assert error.message.splitlines()[:5] == [
        "Traceback (most recent call last):",
        '  File "<step 1>", line 3, in <module>',
        "    f()",
        '  File "<step 1>", line 2, in f',
        "    return json.loads('{')",
    ]
    assert "json/decoder" not in error.message


def test_traceback_shows_the_source_of_functions_of_earlier_steps(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("def f():\n    return 1 / 0")
    assert '  File "<step 1>", line 2, in f\n    return 1 / 0' in interpreter.run_block("f()").error.message


def test_syntax_error_is_told_once(open_one, contract):
    error = open_one(contract).run_block("x = 1\ny = ").error
    assert error.message == '  File "<step 1>", line 2\n    y = \n        ^\nSyntaxError: invalid syntax'


@pytest.mark.parametrize("break_", ["\u2028", "\x0c", "\x1e"])
def test_traceback_counts_lines_as_python_does(open_one, break_):
    error = open_one("persistent").run_block(f"text = '{break_}'\r\nx = 1\rx / 0").error
    assert error.message.splitlines()[1:3] == ['  File "<step 1>", line 3, in <module>', "    x / 0"]


@pytest.mark.parametrize(
    ("code", "error_type"),
    [
        ("def f(:", "SyntaxError"),
        ("x = '\\ud800'; print(x); y", "NameError"),
        ("a\0b", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("import sys; sys.exit()", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("def f(): return f()\nf()", "RecursionError"),
        ("raise MemoryError", "MemoryError"),
        ("bytearray(8 << 30)", "MemoryError"),
        ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "E"),
        ("raise ExceptionGroup('both', [ValueError(1), KeyError(2)])", "ExceptionGroup"),
        ("class Broken:\n    def __repr__(self): raise ValueError('no text')\nBroken()", "ValueError"),
        ("x" * 1_000_001, "BlockTooLong"),
        ("(" * 5000 + ")" * 5000, None),
    ],
)
def test_every_ending_is_an_observation(open_one, contract, code, error_type):
    interpreter = open_one(contract)
    error = interpreter.run_block(code).error
    assert error is not None
    assert error.kind == "interpreter"
    if error_type is not None:
        assert (error.type, error_type in error.message) == (error_type, True)
    assert interpreter.run_block("'alive'").result == "'alive'"


@pytest.mark.parametrize(
    "code",
    [
        "import os; os._exit(3)",
        "import ctypes; ctypes.string_at(0)",
        "import os; os.kill(os.getpid(), 9)",
        "import os; os.abort()",
        "import os; os.close(1); [os.close(fd) for fd in range(3, 200) if not print]; os._exit(0)",
    ],
)
def test_death_of_the_process_is_an_observation(open_one, contract, code):
    interpreter = open_one(contract)
    interpreter.run_block("x = 1")
    result = interpreter.run_block(f"print('before')\n{code}")
    assert (result.error.type, result.output) == ("InterpreterDied", "before\n")
    assert len(result.notices) >= 1
    assert interpreter.run_block("'alive'").result == "'alive'"


def test_block_past_its_limit_is_interrupted_and_its_bindings_stay(open_one, contract, limited):
    interpreter = open_one(contract)
    with limited(interpreter):
        result = interpreter.run_block("x = 1\nprint('on')\nwhile True: pass")
    assert (result.error.type, result.output, result.state_event) == ("StepTimeout", "on\n", "kept")
    assert result.error.message.endswith("StepTimeout: the block ran longer than 1.5 s and was interrupted")
    assert result.last_step_globals == ("x",)


SWALLOWS = """
import os, time
if (child := os.fork()) == 0:
    while True: time.sleep(60)
try: time.sleep(60)
except BaseException: {answer}
"""


@pytest.mark.parametrize(("answer", "error_type"), [("pass", None), ("raise ValueError('own')", "ValueError")])
def test_swallowed_interrupt_is_told_and_ends_forks(open_one, contract, limited, answer, error_type):
    interpreter = open_one(contract)
    with limited(interpreter):
        result = interpreter.run_block(SWALLOWS.format(answer=answer))
    assert (result.error and result.error.type, result.state_event) == (error_type, "kept")
    assert result.notices == ("This step was interrupted: the block ran longer than 1.5 s.",)
    if contract.name == "persistent":
        assert interpreter.run_block("os.waitpid(child, 0)[1]").result == "9"
    assert interpreter.run_block("1").notices == ()


def test_sleeping_block_is_interrupted(open_one, contract, limited):
    interpreter = open_one(contract)
    interpreter.run_block("1")
    with limited(interpreter, seconds=1.0):
        assert interpreter.run_block("import time; time.sleep(60)").error.type == "StepTimeout"


@pytest.mark.parametrize("ending", ["", "os._exit(0)"])
def test_output_of_every_origin_is_captured(open_one, contract, ending):
    code = """
import ctypes, os, subprocess, sys, threading
print("print")
sys.stdout.write("write\\n")
sys.stderr.write("stderr\\n")
sys.stdout.buffer.write(b"bytes\\n")
sys.__stdout__.write("dunder\\n"); sys.__stdout__.flush()
os.write(1, b"descriptor\\n")
ctypes.CDLL(None).printf(b"printf\\n")
thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
"""
    words = ["print", "write", "stderr", "bytes", "dunder", "descriptor", "printf", "thread"]
    result = open_one(contract).run_block(code + ending)
    assert result.output.splitlines() == words
    assert (result.state_event == "kept") == (ending == "")


def test_output_of_c_code_survives_a_kill(open_one, contract):
    code = "import ctypes, os\nctypes.CDLL(None).printf(b'kept')\nos._exit(0)"
    assert open_one(contract).run_block(code).output == "kept"


@pytest.mark.parametrize(
    "code",
    [
        "sys.stdout.close()",
        "sys.stdout.detach()",
        "sys.stdout.detach().close()",
        "sys.stdout = None",
        "sys.stdout = io.StringIO()",
        "del sys.stdout, sys.stderr",
        "sys.stdout.write = None",
        "sys.stdout.reconfigure(encoding='ascii', write_through=False)",
        "sys.stdout.reconfigure(newline='\\r\\n')",
        "sys.stdout.buffer.write = len",
        "try:\n    sys.stdout.reconfigure(newline='\\r\\n', encoding='nonsense')\nexcept LookupError:\n    pass",
        "os.close(1)",
        "os.close(2)",
        "os.closerange(0, 3)",
        "os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
        "os.close(63)",
        "os.dup2(os.open('/dev/null', os.O_WRONLY), 63)",
        "os.close(1); os.dup2(os.open('/dev/null', os.O_WRONLY), 63)",
        "os.close(1); os.close(2); os.close(63)",
        "[os.dup2(os.open('/dev/null', os.O_WRONLY), number) for number in (1, 2, 63)]",
        "sys.stdout.buffer.flush = None",
        "sys.stdout.buffer.flush = sys.exit",
    ],
)
def test_output_is_captured_again_after_a_step_that_bent_it(open_one, contract, code):
    interpreter = open_one(contract)
    interpreter.run_block("kept = 1")
    bent = interpreter.run_block(f"import io, os, sys\nprint('before')\n{code}\nNone")
    assert (bent.output, bent.error, bent.state_event) == ("before\n", None, "kept")
    after = interpreter.run_block("import os, sys\nprint('é')\nsys.stderr.write('err\\n')\nos.write(2, b'raw')")
    assert (after.output, after.error) == ("é\nerr\nraw", None)
    assert interpreter.run_block("'kept' in globals()").result == str(contract.name == "persistent")


def test_output_that_a_block_held_back_is_its_own(open_one, contract):
    interpreter = open_one(contract)
    held = "import sys\nsys.stdout.reconfigure(write_through=False, line_buffering=False)\nsys.stdout.write('held')"
    assert interpreter.run_block(held).output == "held"
    assert interpreter.run_block("print('next')").output == "next\n"


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
