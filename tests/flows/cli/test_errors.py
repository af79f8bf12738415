import pytest
import typer

from carryover.flows.cli.errors import OneLineGroup

app = typer.Typer(cls=OneLineGroup)


@app.command()
def ask(module: str):
    raise ModuleNotFoundError(f"No module named {module!r}", name=module)


@app.command()
def rest():
    pass


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


def test_a_module_of_no_extra_is_a_bug_and_raises():
    with pytest.raises(ModuleNotFoundError):
        app(["ask", "never_heard_of"])
