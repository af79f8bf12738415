import inspect
import logging
import signal
from typing import Any, Literal, get_args

import httpx
import pytest
from prefect import flow
from prefect.logging.handlers import PrefectConsoleHandler
from pydantic import BaseModel, Field

from carryover.flows.cli.command import flow_options, run_as_command
from carryover.tasks.agent.study_speaker import ContractViolationError
from carryover.tasks.runtime.sandbox.launch import SandboxStartError
from carryover.tasks.runtime.sandbox.level import SandboxUnavailableError
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import name_folders
from tests.flows.flow_process import start_python


class Overrides(BaseModel):
    count: int | None = Field(default=None, ge=1, description="Instances to play.")
    seeds: tuple[int, ...] | None = Field(default=None, description="Training seeds.")


@flow
def toy(scale: Literal["small", "large"] = "small", overrides: Overrides = Overrides(), dry_run: bool = False):  # noqa: B008
    """Play with instances.

    Args:
        scale: How much of it.
        dry_run: Only say.
    """


def run(*arguments, answer):
    with pytest.raises(SystemExit) as ending:
        run_as_command(toy, arguments, answer=answer)
    return ending.value.code


def test_flags_are_the_flow_s_parameters_with_objects_unfolded():
    seen = []
    code = run(
        "--scale", "large", "--count", "3", "--seeds", "[1, 2]", "--dry-run", answer=lambda p: seen.append(p) or True
    )
    assert code == 0
    assert seen == [{"scale": "large", "overrides": Overrides(count=3, seeds=(1, 2)), "dry_run": True}]


class Nested(BaseModel):
    """Fields that are options of their own."""

    names: list[str] = Field(default=[], description="Names.")
    prices: dict[str, float] | None = Field(default=None, description="Prices.")


@flow
def every_kind(
    scale: Literal["small", "large"] = "small",
    *,
    share: float | None = None,
    count: int = 3,
    keeps: bool = True,
    drops: bool = False,
    word: str = "",
    nested: Nested = Nested(),  # noqa: B008
):
    """Take options of every kind.

    Args:
        scale: How much of it.
        count: How many.
    """


@flow
def demanding(count: int, scale: str = "small"):
    """Take a number that nobody assumes."""


def shown(option):
    """Return an option's type, flag, help and the name of what it takes."""
    kind, told = get_args(option.annotation)
    return kind, told.default, told.help, told.metavar  # Typer reads a flag where a default would stand


def test_options_have_types_flags_and_help_of_their_fields():
    options, groups = flow_options(every_kind)
    assert groups == {"nested": ["names", "prices"]}
    assert {option.name: shown(option) for option in options} == {
        "scale": (Literal["small", "large"], "--scale", "How much of it.  [default: small]", None),
        "share": (float, "--share", "", None),
        "count": (int, "--count", "How many.  [default: 3]", None),
        "keeps": (bool, "--keeps/--no-keeps", "  [default: True]", None),
        "drops": (bool, "--drops", "", None),
        "word": (str, "--word", "", None),
        "names": (Any, "--names", "Names.", "LIST"),
        "prices": (Any, "--prices", "Prices.", "JSON"),
    }
    assert {(option.default, option.kind) for option in options} == {(None, inspect.Parameter.KEYWORD_ONLY)}
    (count, scale), _ = flow_options(demanding)
    assert (count.default, scale.default) == (inspect.Parameter.empty, None)


def test_an_interrupt_ends_what_waits_in_the_kernel(monkeypatch):
    told = []
    monkeypatch.setattr(signal, "siginterrupt", lambda *given: told.append(given))
    assert run(answer=lambda _: True) == 0
    assert told == [(signal.SIGINT, True)]


@flow
def undecided(replays: bool | None = None, keeps: bool = True, drops: bool = False):
    """Play, or leave it to the plan."""


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], (None, True, False)),
        (["--replays", "--no-keeps", "--drops"], (True, False, True)),
        (["--no-replays", "--keeps"], (False, True, False)),
    ],
)
def test_a_flag_that_may_be_true_already_has_both_forms(words, given):
    seen = []
    with pytest.raises(SystemExit) as ending:
        run_as_command(undecided, words, answer=lambda parameters: seen.append(tuple(parameters.values())) or True)
    assert (ending.value.code, seen) == (0, [given])
    with pytest.raises(SystemExit) as ending:
        run_as_command(undecided, ["--no-drops"], answer=lambda _: True)
    assert ending.value.code == 2


def test_prefects_log_stays_off_the_terminal():
    console = PrefectConsoleHandler()
    logging.getLogger().addHandler(console)
    try:
        run(answer=lambda _: True)
    finally:
        logging.getLogger().removeHandler(console)
    own, other = (logging.makeLogRecord({"name": name}) for name in ("prefect.engine", "duckdb"))
    assert (bool(console.filter(own)), bool(console.filter(other))) == (False, True)


def test_the_data_folder_can_be_named(monkeypatch, tmp_path):
    monkeypatch.setenv("CARRYOVER_HOME", "/another")
    seen = []
    run("--home", str(tmp_path / "data"), answer=lambda p: seen.append((p, name_folders().home)) or True)
    assert seen == [({"scale": "small", "overrides": Overrides(), "dry_run": False}, tmp_path / "data")]


