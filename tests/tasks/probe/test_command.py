"""What a command is asked, and what its answers mean."""

import json
import os
from typing import Any

import pytest

from carryover.tasks.probe.connectors import piped
from carryover.tasks.probe.connectors.command import CommandRuntime
from carryover.tasks.services.errors import UserError


def shell(program):
    return CommandRuntime(["sh", "-c", program])


@pytest.fixture
def opened():
    """Return a function that opens a program of the shell, which ends with the test."""
    started = []

    def open_shell(program):
        runtime = shell(program)
        runtime.open()
        started.append(runtime)
        return runtime

    yield open_shell
    for runtime in started:
        runtime.close()


def answering(answer):
    return f"while read -r line; do echo '{answer}'; done"


def test_a_block_is_a_line_and_so_is_its_answer(opened):
    echo = opened("""while read -r line; do printf '{"text": %s}\\n' "$line"; done""")
    assert echo.ask({"code": "x\n= 1"}) == {"text": {"code": "x\n= 1"}}
    assert opened(answering('{"text": 3}')).run("x") == "3"
    assert opened(answering(json.dumps({"values": {"a": 1}}))).ask({"do": "injected"}) == {"values": {"a": 1}}
    assert opened(answering('{"version": "2"}')).ask({}) == {"version": "2"}


@pytest.mark.parametrize(
    ("answer", "told"),
    [("no", "b'no\\n'"), ("[]", "b'[]\\n'"), ('{"a": 1}', "b'{\"a\": 1}\\n'"), ("y" * 90, repr(b"y" * 80))],
)
def test_what_is_no_answer_is_told_with_its_beginning(opened, answer, told):
    with pytest.raises(UserError) as refused:
        opened(answering(answer)).run("x")
    assert str(refused.value) == f"""'sh' answered {told}; answer lines of {{"text": ...}}"""


def test_a_command_that_has_ended_is_told(opened):
    told = r"^'sh' ended; it must read blocks until its input ends$"
    with pytest.raises(UserError, match=told):
        opened("read -r line").run("x")
    ended: Any = opened("exit 3")
    ended._process.wait()
    with pytest.raises(UserError, match=told):
        ended.run("x")


def test_a_silent_command_is_told_and_ended(opened, monkeypatch):
    monkeypatch.setattr(piped, "END_SECONDS", 0.05)
    silent = opened("exec sleep 60")
    with pytest.raises(UserError, match=r"^'sh' gave no reply in 0\.05 s; it must answer every block$"):
        silent.ask({"code": "x"}, 0.05)
    process = silent._process
    assert os.getpgid(process.pid) == process.pid  # a kill ends all that it began, and nothing else
    silent.close()
    assert process.returncode == -9


def test_a_command_that_is_not_there_is_told():
    with pytest.raises(UserError, match=r"^cannot start 'no-such-program': No such file or directory; name a command$"):
        CommandRuntime(["no-such-program", "x"]).open()


def test_a_closed_command_has_ended_and_may_be_opened_again(opened):
    runtime: Any = opened(answering('{"text": "1"}'))
    process = runtime._process
    runtime.close()
    runtime.close()
    assert process.returncode == 0
    runtime.open()
    assert runtime.run("x") == "1"
