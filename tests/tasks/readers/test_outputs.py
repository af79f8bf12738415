import json

import pytest

from carryover.tasks.readers.outputs import (
    Outcome,
    error_line,
    error_type,
    exit_status,
    failed_source,
    find_error,
    last_lines,
    missing_name,
    plain_text,
    read_outcome,
    text_of_parts,
)
from tests.tasks.readers.whole_traces import MADE_UP

OUTCOMES = json.loads((MADE_UP / "outcomes.json").read_text(encoding="utf-8"))
MISSING = "NameError: name 'x' is not defined"
TRACEBACK = f'Traceback (most recent call last):\n  File "<string>", line 3, in <module>\n{MISSING}'
IPYTHON = (
    f"\x1b[0;31mNameError\x1b[0m     Traceback (most recent call last)\nCell In[2], line 1\n----> 1 x\n\n{MISSING}"
)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (MISSING, MISSING),
        (f"Output: {MISSING}", MISSING),
        (f"Error: {MISSING}", MISSING),
        (f"printed\n{MISSING}", MISSING),
        (TRACEBACK, MISSING),
        (f"{TRACEBACK}\n[Jupyter current working directory: /]", MISSING),
        (IPYTHON, MISSING),
        (f"a\nb\n{MISSING}\n[done]\n>>>", MISSING),
        (f"[started]\na\n{MISSING}\nb\n[done]", None),
        ("json.decoder.JSONDecodeError: Expecting value", "json.decoder.JSONDecodeError: Expecting value"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        (TRACEBACK.replace(MISSING, "__main__.Refused: no"), "__main__.Refused: no"),
        ("Traceback (most recent call last):\n__main__.Refused: no", "__main__.Refused: no"),
        (TRACEBACK.replace(MISSING, "struct.error: unpack 4\n[done]"), "struct.error: unpack 4"),
        (IPYTHON.replace("NameError", "Refused").replace("name 'x'", "x"), "Refused: x is not defined"),
        ("Kernel died unexpectedly and was restarted.", "KernelDied: Kernel died unexpectedly and was restarted."),
        ("Code execution failed at line 'x' due to: InterpreterError: The variable `x` is not defined.",
         "InterpreterError: The variable `x` is not defined."),
        ("Execution timed out", "TimeoutError: Execution timed out"),
        ("Command timed out after 30 seconds", "TimeoutError: Command timed out after 30 seconds"),
        ("Command timed out", "TimeoutError: Command timed out"),
        ("StopIteration", "StopIteration"),
        ("DeprecationWarning: old", None),
        (TRACEBACK.replace(MISSING, "DeprecationWarning: old"), "DeprecationWarning: old"),
        ("Execution failed: NameError(\"name 'x' is not defined\")", MISSING),
        ("**Error**: name 'x' is not defined", MISSING),
        ("a log:\nname 'x' is not defined\nthere", None),
        ("printed\nNameError: name 'x' is not defined\n[Current working directory: /]\n---", MISSING),
        ("the call timed out after 5 s\nthe next\nanswered", "TimeoutError: the call timed out after 5 s"),
        ("asking\nthe call timed out after 5 s\nthe next one answered", None),
        ("partial\n[Command timed out after 30 seconds]\n[Current working directory: /]",
         "TimeoutError: [Command timed out after 30 seconds]"),
        ("<returncode>1</returncode>\n<output></output>", "NonZeroExit: exit code 1"),
        ("ls: no such file\n[Command finished with exit code 2]", "NonZeroExit: exit code 2"),
        ("<returncode>0</returncode>", None),
        ("Fails with exit code 1 if none matches.", None),
        ("Fails with exit code 1 on error, exit code 0 otherwise.\n[exit code 2]", "NonZeroExit: exit code 2"),
        ("Exit code: 2 stdout: stderr: no", "NonZeroExit: exit code 2"),
        ("Command failed with exit code 2: no such file", "NonZeroExit: exit code 2"),
        ("exit code 2 ls: no such file", "NonZeroExit: exit code 2"),
        ("Command exited with code 2 after 3 seconds", "NonZeroExit: exit code 2"),
        ("Error:\n  NameError: name 'x' is not defined", MISSING),
        ("exitcode: 3 (execution failed)\nCode output: ", "NonZeroExit: exit code 3"),
        ("exitcode: 0 (execution succeeded)\nCode output: 14", None),
        ("The log says ValueError: often\nand goes on\nfor long", None),
        ("14", None),
        ("", None),
    ],
)  # fmt: skip
def test_errors_in_every_wording(text, error):
    assert find_error(text) == error


