"""What stops a study whose merged tables break their checks."""

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analyse import check_warehouse
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages.runs import start_run
from carryover.tasks.traces.result_rows import CheckResultRow
from tests.storage.conftest import build_row


def test_a_broken_check_stops_the_study_and_has_landed(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)

    def judge(*_arguments, run_id, **_options):
        names = {"kept": 0, "episode_tokens_add_up": 3}
        return [
            build_row(
                CheckResultRow, run_id=run_id, check_name=name, is_passed=not broken_by, unexpected_count=broken_by
            )
            for name, broken_by in names.items()
        ]

    monkeypatch.setattr("carryover.tasks.analyse.gate_warehouse", judge)
    with (
        start_run("toy", resolve_plan("smoke"), Limits()) as run,
        pytest.raises(UserError, match="the merged tables break their checks: episode_tokens_add_up broken by 3; see "),
    ):
        check_warehouse.fn(run)
    landed = LandingZone(tmp_path / "landing").read("check_results")
    assert sorted(landed["check_name"].to_pylist()) == ["episode_tokens_add_up", "kept"]
