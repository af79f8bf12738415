import pytest

from carryover.tasks.readers.conversation import replies_of
from carryover.tasks.readers.outputs import read_outcome
from carryover.tasks.readers.raised import answered
from carryover.tasks.readers.trace import Block, Language

MISSING = "NameError: name 'x' is not defined"
HEAD = "Traceback (most recent call last):"
OWN = f'{HEAD}\n  File "<stdin>", line {{}}, in <module>\n{MISSING}'
LOGGED = f'{HEAD}\n  File "/srv/app.py", line 9, in <module>\n    print(x)\n{MISSING}'
TELLING = "try:\n    print(x)\nexcept NameError as e:\n    print(e)"
PRINTING = "import traceback\ntry:\n    print(x)\nexcept Exception:\n    traceback.print_exc()\nprint('on')"


def answer(code, content, language: Language = "python"):
    return answered(Block(code, language=language), read_outcome(content))


@pytest.mark.parametrize(
    ("code", "output"),
    [
        (TELLING, "name 'x' is not defined"),
        (TELLING.replace("print(e)", "print('Error:', e)"), "Error: name 'x' is not defined"),
        (TELLING.replace("NameError", "(KeyError, NameError)"), "name 'x' is not defined"),
        (TELLING.replace("NameError", "Exception"), "name 'x' is not defined"),
        (TELLING.replace("(e)", "(type(e).__name__ + ':', e)"), MISSING),
        (TELLING.replace("(e)", "(f'NameError: {e}')"), MISSING),
        ("def f():\n    return x\n" + TELLING.replace("print(x)", "f()"), "name 'x' is not defined"),
        (TELLING + "\n    x = 3\nprint(x)", "name 'x' is not defined"),
        (PRINTING, OWN.format(3)),
        (PRINTING, OWN.format(3) + "\non"),
        (PRINTING.replace("traceback.print_exc()", "logging.exception('no x')"), "ERROR:root:no x\n" + OWN.format(3)),
        ("print(open('app.log').read()[:200])", LOGGED + "\n2026-01-01 started again"),
        ("print(open('app.log').read())", "started\n" + LOGGED),
        ("subprocess.run(['python', 'app.py'])", LOGGED),
        ("print(helper(3))", OWN.format(3).replace("<module>", "helper") + "\nNone"),
        ("run_thread()", 'Exception in thread Thread-1 (f):\n' + OWN.format(2)),
        ("print(\"NameError: name 'x' is not defined\")", MISSING),
        ("done = subprocess.run(words)\nprint('exit code', done.returncode)", "exit code 1"),
    ],
)  # fmt: skip
def test_an_error_that_the_code_printed_ended_nothing(code, output):
    block = answer(code, output)
    assert block.error is None
    assert block.caught == read_outcome(output).error is not None
    assert block.output == output


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("print(x)", MISSING),
        ("print(x)", OWN.format(1)),
        ("print(x)", OWN.format(1) + "\nPlease correct the code."),
        ("# no NameError: name 'x' is not defined\nprint(x)", MISSING),
        ("x.head()", LOGGED.replace("print(x)", "print(x.head())")),
        ("frame.head()", LOGGED.replace("print(x)", "print(frame.head())")),
        ("a = 1\nprint(x)", f'{HEAD}\n  File "/tmp/a.py", line 2, in <module>\n    print(x)\n{MISSING}\nTry again.'),
        (TELLING + "\n    raise", "name 'x' is not defined\n" + OWN.format(2)),
        (TELLING + "\nprint(x)", MISSING),
        (TELLING.replace("NameError", "KeyError"), MISSING),
        (TELLING, MISSING),
        (TELLING, OWN.format(2)),
        (PRINTING + "\nprint(x)", OWN.format(3) + "\non\n" + OWN.format(7)),
        (PRINTING.replace("traceback.print_exc()", "print('no x'); sys.exit(1)"), OWN.format(3)),
        ("except", MISSING),
    ],
)  # fmt: skip
def test_an_error_that_no_handler_printed_ended_the_block(code, output):
    block = answer(code, output)
    assert block.error == MISSING
    assert block.caught is None


def test_a_declared_error_ended_the_block():
    assert answer(TELLING, {"output": "", "error": "name 'x' is not defined"}).error == "name 'x' is not defined"
    assert answer(TELLING, {"output": "name 'x' is not defined", "exit_code": 1}).error == MISSING
    assert answer(PRINTING, OWN.format(3) + "\n[Command finished with exit code 1]").error == MISSING


def test_python_of_a_here_document_may_catch_an_error():
    assert answer(f"python3 - <<'EOF'\n{TELLING}\nEOF", "name 'x' is not defined", "shell").error is None
    assert answer("python3 - <<'EOF'\nprint(x)\nEOF", OWN.format(1), "shell").error == MISSING
    assert answer("python app.py", LOGGED, "shell").error == MISSING
    assert answer("python app.py", LOGGED + "\n(Current directory: /srv)\nbash-$", "shell").error == MISSING
    assert answer("cat app.log", LOGGED + "\nstarted again", "shell").error is None


def test_an_exit_status_in_marks_is_the_harness_s():
    command = 'make; echo "exit code: $?"'
    assert answer(command, "exit code: 2", "shell").error is None
    assert answer(command, "exit code: 2\n[exit code: 1]", "shell").error == "NonZeroExit: exit code 1"
    assert answer(command, "<returncode>1</returncode>", "shell").error == "NonZeroExit: exit code 1"


def test_a_call_flagged_as_failed_did_fail():
    call = {"type": "tool_use", "id": "a", "name": "python", "input": {"code": TELLING}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "name 'x' is not defined", "is_error": True}
    messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    [reply] = replies_of(messages)
    assert reply.blocks[0].error == MISSING
    result["is_error"] = False
    [reply] = replies_of(messages)
    assert reply.blocks[0].error is None
