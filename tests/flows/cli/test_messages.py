import pytest

from carryover.flows.cli.messages import report_errors
from carryover.tasks.collect import Collected
from carryover.tasks.services.errors import UserError

FAILED = Collected(planned_count=3, played_count=3, error_count=3, first_error="refused")
IN_PART = Collected(planned_count=3, played_count=2, error_count=2, first_error="refused")
DONE = Collected(planned_count=3, played_count=0, error_count=0)


def test_a_stage_of_which_every_episode_failed_has_failed():
    with pytest.raises(UserError, match="every episode, 6 in all, ended with an error"):
        report_errors([FAILED, FAILED])


@pytest.mark.parametrize("collected", [[], [DONE], [FAILED, DONE], [IN_PART]])
def test_a_stage_of_which_something_came_has_not(collected):
    report_errors(collected)
