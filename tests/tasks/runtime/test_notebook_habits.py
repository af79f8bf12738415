"""What a notebook user takes for granted: `__main__`, future imports, top-level await, `_`, `help`."""

import pytest

from carryover.tasks.runtime import notices
from carryover.tasks.runtime.contract import Contract

LIVES_IN_MAIN = {
    "pickle": ("class P: pass\nimport pickle", "type(pickle.loads(pickle.dumps(P()))) is P", "True"),
    "import": ("def f(): return 4", "from __main__ import f as g\ng()", "4"),
    "timeit": (
        "def f(): return 4",
        "import timeit\ntimeit.timeit('f()', 'from __main__ import f', number=1) > 0",
        "True",
    ),
    "hints": (
        "from __future__ import annotations\nimport typing\nclass P:\n    a: int\n    b: typing.ClassVar[P]",
        "sorted(typing.get_type_hints(P))",
        "['a', 'b']",
    ),
    "dataclass": (
        "from __future__ import annotations\nimport dataclasses\nfrom typing import ClassVar\n"
        "@dataclasses.dataclass\nclass P:\n    a: int\n    b: ClassVar[int] = 1\n    c: dataclasses.InitVar[int] = 2",
        "[field.name for field in dataclasses.fields(P)]",
        "['a']",
    ),
    "unittest": (
        "import unittest\nclass T(unittest.TestCase):\n    def test_one(self): self.assertEqual(1, 1)",
        "unittest.main(argv=['x'], exit=False).result.testsRun",
        "1",
    ),
}


@pytest.mark.parametrize("kind", LIVES_IN_MAIN)
def test_main_module_is_the_namespace(open_one, kind):
    first, second, expected = LIVES_IN_MAIN[kind]
    interpreter = open_one("persistent")
    assert interpreter.run_block(first).error is None
    assert interpreter.run_block(second).result == expected


def test_namespace_has_no_names_of_the_runtime(open_one, contract):
    found = open_one(contract).run_block("import sys\nsorted(vars(sys.modules['__main__']))").result
    assert found == str(["__builtins__", "__doc__", "__loader__", "__name__", "__package__", "__spec__", "json", "sys"])


def test_block_that_replaces_main_finds_it_again(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("import sys\nx = 1\nsys.modules['__main__'] = None")
    assert interpreter.run_block("import __main__\n__main__.x").result == "1"


ANNOTATED = "def f(x: int): pass\nf.__annotations__['x']"


def test_future_import_lives_as_long_as_names(open_one, contract):
    interpreter = open_one(contract)
    interpreter.run_block("from __future__ import annotations")
    annotation = interpreter.run_block(ANNOTATED).result
    assert annotation == ("'int'" if contract.name == "persistent" else "<class 'int'>")


def test_future_import_ends_with_the_names_of_a_live_process(open_one):
    interpreter = open_one(Contract(name="names", lifetime="block", scope="namespace"))
    interpreter.run_block("from __future__ import annotations")
    assert interpreter.run_block(ANNOTATED).result == "<class 'int'>"


AWAITED = "import asyncio\nasync def double(x):\n    await asyncio.sleep(0)\n    return 2 * x\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (f"{AWAITED}await double(2)", "4"),
        (f"{AWAITED}found = await double(3)\nfound", "6"),
        (f"{AWAITED}[x async for x in (await double(i) for i in range(2))]", "[0, 2]"),
        (f"{AWAITED}await asyncio.gather(double(1), double(2))", "[2, 4]"),
        (f"{AWAITED}asyncio.run(double(4))", "8"),
        (f"{AWAITED}task = asyncio.create_task(double(4))\nother = 1\nawait task", "8"),
        (f"{AWAITED}task = asyncio.create_task(double(4)); await task", "8"),
        (
            f"{AWAITED}one, two = map(asyncio.create_task, map(double, (1, 2)))\nfound = await one + await two\nfound",
            "6",
        ),
        (f"{AWAITED}await asyncio.to_thread(lambda: 5)", "5"),
        (
            "import asyncio\nasync def numbers():\n    yield 1\n    yield 2\n"
            "total = 0\nasync for number in numbers():\n    total += number\ntotal",
            "3",
        ),
    ],
)
def test_coroutines_run_at_the_top_level(open_one, contract, code, expected):
    result = open_one(contract).run_block(code)
    assert (result.result, result.error, result.output) == (expected, None, "")


