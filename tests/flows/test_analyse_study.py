"""An analysis merges what it reads before it reads it, and what it found."""

from contextlib import nullcontext

import pytest

from carryover.flows import analyse_study as flow_module
from carryover.flows.analyse_study import analyse_study
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages.runs import start_run


@pytest.mark.parametrize("is_broken", [False, True])
def test_statistics_and_check_results_are_merged(steps, own_home, is_broken):
    def check(_run):
        if is_broken:
            raise UserError("a broken check")

    faked = {"merge_landing": None, "report_unmerged": None, "update_statistics": None}
    calls = steps(flow_module, check_warehouse=check, **faked)
    with pytest.raises(UserError, match="a broken check") if is_broken else nullcontext():
        analyse_study.fn("smoke")
    names = [call[0] for call in calls]
    assert names == [
        "merge_landing",
        "report_unmerged",
        "update_statistics",
        "merge_landing",
        "check_warehouse",
        "merge_landing",
    ]


def test_an_analysis_joins_a_run_of_another_source(steps, own_home):
    """The statistics of a study are computed anew after an update."""
    faked = {"merge_landing": None, "report_unmerged": None, "update_statistics": None}
    calls = steps(flow_module, check_warehouse=None, **faked)
    earlier = resolve_plan("smoke").model_copy(update={"source": "earlier"})
    with start_run("reproduce_study", earlier, Limits()) as run:
        analyse_study.fn(run_id=run.run_id)
    assert calls
