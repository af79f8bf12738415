import json
import shlex
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from carryover.flows.cli.main import app
from carryover.flows.cli.screen import screen
from carryover.flows.cli.traces import probe as command
from carryover.flows.cli.traces.probe import BROKEN, ProbeRequest, report_probe
from carryover.tasks.probe.channels import PROBED
from carryover.tasks.probe.probing import ProbeReport
from carryover.tasks.probe.promise import Promise
from carryover.tasks.probe.report import Verdict, report_json, report_markdown, report_page, report_screen
from carryover.tasks.probe.verdict import breaches
from carryover.tasks.services.errors import UserError
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


REPORT = ProbeReport("mine", {"global": {"block": "lost"}}, events=["block"])


@pytest.fixture
def probed(monkeypatch):
    """What a runtime is chosen and probed by; its report says that it keeps nothing."""
    seen = []

    def probe(runtime, name, channels, *, is_hostile):
        seen.append((runtime, name, list(channels), is_hostile))
        return replace(REPORT)

    monkeypatch.setattr(command, "choose_runtime", lambda *given: given)
    monkeypatch.setattr(command, "probe", probe)
    return seen


def ask(claims=None, channels=(), **changes):
    return ProbeRequest("mine", claims, "python", "tool", False, channels)._replace(**changes)


def test_a_runtime_is_probed_by_what_was_asked(probed):
    assert report_probe(ask(), "json") == 0
    assert report_probe(ask(channels=["thread", "thread"], is_hostile=True), "json") == 0
    runtime = ("mine", "python", "tool")
    assert probed == [(runtime, "mine", list(PROBED), False), (runtime, "mine", ["global", "thread"], True)]
    with pytest.raises(UserError, match=r"^unknown channel \'colour\'; choose from .*, global, "):
        report_probe(ask(channels=["colour"]), "json")


@pytest.mark.parametrize(("claims", "code"), [(None, 0), ("stateless", 0), ("persistent", BROKEN)])
@pytest.mark.parametrize("layout", ["json", "html", "markdown", "rich"])
def test_a_report_is_printed_with_its_verdict(probed, capsys, claims, code, layout):
    assert report_probe(ask(claims), layout) == code
    said = capsys.readouterr().out
    today = datetime.now(UTC).date().isoformat()
    report = replace(REPORT, probed_on=today)
    promise = Promise(claims, None)
    verdict = None if claims is None else Verdict(promise, breaches(report, promise.claim))
    lines = "".join(f"{line}\n" for line in verdict.lines(report)) if verdict else ""
    assert (
        said
        == {
            "json": report_json(report, verdict),
            "html": report_page(report, verdict),
            "markdown": f"{report_markdown(report)}\n{lines}",
            "rich": f"{report_screen(report, screen().width)}{lines}",
        }[layout]
    )
