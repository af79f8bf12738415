"""Contracts of one's own in a plan: by name, from a file, and what they change."""

import pytest

from carryover.tasks.families.choose import SHIPPED, open_own_family
from carryover.tasks.plans.choose_contract import choose_contract, choose_contracts
from carryover.tasks.plans.estimate import estimate_study
from carryover.tasks.plans.models import evaluation_conditions, script_conditions
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.study_plan import StudyPlan, teacher_conditions
from carryover.tasks.runtime.contract import Contract
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.limits import Prices
from tests.tasks.families.written import written
from tests.tasks.plans.test_models import make_model

PYTHON = """
import carryover

NOTES = carryover.Contract(name="notes", lifetime="block", keeps_files=True)
NUMBER = 3
WRONG = carryover.Contract(name="Wrong Name", lifetime="block")
TAKEN = carryover.Contract(name="stateless", lifetime="episode")
"""
YAML = """
live:
  lifetime: block
  binds: environment
  words: "Runtime: LIVE."
forever:
  lifetime: forever
odd:
  lifetime: block
  keeps: 3
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A working directory with contracts in both kinds of file."""
    (tmp_path / "notes_of_a_user.py").write_text(PYTHON)
    (tmp_path / "failing.py").write_text("LIVE = {}['live']")
    (tmp_path / "invalid.py").write_text("import carryover\nLIVE = carryover.Contract(name='live', lifetime=3)")
    (tmp_path / "mine.yaml").write_text(YAML)
    (tmp_path / "list.yaml").write_text("[live]")
    (tmp_path / "broken.yaml").write_text("live: [")
    monkeypatch.chdir(tmp_path)


def test_a_name_describes_a_contract():
    assert choose_contract("recent-3") == Contract(name="recent-3", lifetime="recent:3")
    assert choose_contract("functions").lifetime == "functions"
    assert choose_contract("injected").binds == "environment"


@pytest.mark.parametrize("wanted", ["notes_of_a_user.py:NOTES", "notes_of_a_user:NOTES"])
def test_a_python_file_defines_a_contract(files, wanted):
    assert choose_contract(wanted) == Contract(name="notes", lifetime="block", keeps_files=True)


def test_a_yaml_file_defines_a_contract(files):
    live = Contract(name="live", lifetime="block", binds="environment", words="Runtime: LIVE.")
    assert choose_contract("mine.yaml:live") == live


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("recent-0", "unknown contract 'recent-0'; choose from persistent"),
        ("mine.yaml:absent", "mine.yaml defines no contract 'absent'"),
        ("mine.yaml:forever", "'mine.yaml:forever': lifetime: unknown lifetime 'forever'; choose from episode"),
        ("mine.yaml:odd", "'mine.yaml:odd': keeps: Extra inputs are not permitted"),
        ("list.yaml:live", "cannot read contract 'list.yaml:live': the file maps no names to contracts"),
        ("broken.yaml:live", "cannot read contract 'broken.yaml:live': invalid YAML"),
        ("absent.yaml:live", "cannot read contract 'absent.yaml:live'"),
        ("notes_of_a_user.py:ABSENT", "no 'ABSENT' in notes_of_a_user.py; choose from notes_of_a_user.py:NOTES"),
        ("absent.py:LIVE", "cannot import 'absent.py:LIVE'"),
        ("invalid.py:LIVE", "'invalid.py:LIVE': lifetime: Input should be a valid string"),
        ("notes_of_a_user.py:NUMBER", "'notes_of_a_user.py:NUMBER' is no carryover.Contract"),
        ("notes_of_a_user.py:WRONG", "'notes_of_a_user.py:WRONG': invalid name 'Wrong Name'"),
        ("notes_of_a_user.py:TAKEN", "'notes_of_a_user.py:TAKEN': the name 'stateless' means another contract"),
    ],
)
def test_what_is_no_contract_is_refused(files, wanted, message):
    with pytest.raises(UserError) as refused:
        choose_contract(wanted)
    assert str(refused.value).startswith(message)


def test_a_key_error_of_the_users_module_is_not_hidden(files):
    with pytest.raises(KeyError, match="live"):
        choose_contract("failing.py:LIVE")


