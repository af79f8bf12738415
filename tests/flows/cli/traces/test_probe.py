import json
import shlex
import sys

from typer.testing import CliRunner

from carryover.flows.cli.main import app
from tests.flows.cli.calling import refused, run
from tests.tasks.probe.planted import REPL

COMMAND = f"{sys.executable} {REPL} fresh"
FILES = ["--channel", "temporary file"]
PERSISTENT = [sys.executable, str(REPL), "persistent"]
CLASS = f"""
from carryover.tasks.probe.connectors.command import CommandRuntime


class Mine(CommandRuntime):
    def __init__(self):
        super().__init__({PERSISTENT!r})


class Wanting:
    def open(self):
        pass
"""


def test_a_broken_claim_has_an_exit_code_and_its_breaches():
    done = CliRunner().invoke(app, ["probe", COMMAND, *FILES, "--claims", "stateless", "--format", "json"])
    report = json.loads(done.stdout)
    assert done.exit_code == 2
    assert report["holds"] is False
    assert "temporary file: kept after a block" in report["breaches"]
    assert report["channels"]["global"] == {"block": "lost", "error": "lost"}


def test_a_class_of_the_user_is_probed(tmp_path, monkeypatch):
    (tmp_path / "my_runtime.py").write_text(CLASS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert "| global | kept | kept |" in run("probe", "my_runtime:Mine", *FILES, "--format", "markdown")
    assert refused("probe", "my_runtime:Wanting") == (
        1,
        "'my_runtime:Wanting' has no method 'run'; offer open(), run(code) and close()",
    )


def test_a_prompt_that_promises_too_much_is_quoted(tmp_path):
    prompt = tmp_path / "prompt.md"
    prompt.write_text("You solve tasks in Python.\n- Variables persist between calls.\n- Be brief.\n")
    done = CliRunner().invoke(app, ["probe", COMMAND, *FILES, "--claims", str(prompt)])
    assert done.exit_code == 2
    assert "claims to be persistent, promised by 'Variables persist between calls.', and breaks it" in done.stdout
    page = CliRunner().invoke(app, ["probe", COMMAND, *FILES, "--claims", str(prompt), "--format", "html"]).stdout
    assert page.startswith("<!doctype html>")
    assert '<td>global</td><td class="lost">lost</td>' in page


def test_what_cannot_be_probed_is_refused(tmp_path):
    silent = tmp_path / "prompt.md"
    silent.write_text("Answer in one line.")
    assert "promises nothing about state" in refused("probe", COMMAND, "--claims", str(silent))[1]
    assert "unknown claim 'both'" in refused("probe", COMMAND, "--claims", "both")[1]
    assert "unknown channel 'colour'" in refused("probe", COMMAND, "--channel", "colour")[1]
    assert "name its interpreter: --python" in refused("probe", "smolagents")[1]
    assert "does it hold the package?" in refused("probe", "smolagents", "--python", sys.executable)[1]
    assert "unknown runtime 'nothing'" in refused("probe", "nothing")[1]
    assert "cannot import 'no_module:Class'" in refused("probe", "no_module:Class")[1]
    assert "cannot start '/no/command'" in refused("probe", "/no/command here")[1]
    assert "ended; it must read blocks until its input ends" in refused("probe", f"{sys.executable} -c pass")[1]


def test_a_command_that_prints_nothing_is_refused_without_a_claim():
    silent = 'import sys\nfor line in sys.stdin: print(\'{"text": ""}\', flush=True)'
    told = refused("probe", shlex.join([sys.executable, "-c", silent]), *FILES)[1]
    assert "the runtime printed nothing; a block must print what its caller sees" in told


def test_a_reply_that_is_no_line_of_json_is_refused():
    assert "answered b'hello" in refused("probe", f"{sys.executable} -c \"input(); print('hello', flush=True)\"")[1]