def test_task_is_awaited_by_a_later_block(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block(f"{AWAITED}async def start(): return asyncio.create_task(double(4))\ntask = await start()")
    assert interpreter.run_block("await task").result == "8"


def test_error_beside_an_await_shows_the_block_alone(open_one):
    error = open_one("persistent").run_block(f"{AWAITED}await double(1)\n1 / 0\nawait double(2)").error
    assert [line for line in error.message.splitlines() if "File" in line] == ['  File "<step 1>", line 6, in <module>']


def test_ended_iterator_beside_an_await_keeps_its_type(open_one):
    error = open_one("persistent").run_block(f"{AWAITED}await double(1)\nnext(iter([]))").error
    assert error.type == "StopIteration"
    assert [line for line in error.message.splitlines() if "File" in line] == ['  File "<step 1>", line 6, in <module>']


def test_interrupt_cancels_the_awaited_coroutine(open_one, limited):
    interpreter = open_one("persistent")
    code = "import asyncio\ntry: await asyncio.sleep(600)\nexcept asyncio.CancelledError: print('cancelled'); raise"
    with limited(interpreter):
        result = interpreter.run_block(code)
    assert (result.error.type, result.output) == ("StepTimeout", "cancelled\n")
    assert interpreter.run_block("await asyncio.sleep(0, 3)").result == "3"


def test_loop_survives_a_rollback(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block(f"{AWAITED}await double(1)")
    interpreter.run_block("import os\nos._exit(1)")
    assert interpreter.run_block("await double(2)").result == "4"


def test_last_value_has_a_name(open_one, contract):
    interpreter = open_one(contract)
    first = interpreter.run_block("6 * 7")
    interpreter.run_block("x = 1")
    result = interpreter.run_block("_ + 1")
    assert (first.active_globals, first.last_step_globals, interpreter.variables().get("_")) == ((), (), None)
    assert (result.result == "43") == (contract.name == "persistent")


def test_last_value_leaves_the_users_own_name_alone(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("for _ in range(3): pass")
    assert interpreter.run_block("5").active_globals == ("_",)
    assert interpreter.run_block("_").result == "2"


def test_last_value_ends_with_its_step_where_names_are_counted(open_one):
    interpreter = open_one(Contract(name="two", lifetime="recent:2"))
    interpreter.run_block("5")
    assert interpreter.run_block("_").error.type == "NameError"


def test_help_tells_of_a_function(open_one, contract):
    assert "len(obj, /)" in open_one(contract).run_block("help(len)").output


def test_user_may_call_a_variable_help(open_one):
    interpreter = open_one("persistent")
    assert interpreter.run_block("help = 'none'").notices == ()
    assert interpreter.run_block("help").result == "'none'"


@pytest.mark.parametrize("code", ["import inspect", "inspect = 1", "def list_items(): pass"])
def test_name_of_a_tool_is_given_back_with_a_notice(open_one, contract, tools, code):
    interpreter = open_one(contract, tools)
    (name,) = {"inspect", "list_items"}.intersection(code.replace("(", " ").split())
    assert interpreter.run_block(code).notices == (notices.TOOLS_RESTORED.format(names=name),)
    result = interpreter.run_block("inspect('item_a'), list_items()")
    assert (result.error, result.notices) == (None, ())


def test_deleted_name_of_a_tool_comes_back_silently(open_one, contract, tools):
    interpreter = open_one(contract, tools)
    assert interpreter.run_block("del inspect").notices == ()
    assert interpreter.run_block("inspect('item_a')").error is None


PATCHED = (
    "builtins.eval",
    "builtins.isinstance",
    "builtins.len",
    "builtins.sorted",
    "io.TextIOWrapper",
    "json.dumps",
    "linecache.cache",
    "mmap.mmap",
    "os.close",
    "os.dup2",
    "os.fork",
    "os.getpid",
    "os.urandom",
    "random.seed",
    "resource.getrlimit",
    "sys.modules",
    "traceback.TracebackException",
)


@pytest.mark.parametrize("name", PATCHED)
def test_patched_function_leaves_the_session_alive(open_one, name):
    interpreter = open_one("persistent")
    interpreter.run_block("from unittest import mock\nimport random\nx = 1")
    interpreter.run_block(f"patch = mock.patch('{name}', side_effect=ValueError)\npatched = patch.start()")
    ended = interpreter.run_block("1 / 0").error
    result = interpreter.run_block("x + 1")
    assert (ended.type, result.result, result.state_event) == ("ZeroDivisionError", "2", "kept")


def test_patched_clock_leaves_the_fork_tree_alive(open_fork_tree):
    """Jupyter's own loop reads the clock."""
    test_patched_function_leaves_the_session_alive(open_fork_tree, "time.monotonic")


@pytest.mark.parametrize("call", ["3", "object()", "property(lambda self: 1 / 0)", "'x' * 10"])
def test_attribute_of_an_exception_means_no_tool_call(open_one, contract, tools, call):
    interpreter = open_one(contract, tools)
    code = f"inspect('item_a')\nclass Odd(Exception):\n    call = {call}\nraise Odd"
    error = interpreter.run_block(code).error
    assert (error.kind, error.type) == ("interpreter", "Odd")


@pytest.mark.parametrize("code", ["%matplotlib inline\nx = 1", "x = 1\n!ls", "%%time\nx = 1"])
def test_command_of_ipython_is_told_to_be_none(open_one, contract, code):
    result = open_one(contract).run_block(code)
    assert (result.error.type, result.notices) == ("SyntaxError", (notices.NO_MAGICS,))


def test_percent_sign_in_python_is_no_command(open_one):
    interpreter = open_one("persistent")
    assert interpreter.run_block("total = (7\n%4)\ntotal").result == "3"
    broken = interpreter.run_block("total = (7")
    assert (broken.error.type, broken.notices) == ("SyntaxError", ())
    assert interpreter.run_block("x = 7 % 4 +").notices == ()


HUGE = "class Huge(Exception):\n    def __str__(self): return 'x' * 3_000_000\n    __repr__ = __str__\n"


@pytest.mark.parametrize("ending", ["raise Huge", "Huge()", "raise ValueError(Huge())", "raise Huge from Huge()"])
def test_huge_text_is_cut_and_keeps_the_interpreter(open_one, contract, ending):
    interpreter = open_one(contract)
    result = interpreter.run_block(f"x = 1\n{HUGE}{ending}")
    told = result.error.message if result.error else result.result
    assert (result.state_event, len(told) < 110_000) == ("kept", True)
    assert interpreter.run_block("1").result == "1"