def test_a_file_is_executed_once_for_a_plan(files, tmp_path):
    file = tmp_path / "notes_of_a_user.py"
    file.write_text(f"{PYTHON}\nwith open('runs.txt', 'a') as runs:\n    runs.write('.')\n")
    wanted = ("stateless", "notes_of_a_user.py:NOTES")
    plan = resolve_plan("laptop_full", Overrides(contracts=wanted, runtime_contracts=wanted))
    assert len(plan.parts) > 1
    assert (tmp_path / "runs.txt").read_text() == "."


def test_two_contracts_of_one_name_are_refused(files, tmp_path):
    (tmp_path / "other.yaml").write_text("notes:\n  lifetime: episode\n")
    with pytest.raises(UserError, match="two contracts are named 'notes'; rename one"):
        choose_contracts(["notes_of_a_user.py:NOTES", "other.yaml:notes"])


def names(plan):
    (part,) = plan.parts
    return part.teacher.contracts, {evaluation.runtime_contracts for evaluation in part.evaluations}


def test_contracts_of_ones_own_train_and_play(files):
    plan = resolve_plan("smoke", Overrides(contracts=("persistent", "recent-2", "mine.yaml:live")))
    chosen = ("persistent", "recent-2", "live")
    assert names(plan) == (chosen, {chosen})
    assert [contract.name for contract in plan.parts[0].own_contracts] == ["live"]
    assert StudyPlan.model_validate_json(plan.model_dump_json()) == plan


def test_models_of_the_paper_may_play_under_another_runtime():
    plan = resolve_plan("smoke", Overrides(runtime_contracts=("recent-1",)))
    assert names(plan) == (("persistent", "stateless"), {("recent-1",)})


def test_the_papers_contracts_change_no_digest():
    plan = resolve_plan("smoke", Overrides(contracts=("persistent", "stateless")))
    assert plan.digest == resolve_plan("smoke").digest
    assert "own_contracts" not in plan.model_dump_json()


def test_conditions_carry_the_definitions_that_they_name(files):
    plan = resolve_plan("smoke", Overrides(contracts=("persistent", "mine.yaml:live")))
    (part,) = plan.parts
    persistent, live = teacher_conditions(part)
    assert (persistent.own_contracts, live.own_contracts) == ((), part.own_contracts)
    models = [make_model("persistent-0", "persistent")]
    played = evaluation_conditions(part, part.evaluations[0], models)
    assert [len(condition.own_contracts) for condition in played] == [0, 1]
    assert len(list(script_conditions(part, part.evaluations[0]))) == 4


def test_every_episode_has_a_folder_where_files_are_promised(files):
    plan = resolve_plan("smoke", Overrides(contracts=("stateless", "notes_of_a_user.py:NOTES")))
    assert plan.runtime == resolve_plan("smoke").runtime.with_folder()


def test_injected_frames_are_preloaded_under_ones_own_contract(files):
    plan = resolve_plan("smoke", Overrides(contracts=("mine.yaml:live",)))
    assert "pandas" in plan.runtime_under(plan.parts[0].defined("live")).preload


def test_habits_do_not_vary_where_objects_are_injected(files):
    with pytest.raises(UserError, match="habits vary where nothing is injected, not under 'live'"):
        resolve_plan("smoke", Overrides(contracts=("mine.yaml:live",), teacher_habits="varied"))


def test_a_family_plays_a_contract_by_its_script(tmp_path):
    boxes = written(tmp_path)
    plan = resolve_plan("smoke", Overrides(family=boxes, contracts=("recent-1", "functions")))
    assert plan.parts[0].evaluations[0].has_scripted_rows
    untaught = written(tmp_path / "less", {'taught = ("persistent", "stateless")': 'taught = ("stateless",)'})
    with pytest.raises(UserError, match="no scripted teacher for contract recent-1"):
        resolve_plan("smoke", Overrides(family=untaught, contracts=("recent-1",)))


def test_a_dry_run_counts_contracts_of_ones_own():
    plan = resolve_plan("laptop", Overrides(contracts=("persistent", "recent-1")))
    stages = [row.stage for row in estimate_study(plan, Prices(), 4)]
    assert "main: persistent -> recent-1, small" in stages
    assert "main: training, recent-1" in stages


@pytest.mark.parametrize("family", [name for name in sorted(SHIPPED) if open_own_family(name).family.taught])
def test_shipped_families_play_a_short_lifetime(family):
    plan = resolve_plan("laptop", Overrides(family=family, contracts=("recent-1", "recent-3")))
    assert plan.parts[0].evaluations[0].has_scripted_rows
