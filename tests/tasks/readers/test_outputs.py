import json

import pytest

from carryover.tasks.readers.outputs import Outcome, error_line, error_type, find_error, missing_name, read_outcome

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


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        ("14", Outcome("14")),
        (None, Outcome("")),
        ([{"type": "text", "text": "1"}, {"type": "image"}, "4"], Outcome("14")),
        ('{"output": "14", "result": 3, "error": null}', Outcome("14", None, "3")),
        (json.dumps({"observation": {"output": "", "error": MISSING}}), Outcome("", MISSING)),
        ({"stdout": "1", "stderr": TRACEBACK, "return_code": 1}, Outcome(f"1\n{TRACEBACK}", MISSING)),
        ({"stdout": "", "stderr": "no such file", "exit_code": 2},
         Outcome("no such file", "NonZeroExit: exit code 2: no such file")),
        ({"content": "", "error": {"type": "timeout", "message": "too slow"}}, Outcome("", "timeout: too slow")),
        ({"type": "code_execution_tool_result_error", "error_code": "unavailable"}, Outcome("", "unavailable")),
        ({"logs": {"stdout": ["1\n"], "stderr": [MISSING]}, "error": None}, Outcome(f"1\n\n{MISSING}", MISSING)),
        ({"isError": True, "content": [{"type": "text", "text": "first\nlast"}]},
         Outcome("first\nlast", "ToolError: last")),
        ({"status": "error", "error_type": "KeyError", "error_message": "'a'"}, Outcome("", "KeyError: 'a'")),
        ({"success": False, "output": ""}, Outcome("", "ToolError: no output")),
        ({"status": "error", "output": "", "ename": "ValueError", "evalue": "3"}, Outcome("", "ValueError: 3")),
        ('{"status": "error", "ename": "ZeroDivisionError", "evalue": "division by zero"}',
         Outcome('{"status": "error", "ename": "ZeroDivisionError", "evalue": "division by zero"}',
                 "ZeroDivisionError: division by zero")),
        ({"ename": "NameError", "evalue": "name 'x' is not defined", "traceback": ["..."], "output": ""},
         Outcome("", MISSING)),
        ({"success": False, "message": "boom"}, Outcome('{"success": false, "message": "boom"}', "ToolError: boom")),
        ({"output": "", "metadata": {"exit_code": 2}}, Outcome("", "NonZeroExit: exit code 2")),
        ({"output": "", "error": {"type": "E", "message": "failed at line 'x' due to: InterpreterError: no"}},
         Outcome("", "failed at line 'x' due to: InterpreterError: no")),
        ({"success": True, "message": "boom"}, Outcome('{"success": true, "message": "boom"}')),
        ({"rows": [1]}, Outcome('{"rows": [1]}')),
    ],
)  # fmt: skip
def test_outcomes_of_every_form(content, outcome):
    assert read_outcome(content)[:3] == outcome[:3]


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
