"""What tells comparisons apart."""

from carryover.tasks.cave.arms import plan
from carryover.tasks.cave.arms.plan import SuitePlan


def test_another_source_is_another_comparison(monkeypatch):
    before = SuitePlan().digest
    assert SuitePlan(suites=("types",), arms=("json",), replicates=1).digest == before
    monkeypatch.setattr(plan, "agents_source", lambda: "edited")
    assert SuitePlan().digest != before
