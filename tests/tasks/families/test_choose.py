import re

import pytest

from carryover.tasks.families import choose
from carryover.tasks.families.choose import choose_family, family_source, open_own_family
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.services.errors import UserError
from tests.tasks.families.written import written


def test_the_knapsack_is_a_family_by_name():
    assert choose_family("knapsack") is KNAPSACK_FAMILY
    assert family_source("knapsack") is None


def test_a_class_in_the_working_directory_is_found(tmp_path, monkeypatch):
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boxes.py").rename(tmp_path / "boxes_of_a_user.py")
    assert choose_family("boxes_of_a_user:Boxes").name == "boxes"


def test_a_family_is_named_after_its_class(tmp_path):
    wanted = written(tmp_path, {"class Boxes": "class TwoOldBoxes"}).replace(":Boxes", ":TwoOldBoxes")
    assert open_own_family(wanted).name == "two_old_boxes"
    assert open_own_family(wanted) is open_own_family(wanted)


def test_a_shipped_familys_source_is_that_of_all_its_files(tmp_path, monkeypatch):
    plain = {name: family_source(name) for name in ("log_triage", "map_exploration", "cave_types", "cave_printed")}
    assert plain["cave_types"] == plain["cave_printed"]
    assert len({*plain.values()}) == 3
    for name in ("family.py", "teacher.py"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(choose.inspect, "getsourcefile", lambda kind: str(tmp_path / "family.py"))
    before = family_source("log_triage")
    (tmp_path / "teacher.py").write_text("changed")
    assert family_source("log_triage") != before


def test_the_source_of_a_family_follows_its_file(tmp_path):
    wanted = written(tmp_path)
    before = family_source(wanted)
    assert before is not None
    assert re.fullmatch("[0-9a-f]{16}", before)
    file = tmp_path / "boxes.py"
    file.write_text(file.read_text() + "\n\nMORE = 1\n")
    assert family_source(wanted) != before


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("napsack", "unknown family 'napsack'; choose from knapsack"),
        ("no_such_module:Family", "cannot import 'no_such_module:Family'"),
        ("nowhere.py:Family", "cannot import 'nowhere.py:Family'"),
        ("json:JSONDecoder", "'json:JSONDecoder' is no subclass of carryover.Family"),
        ("carryover.tasks.families.family:Family", "cannot make 'carryover.tasks.families.family:Family'"),
    ],
)
def test_what_is_no_family_is_refused(wanted, message):
    with pytest.raises(UserError) as refused:
        open_own_family(wanted)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(("name", "told"), [("", "no ''"), (":", "no ''"), (":Box", "no 'Box'")])
def test_a_wrong_name_in_a_file_tells_its_families(tmp_path, name, told):
    file = written(tmp_path).partition(":")[0]
    with pytest.raises(UserError) as refused:
        open_own_family(f"{file}{name}")
    assert str(refused.value) == f"{told} in {file}; choose from {file}:Boxes"


def test_a_contract_of_a_file_is_a_choice_and_no_family(tmp_path):
    file = tmp_path / "contracts.py"
    file.write_text("from carryover import Contract\nMINE = Contract(name='mine', lifetime='block')\nOTHER = 1\n")
    with pytest.raises(UserError) as refused:
        open_own_family(f"{file}:Mine")
    assert str(refused.value) == f"no 'Mine' in {file}; choose from {file}:MINE"
    with pytest.raises(UserError, match=r":MINE' is no subclass of carryover\.Family; `carryover family new NAME`"):
        open_own_family(f"{file}:MINE")


def test_a_file_without_a_family_says_so(tmp_path):
    file = tmp_path / "empty.py"
    file.write_text("x = 1")
    with pytest.raises(UserError, match=r"no 'Mine' in .*empty.py, which defines no family and no contract"):
        open_own_family(f"{file}:Mine")