def test_the_last_of_several_error_lines_decides():
    assert find_error("before\nValueError: a\nbetween\nKeyError: b") == "KeyError: b"
    assert find_error("before\nValueError: a\nKeyError: b\nbehind") is None


@pytest.mark.parametrize(("content", "fields"), OUTCOMES)
def test_outcomes_of_every_form(content, fields):
    """`outcomes.json` has the fields that are told, `output` always."""
    assert read_outcome(content) == Outcome(**fields)


@pytest.mark.parametrize(
    ("content", "is_declared"),
    [
        (MISSING, False),
        (TRACEBACK, False),
        ({"stdout": "", "stderr": TRACEBACK}, False),
        ({"stdout": "", "stderr": TRACEBACK, "exit_code": 1}, True),
        ({"output": "", "error": MISSING}, True),
        ({"success": False, "message": MISSING}, True),
        ({"ename": "NameError", "evalue": "name 'x' is not defined"}, True),
        ("Code execution failed at line 'x' due to: InterpreterError: The variable `x` is not defined.", True),
    ],
)
def test_fields_flags_and_own_words_declare_an_error(content, is_declared):
    assert read_outcome(content).is_declared == is_declared


def test_absurdly_nested_json_is_an_output():
    nested = '{"a":' * 100_000
    assert read_outcome(nested) == Outcome(nested)


def test_the_type_and_the_name_of_an_error():
    assert error_type(TRACEBACK) == "NameError"
    assert error_type("json.decoder.JSONDecodeError: Expecting value") == "JSONDecodeError"
    assert error_type("no class name") == "Exception"
    assert error_type("__main__.Refused: no") == "Refused"
    assert error_type("Code execution failed at line 'x' due to: InterpreterError: no") == "InterpreterError"
    assert error_type("KernelDied: Kernel died") == "KernelDied"
    assert missing_name(MISSING) == missing_name("InterpreterError: The variable `x` is not defined.") == "x"
    assert missing_name("ValueError: 3") is None


FRAMES = (
    'File "/app/run.py", line 9, in <module>\n  File "/tmp/a.py", line 2, in <module>\n  File "/lib/b.py", line 7, in f'
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TRACEBACK, 3),
        (IPYTHON, 1),
        (f"{TRACEBACK}\nDuring handling of the above exception:\n{TRACEBACK.replace('line 3', 'line 5')}", 5),
        (MISSING, None),
        (FRAMES, 2),
        ("Input In [3], in <cell line: 2>()\n      1 kept = 1\n----> 2 1 / 0", 2),
        ("<ipython-input-3-a1> in <module>\n      1 kept = 1\n----> 2 1 / 0", 2),
    ],
)
def test_the_line_that_raised(text, line):
    assert error_line(text, None) == line


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ("name x is not defined", "x"),
        ("Variable 'x' is not defined", "x"),
        ("local variable 'x' referenced before assignment", "x"),
        ("cannot access free variable `x` where it is not associated", "x"),
        ("variable x is not defined", None),
        ("", None),
        (None, None),
    ],
)
def test_a_missing_name_in_every_wording(error, name):
    assert missing_name(error) == name


@pytest.mark.parametrize(
    ("output", "error", "source"),
    [
        ("a\nCode execution failed at line 'x = 1' due to: E: no", None, "x = 1"),
        (None, "failed at line 'f('a')' due to: E: no", "f('a')"),
        ("failed at line 'x", None, None),
        ("x' due to: E", "", None),
        (None, None, None),
    ],
)
def test_the_source_that_raised_where_it_is_told(output, error, source):
    assert failed_source(output, error) == source


@pytest.mark.parametrize(
    ("text", "status"),
    [("exit code 1\nexit code: 0", 0), ("exited with code -9", -9), ("exit status -9", -9), ("Exit: 3", 3), ("", None)],
)
def test_the_last_exit_status_counts(text, status):
    assert exit_status(text) == status


def test_below_the_last_line_stands_what_a_harness_adds():
    assert last_lines("first\nlast\n\n[done]\n(bye)\n$\n") == ["last", "[done]", "(bye)", "$"]
    assert last_lines("first\nlast") == ["last"]
    assert last_lines("[done]\n$") == ["[done]", "$"]
    assert last_lines("") == []


def test_a_text_has_no_colours_and_parts_have_texts():
    assert plain_text("\x1b[0;31mred\x1b[0m \x1b[2K.") == "red ."
    assert text_of_parts({"text": "", "content": ["a", {"text": "b"}]}) == "ab"
    assert text_of_parts({"text": 3}) == "3"
    assert text_of_parts([{"text": 3}, {"other": "a"}, 4, "b"]) == "b"
    assert text_of_parts(None) == text_of_parts(5) == ""
