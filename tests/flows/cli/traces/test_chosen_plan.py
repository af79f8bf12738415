"""Commands read the latest finished plan of a warehouse, or the named one."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.flows.cli.traces import exchange
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.study_rows import RunEndRow, RunRow
from tests.flows.cli.calling import run
from tests.storage.conftest import build_episode, build_row


@pytest.mark.parametrize(("plan", "latest", "chosen"), [(None, None, None), (None, "late", "late"), ("a", "late", "a")])
def test_the_named_plan_or_the_latest_is_read(plan, latest, chosen):
    rows = SimpleNamespace(rows=lambda: [("a",), ("late",)])
    warehouse: Any = SimpleNamespace(latest_plan=lambda: latest, sql=lambda _: rows)
    assert exchange.default_plan(warehouse, plan) == chosen


def land_study(home, plan, number):
    """Land a finished study of one episode under a plan, the later the higher its number."""
    zone = LandingZone(home / "landing")
    when = datetime(2026, 1, number, tzinfo=UTC)
    run = build_row(RunRow, run_id=plan, flow="reproduce_study", plan_digest=plan, plan_name="smoke", started_at=when)
    end = build_row(RunEndRow, run_id=plan, status="finished", finished_at=when)
    zone.write({"runs": [run], "run_ends": [end]}, plan)
    rows = build_episode(f"episode-{plan}", plan_digest=plan, train_contract="persistent", contract_json="{}")
    rows.pop("turns", None)
    zone.write({table: [row.model_copy(update={"run_id": plan}) for row in some] for table, some in rows.items()}, plan)


def test_commands_read_the_latest_finished_plan_and_another_by_name(tmp_path):
    home = tmp_path / "data"
    for number, plan in enumerate(("old", "new"), start=1):
        land_study(home, plan, number)
    run("merge", "--home", home)
    assert "episode-new" in run("episode", "episode", "--home", home)
    assert "episode-old" in run("episode", "episode", "--plan", "old", "--home", home)
    with pytest.raises(UserError, match=r"plan new has no episode 'episode-o'; .*--plan old"):
        run("episode", "episode-o", "--home", home)
    assert "plan_digest = 'new'" in run("questions", 1, "--home", home)
    assert "plan_digest = 'old'" in run("questions", 1, "--plan", "old", "--home", home)
    for options, plan in (((), "new"), (("--plan", "old"), "old")):
        assert run("export", tmp_path / plan, *options, "--home", home).startswith("1 episodes in ")
        assert f"episode-{plan}" in (tmp_path / plan / "traces.jsonl").read_text()
    with pytest.raises(UserError, match="the warehouse holds 2 plans; name one with --plan: new, old"):
        run("export", tmp_path / "authors", "--to", "authors", "--home", home)
    assert run("export", tmp_path / "authors", "--to", "authors", "--plan", "old", "--home", home).startswith("1 ")
