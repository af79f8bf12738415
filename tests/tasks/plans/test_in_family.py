"""A plan on another family's instances."""

import re

import pytest

from carryover.tasks.plans.estimate import estimate_study
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.study_plan import InstanceSetSpec
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.limits import Prices
from tests.tasks.families.written import written

UNTAUGHT = {'taught = ("persistent", "stateless")': "taught = ()"}
NO_TEACHER = UNTAUGHT | {"def teach(": "def untaught("}


@pytest.fixture
def boxes(tmp_path):
    return written(tmp_path)


def test_training_takes_the_first_bucket_and_transfer_the_last(boxes):
    plan = resolve_plan("laptop_full", Overrides(family=boxes, parts=("scratch-1",)))
    (part,) = plan.parts
    assert (part.train_instances.family, part.train_instances.bucket) == (boxes, "few")
    buckets = [evaluation.instances.bucket for evaluation in part.evaluations]
    assert buckets == ["few", "few", "many", "many"]


def test_episodes_follow_the_familys_rules(boxes):
    (part,) = resolve_plan("laptop", Overrides(family=boxes)).parts
    assert part.teacher.episode.tool_call_cap == 40
    assert part.teacher.episode.faults is not None
    assert part.teacher.episode.faults.tool == "list_boxes"
    assert {evaluation.episode.tool_call_cap for evaluation in part.evaluations} == {40}


def test_a_family_without_spare_tool_meets_no_faults(tmp_path):
    wanted = written(tmp_path, {'spare_tool = "list_boxes"': "spare_tool = None"})
    (part,) = resolve_plan("laptop", Overrides(family=wanted)).parts
    assert part.teacher.episode.faults is None


def test_a_changed_family_is_another_plan(boxes, tmp_path):
    before = resolve_plan("smoke", Overrides(family=boxes))
    changed = written(tmp_path / "changed", {"randint(1, 99)": "randint(1, 9)"})
    after = resolve_plan("smoke", Overrides(family=changed))
    assert before.parts[0].train_instances.problems != after.parts[0].train_instances.problems
    assert before.digest != after.digest


def test_the_knapsack_by_name_is_the_same_plan():
    assert resolve_plan("smoke", Overrides(family="knapsack")).digest == resolve_plan("smoke").digest


def test_the_dump_of_a_knapsack_set_names_no_family():
    instances = InstanceSetSpec(bucket="small", split="train", count=1, first_seed=0)
    assert set(instances.model_dump()) == {"bucket", "split", "count", "first_seed"}


def test_a_family_without_teacher_asks_for_an_endpoint(tmp_path):
    wanted = written(tmp_path, UNTAUGHT)
    with pytest.raises(UserError, match=r"no scripted teacher for contract persistent; let an endpoint teach"):
        resolve_plan("smoke", Overrides(family=wanted))
    taught = Overrides(family=wanted, teacher_url="http://127.0.0.1:1/v1", teacher_model="any")
    (part,) = resolve_plan("smoke", taught).parts
    assert part.teacher.kind == "endpoint"
    assert not any(evaluation.has_scripted_rows for evaluation in part.evaluations)


@pytest.mark.parametrize(
    ("changes", "way"),
    [
        (NO_TEACHER, "or write teach(), and the line taught = ('persistent', 'stateless')"),
        (UNTAUGHT, "or let the class say which contracts teach() plays: taught = ('persistent', 'stateless')"),
    ],
)
def test_a_refused_teacher_is_told_the_line_to_write(tmp_path, changes, way):
    with pytest.raises(UserError, match=re.escape(way)):
        resolve_plan("smoke", Overrides(family=written(tmp_path, changes)))


def test_a_title_names_the_family_but_for_the_knapsack(boxes):
    assert resolve_plan("smoke", Overrides(family=boxes)).title == f"smoke on {boxes}: numbers without meaning"
    assert resolve_plan("smoke").title == "smoke: numbers without meaning"
    assert resolve_plan("laptop").title == "laptop: not Qwen3-8B"
    assert resolve_plan("laptop_full").title == "laptop_full: laptop, not Qwen3-8B"


def test_a_corpus_about_the_knapsack_is_refused(boxes):
    with pytest.raises(UserError, match="trains a common base on texts about the knapsack"):
        resolve_plan("laptop_full", Overrides(family=boxes, parts=("common-1",)))


def test_a_dose_of_the_knapsacks_teacher_is_refused(boxes):
    with pytest.raises(UserError, match="sets a habit of the knapsack's teachers"):
        resolve_plan("laptop_batches", Overrides(family=boxes))


@pytest.mark.parametrize("setting", [{"bucket": "small"}, {"teacher_habits": "varied"}])
def test_settings_of_the_knapsack_are_refused(boxes, setting):
    with pytest.raises(UserError, match="is about the knapsack; leave it out"):
        resolve_plan("pretrained", Overrides(family=boxes, **setting))


@pytest.mark.parametrize("scale", ["smoke", "pretrained", "paper"])
def test_another_family_is_estimated_as_the_knapsack(boxes, scale):
    plan = resolve_plan(scale, Overrides(family=boxes))
    assert sum(row.episodes for row in estimate_study(plan, Prices(), concurrency=1)) > 100


@pytest.mark.parametrize("scale", ["pretrained", "paper", "smoke_injected"])
def test_every_scale_takes_a_family_or_says_why_not(boxes, scale):
    if scale == "smoke_injected":
        with pytest.raises(UserError, match="no scripted teacher for contract injected"):
            resolve_plan(scale, Overrides(family=boxes))
        return
    (part,) = resolve_plan(scale, Overrides(family=boxes)).parts
    assert part.train_instances.bucket == "few"
