"""How a block ends, on both backends: tracebacks, deaths, time limits."""

import pytest


def test_traceback_shows_only_frames_of_blocks(open_one, contract):
    error = open_one(contract).run_block("def f():\n    return json.loads('{')\nf()").error
    lines = [line for line in error.message.splitlines() if line.strip(" ~^")]  # Python 3.13 marks a call's place
    assert lines[:5] == [
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