def test_a_yaml_file_gives_options_that_the_command_line_outdoes(tmp_path):
    (tmp_path / "study.yaml").write_text("scale: large\ncount: 3\nseeds: [1, 2]\ndry-run: true\n")
    seen = []
    config = str(tmp_path / "study.yaml")
    run("--config", config, "--count", "4", answer=lambda p: seen.append(p) or True)
    assert seen == [{"scale": "large", "overrides": Overrides(count=4, seeds=(1, 2)), "dry_run": True}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("counts: 3", "unknown option 'counts' in {file}; choose from scale, count, seeds, dry_run"),
        ("- count", "{file} holds no options; write one a line, e.g. train_count: 400"),
        ("count: [", "cannot read options from {file}: while parsing a flow node"),
    ],
)
def test_a_yaml_file_without_known_options_is_one_line(tmp_path, capsys, text, said):
    file = tmp_path / "study.yaml"
    file.write_text(text)
    assert run("--config", str(file), answer=lambda _: True) == 1
    assert capsys.readouterr().err.startswith(f"carryover: {said.format(file=file)}")


@pytest.mark.parametrize("given", ["1,2", " 1, 2", "[1, 2]"])
def test_a_list_is_given_with_commas_or_as_json(given):
    seen = []
    run("--seeds", given, answer=lambda p: seen.append(p) or True)
    assert seen[0]["overrides"] == Overrides(seeds=(1, 2))


def test_list_of_words_reaches_the_flow_unchanged(capsys):
    assert run("--seeds", "1,none", answer=lambda _: True) == 1
    assert capsys.readouterr().err.startswith("carryover: bad value 'none' for overrides.seeds.1: ")


def test_what_is_not_given_keeps_the_flow_s_default():
    seen = []
    run(answer=lambda p: seen.append(p) or True)
    assert seen == [{"scale": "small", "overrides": Overrides(), "dry_run": False}]


def test_help_shows_the_flow_s_own_descriptions(capsys):
    assert run("--help", answer=lambda _: True) == 0
    text = capsys.readouterr().out
    assert "Play with instances." in text
    assert "Args:" not in text
    for description in ("How much of it.", "Instances to play.", "Training seeds.", "Only say.", "small|large"):
        assert description in text


def test_an_unknown_scale_names_the_choices(capsys):
    assert run("--scale", "huge", answer=lambda _: True) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("carryover: Invalid value for '--scale': 'huge' is not one of 'small', 'large'")
    assert line.endswith("(see toy --help)")


def test_an_unknown_option_is_one_line(capsys):
    assert run("--sclae", "small", answer=lambda _: True) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("carryover: No such option")
    assert "--sclae" in line


def test_bad_override_is_one_line_with_place_and_value(capsys):
    assert run("--count", "0", answer=lambda _: True) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "carryover: bad value 0 for overrides.count: Input should be greater than or equal to 1"


def test_a_user_error_is_one_line(capsys):
    def fail(_):
        raise UserError("no key in GEMINI_API_KEY;\n set it")

    assert run(answer=fail) == 1
    assert capsys.readouterr().err == "carryover: no key in GEMINI_API_KEY; set it\n"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ContractViolationError("episode 3: name 'x'\nlives on"), "episode 3: name 'x' lives on"),
        (SandboxUnavailableError("seccomp is required"), "seccomp is required"),
        (SandboxStartError("the sandbox side ended"), "the sandbox side ended"),
        (
            httpx.ConnectError("All connection attempts failed"),
            "an HTTP request failed (ConnectError: All connection attempts failed); "
            "run the command again when its server answers",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_study_error_is_one_line_and_exit_code_1(capsys, error, line):
    def fail(_):
        raise error

    assert run(answer=fail) == 1
    assert capsys.readouterr().err == f"carryover: {line}\n"


def test_text_that_is_no_json_is_refused_with_its_place(capsys):
    assert run("--seeds", "[1,", answer=lambda _: True) == 2
    assert "'[1,' is not JSON" in capsys.readouterr().err


LEAKING = """
import builtins, os
from prefect import flow
from carryover.flows.cli.command import run_as_command

class Leaked:
    def __del__(self, write=os.write):
        write(2, b"leaked")

builtins.leaked = Leaked()  # outlives every module, as what a native library lists at the end
run_as_command(flow(lambda: None, name="toy"), [], answer=lambda _: True)
"""


@pytest.mark.slow
def test_exit_leaves_standard_error_empty(tmp_path):
    process = start_python(tmp_path, "-c", LEAKING)
    assert process.communicate()[1] == ""
    assert process.returncode == 0


FULL = """
import asyncio
import logging

from prefect import flow
from prefect.logging.handlers import APILogWorker

from carryover.flows.cli.command import run_as_command


class FullServer:
    async def create_logs(self, logs):
        raise OSError("no room for a log")


def answer(_):
    worker = APILogWorker.__new__(APILogWorker)
    worker._client = FullServer()
    asyncio.run(worker._handle_batch([{}]))
    logging.getLogger("prefect._internal.concurrency").error("an event was not sent")
    return True


run_as_command(flow(lambda: None, name="toy"), [], answer=answer)
"""


@pytest.mark.slow
def test_slow_server_adds_no_line_to_the_output(tmp_path):
    process = start_python(tmp_path, "-c", FULL)
    assert process.communicate()[1] == ""
    assert process.returncode == 0
