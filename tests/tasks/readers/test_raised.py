import time

import pytest

from carryover.tasks.readers.conversation import replies_of
from carryover.tasks.readers.outputs import error_line, failed_source, read_outcome
from carryover.tasks.readers.raised import answered
from carryover.tasks.readers.trace import Block, Language

MISSING = "NameError: name 'x' is not defined"
HEAD = "Traceback (most recent call last):"
OWN = f'{HEAD}\n  File "<stdin>", line {{}}, in <module>\n{MISSING}'
LOGGED = f'{HEAD}\n  File "/srv/app.py", line 9, in <module>\n    print(x)\n{MISSING}'
TELLING = "try:\n    print(x)\nexcept NameError as e:\n    print(e)"
TELLING_ANY = "try:\n    f()\nexcept Exception as e:\n    print('Error:', e)\n"
WRITING = "code = '''\nimport q\nmain()\n'''\nopen('a.py', 'w').write(code)\nprint(run('a.py'))"
CHILD_TIMED_OUT = "Command '['sleep', '9']' timed out after 5 seconds"
HARNESS_FRAMES = (
    f'{HEAD}\n  File "/srv/h.py", line 3, in run\n  File "{{}}", line 2, in <module>\n    run(3)\n{MISSING}'
)
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
        (PRINTING.replace(" Exception", ""), OWN.format(3)),
        (PRINTING, OWN.format(3) + "\non"),
        (PRINTING.replace("traceback.print_exc()", "logging.exception('no x')"), "ERROR:root:no x\n" + OWN.format(3)),
        (PRINTING.replace("traceback.print_exc()", "logging.error('no x', exc_info=True)"), OWN.format(3)),
        ("print(open('app.log').read()[:200])", LOGGED + "\n2026-01-01 started again"),
        ("print(open('app.log').read())", "started\n" + LOGGED),
        ("subprocess.run(['python', 'app.py'])", LOGGED),
        ("print(helper(3))", OWN.format(3).replace("<module>", "helper") + "\nNone"),
        (TELLING.replace("(e)", "(traceback.format_exc().splitlines()[-1])"), MISSING),
        (TELLING_ANY.replace("Exception", "subprocess.TimeoutExpired"), CHILD_TIMED_OUT),
        (TELLING_ANY, CHILD_TIMED_OUT),
        ("print(f'timed out after {n} s')", "timed out after 5 s"),
        (PRINTING.replace("Exception", "IOError"), OWN.format(3).replace(MISSING, "FileNotFoundError: no")),
        (WRITING, f'{HEAD}\n  File "/w/a.py", line 2, in <module>\n    import q\nModuleNotFoundError: no q'),
        ("p.start()", "Process Process-1:\n" + OWN.format(2)),
        ("run_loop()", "future: <Task finished name='Task-1'>\n" + OWN.format(2)),
        ("del a", "Exception ignored while calling deallocator <function A.__del__>:\n" + OWN.format(2)),
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
        ("if frame:\n    frame.head(3)", LOGGED.replace("print(x)", "_ = frame.head(3)")),
        ("%time frame.head(3)", LOGGED.replace("print(x)", "frame.head(3)")),
        ("run(3)", OWN.format(1) + "\nafter"),
        ("frame.head()", LOGGED.replace("print(x)", "print(frame.head())")),
        ("a = 1\nprint(x)", f'{HEAD}\n  File "/tmp/a.py", line 2, in <module>\n    print(x)\n{MISSING}\nTry again.'),
        (TELLING + "\n    raise", "name 'x' is not defined\n" + OWN.format(2)),
        (TELLING + "\nprint(x)", MISSING),
        (TELLING.replace("NameError", "KeyError"), MISSING),
        (TELLING.replace("NameError", "KeyError"), "name 'x' is not defined"),
        (TELLING.replace("(e)", "(e, **options)"), MISSING),
        (TELLING + "\n    raise", "name 'x' is not defined"),
        *((f"{TELLING}\n    {leave}(1)", "name 'x' is not defined") for leave in ("sys.exit", "quit", "os._exit")),
        (TELLING + "\nprint(x)", "name 'x' is not defined"),
        (TELLING, MISSING),
        (TELLING, OWN.format(2)),
        (PRINTING + "\nprint(x)", OWN.format(3) + "\non\n" + OWN.format(7)),
        (PRINTING.replace("traceback.print_exc()", "print('no x'); sys.exit(1)"), OWN.format(3)),
        ("except", MISSING),
        ("x = 3\nrun(3)", HARNESS_FRAMES.format("<string>")),
        ("x = 3\nrun(3)", HARNESS_FRAMES.format("/tmp/a.py")),
        ("tell('output')", "Process output:\n" + OWN.format(1)),
        (PRINTING, MISSING),
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


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("AssertionError", "AssertionError"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        ("SystemExit: no", "SystemExit: no"),
        ("Execution timed out", "TimeoutError: Execution timed out"),
        ("[Command timed out after 30 seconds]", "TimeoutError: [Command timed out after 30 seconds]"),
        ("Kernel died unexpectedly.", "KernelDied: Kernel died unexpectedly."),
    ],
)
def test_a_broad_handler_catches_no_bare_error_or_end_of_its_process(output, error):
    block = answer(TELLING_ANY + "assert f()", output)
    assert (block.error, block.caught) == (error, None)


@pytest.mark.parametrize(
    "content",
    [
        {"output": LOGGED, "exit_code": 0},
        f"<returncode>0</returncode>\n<output>\n{LOGGED}\n</output>",
        f"{LOGGED}\n[The command completed with exit code 0.]",
    ],
)
def test_a_shell_that_ends_with_status_zero_has_no_error(content):
    block = answer("python app.py | tail", content, "shell")
    assert (block.error, block.caught) == (None, MISSING)
    assert answer("print(x)", content).error == MISSING


def test_a_second_outcome_replaces_a_caught_error():
    block = answered(answer(TELLING, "name 'x' is not defined"), read_outcome("ValueError: 3"))
    assert (block.error, block.caught) == ("ValueError: 3", None)


def test_python_of_a_here_document_may_catch_an_error():
    assert answer(f"python3 - <<'EOF'\n{TELLING}\nEOF", "name 'x' is not defined", "shell").error is None
    assert answer("python3 - <<'EOF'\nprint(x)\nEOF", OWN.format(1), "shell").error == MISSING
    assert answer("python app.py", LOGGED, "shell").error == MISSING
    assert answer("python app.py", LOGGED + "\n(Current directory: /srv)\nbash-$", "shell").error == MISSING
    assert answer(f"python3 - <<'EOF'\n{TELLING}\n  EOF", "name 'x' is not defined", "shell").error is None
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


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("python - <<A\n" + "\n" * 100_000, MISSING),
        ("python - " + "<<A " * 20_000 + "\n" * 20_000, MISSING),
        ("ls", "[" * 100_000 + "\nexit code 1"),
        ("ls", "Output:\n" * 50_000),
        ("ls", f"{HEAD}\n" + 'File "<' * 50_000 + f"\n{MISSING}"),
        ("ls", "failed at line '" * 50_000),
    ],
)
def test_hostile_text_is_read_in_linear_time(code, output):
    started = time.process_time()
    block = answer(code, output, "shell")
    error_line(block.output, block.error)
    failed_source(block.output, block.error)
    assert time.process_time() - started < 5
