import pytest

from carryover.flows.collect_traces import collect_traces
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.services.errors import UserError

NOBODY = "http://127.0.0.1:9/v1"
"""An address at which nothing listens."""


def test_a_collection_whose_teacher_does_not_answer_plays_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    expected = rf"cannot start; missing: an answer from the teacher's endpoint {NOBODY} \(Connection refused\)$"
    with pytest.raises(UserError, match=expected):
        collect_traces.fn("smoke", Overrides(teacher_url=NOBODY))
    zone = LandingZone(tmp_path / "landing")
    assert zone.read("episodes").num_rows == 0
    assert [end["status"] for end in zone.read("run_ends").to_pylist()] == ["failed"]
