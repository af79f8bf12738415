import pytest
import typer
from pydantic import BaseModel, ValidationError, field_validator

from carryover.flows.cli.errors import OneLineGroup, StoppedError, one_line
from carryover.storage.errors import QueryError
from carryover.tasks.services.errors import UserError

app = typer.Typer(cls=OneLineGroup)


@app.command()
def ask(module: str):
    raise ModuleNotFoundError(f"No module named {module!r}", name=module)


@app.command()
def fail(kind: str):
    raise FAILURES[kind]


@app.command()
def rest(code: int = 0):
    return code


class Overrides(BaseModel):
    """Has a bad value in a nested field."""

    counts: list[int]

    @field_validator("counts")
    @classmethod
    def _are_few(cls, counts: list[int]) -> list[int]:
        if len(counts) > 1:
            raise ValueError("one count at most")
        return counts


def bad_value(value):
    with pytest.raises(ValidationError) as refused:
        Overrides.model_validate({"counts": value})
    return refused.value


FAILURES = {
    "user": UserError("no such plan;\n  name another"),
    "stopped": StoppedError("stopped; the same command resumes the run"),
    "type": bad_value(["x"]),
    "rule": bad_value([1, 2]),
    "query": QueryError("Parser Error: near x\n\nLINE 1: selct\n        ^"),
    "file": FileNotFoundError(2, "No such file or directory", "/nowhere"),
    "nameless": OSError("broken pipe"),
    "parameter": typer.BadParameter("Value error, choose another."),
}


def ask_for(module):
    with pytest.raises(SystemExit) as ended:
        app(["ask", module])
    return ended.value.code


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("polars.io", "frames"),
        ("prefect", "study"),
        ("great_expectations", "study"),
        ("uvicorn", "viewer"),
        ("torch", "train"),
    ],
)
def test_a_missing_module_names_the_extra_that_installs_it(module, extra, capsys):
    assert ask_for(module) == 1
    top = module.partition(".")[0]
    way_out = f"install the extra `{extra}`: pip install '.[{extra}]' in the checkout"
    assert capsys.readouterr().err == f"carryover: the module {top} is missing; {way_out}\n"


@pytest.mark.parametrize(
    ("kind", "code", "line"),
    [
        ("user", 1, "no such plan; name another"),
        ("stopped", 130, "stopped; the same command resumes the run"),
        (
            "type",
            1,
            "bad value 'x' for counts.0: Input should be a valid integer, unable to parse string as an integer",
        ),
        ("rule", 1, "bad value [1, 2] for counts: one count at most"),
        ("query", 1, "Parser Error: near x"),
        ("file", 1, "cannot use '/nowhere': No such file or directory; check the path and its permissions"),
        ("nameless", 1, "broken pipe"),
        ("parameter", 2, "Invalid value: choose another (see root fail --help)"),
    ],
)  # fmt: skip
def test_every_kind_of_error_is_one_line_with_its_code(kind, code, line, capsys):
    with pytest.raises(SystemExit) as ended:
        app(["fail", kind], prog_name="root")
    assert ended.value.code == code
    assert capsys.readouterr() == ("", f"carryover: {line}\n")


def test_a_bad_value_behind_an_option_is_shown():
    refused = typer.BadParameter("not a count")
    refused.__cause__ = bad_value(["x"])
    assert one_line(refused) == "Invalid value: not a count; found 'x'"


@pytest.mark.parametrize(("code", "said"), [(0, ""), (3, ""), (130, "carryover: stopped\n")])
def test_a_commands_own_code_is_its_exit(code, said, capsys):
    with pytest.raises(SystemExit) as ended:
        app(["rest", "--code", str(code)])
    assert (ended.value.code, capsys.readouterr().err) == (code, said)


def test_outside_of_a_terminal_values_and_errors_come_through():
    assert app(["rest", "--code", "3"], standalone_mode=False) == 3
    with pytest.raises(UserError):
        app(["fail", "user"], standalone_mode=False)


def test_a_module_of_no_extra_is_a_bug_and_raises():
    with pytest.raises(ModuleNotFoundError):
        app(["ask", "never_heard_of"])
