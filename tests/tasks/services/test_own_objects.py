"""Objects of a user's own modules and files."""

import sys
from importlib.machinery import PathFinder

import pytest
from pydantic import ValidationError

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.own_objects import WantedKind, import_object

LISTS = WantedKind("no list", lambda value, module: isinstance(value, list) and module.__name__.endswith("own"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "own.py"
    path.write_text("first = [1]\nsecond = [2]\nother = 3\n")
    return path


def test_a_file_gives_the_object_of_its_name(file):
    assert import_object(f"{file}:second", LISTS) == [2]
    assert import_object(f"{file}:other", LISTS) == 3


@pytest.mark.parametrize("name", ["", ":", ":third"])
def test_a_wrong_name_tells_those_of_the_wanted_kind(file, name):
    with pytest.raises(UserError) as refused:
        import_object(f"{file}{name}", LISTS)
    assert str(refused.value) == f"no {name.lstrip(':')!r} in {file}; choose from {file}:first, {file}:second"


def test_a_file_without_the_wanted_kind_says_so(tmp_path):
    (tmp_path / "own.py").write_text("x = 1")
    with pytest.raises(UserError, match=r"^no 'y' in .*/own.py, which defines no list$"):
        import_object(f"{tmp_path}/own.py:y", LISTS)


def test_files_of_one_name_are_modules_of_their_own(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.py").write_text(f"first = [{folder!r}]")
    assert [import_object(f"{tmp_path}/{folder}/own.py:first", LISTS) for folder in ("a", "b")] == [["a"], ["b"]]


def test_a_module_of_the_working_directory_is_found(tmp_path, monkeypatch):
    (tmp_path / "module_of_a_user.py").write_text("value = 5")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert import_object("module_of_a_user:value", LISTS) == 5
    assert sys.path.count(str(tmp_path)) == 1
    assert import_object("module_of_a_user:value", LISTS) == 5
    assert sys.path.count(str(tmp_path)) == 1


def test_modules_of_the_working_directory_shadow_no_others(tmp_path, monkeypatch):
    for name in ("module_beside_others", "colorsys"):
        (tmp_path / f"{name}.py").write_text("value = 5")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert import_object("module_beside_others:value", LISTS) == 5
    found = PathFinder.find_spec("colorsys", sys.path)
    assert found is not None
    assert found.origin != str(tmp_path / "colorsys.py")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("x =", "SyntaxError: "),
        ("int('x')", "ValueError: "),
        ("None.x", "AttributeError: "),
        ("open('/nonexistent')", "FileNotFoundError: "),
        ("len(3)", "TypeError: "),
    ],
)
def test_what_cannot_be_imported_is_one_line(tmp_path, code, said):
    (tmp_path / "own.py").write_text(code)
    with pytest.raises(UserError) as refused:
        import_object(f"{tmp_path}/own.py:x", LISTS)
    assert str(refused.value).startswith(f"cannot import '{tmp_path}/own.py:x': {said}")
    assert str(refused.value).endswith("; name MODULE:NAME or FILE.py:NAME")


def test_errors_of_a_users_own_pass(tmp_path):
    (tmp_path / "own.py").write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        import_object(f"{tmp_path}/own.py:x", LISTS)
    (tmp_path / "own.py").write_text("from carryover.tasks.knapsack.knapsack_spec import KnapsackSpec\nKnapsackSpec()")
    with pytest.raises(ValidationError):
        import_object(f"{tmp_path}/own.py:x", LISTS)
