"""A re-evaluation takes the study that it is about, and tells rows of another source from the others."""

import pytest

from storage.reevaluation import choose_study, name_variant
from storage.runs import start_run
from tasks.plans.overrides import Overrides
from tasks.plans.presets import resolve_plan
from tasks.plans.run import Limits
from tasks.running.errors import UserError

SMOKE = resolve_plan("smoke")
SMALLER = resolve_plan("smoke", Overrides(evaluation_count=2))
EARLIER = SMOKE.model_copy(update={"source": "earlier"})


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty data folder."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)


def finish(plan, flow="reproduce_study"):
    with start_run(flow, plan, Limits()) as run:
        return run.run_id


def test_the_latest_study_as_the_preset_has_it_is_taken_whatever_its_source():
    finish(SMOKE)
    latest = finish(EARLIER)
    finish(SMALLER)
    finish(SMOKE, "collect_traces")
    assert choose_study("smoke") == latest


def test_a_study_with_overrides_is_taken_where_there_is_no_other():
    finish(SMALLER)
    latest = finish(SMALLER)
    assert choose_study("smoke") == latest


def test_a_scale_without_a_finished_study_is_said():
    finish(SMOKE)
    with pytest.raises(UserError, match=r"no finished study of scale 'laptop' .*; run flows\.reproduce_study first"):
        choose_study("laptop")


def test_rows_of_another_source_land_under_a_variant_that_names_it():
    assert name_variant(SMOKE) == "reevaluation"
    assert name_variant(EARLIER) == f"reevaluation-{SMOKE.source[:8]}"
