"""`carryover cave` prints the tables, rewards and costs of the comparison that is asked for."""

import json
from datetime import UTC, datetime

import pytest

from carryover.storage.warehouse.merger import merge
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.traces.result_rows import CaveTurnRow
from carryover.tasks.traces.rows import EpisodeRow, TurnRow
from carryover.tasks.traces.study_rows import RunEndRow, RunRow
from tests.flows.cli.calling import run
from tests.storage.conftest import build_row


def turn(plan, prompt_tokens, instruction="none", **values):
    """Return the row of a passed turn of the token study, but for the values given."""
    fields = {
        "run_id": plan, "episode_id": f"{plan} {instruction}", "plan_digest": plan, "suite": "token_efficiency",
        "tier": "iot", "case_id": "c1", "source": "generated", "question": 1, "arm": "json", "model_name": "m",
        "instruction": instruction, "first_reply": 1, "reply_count": 2, "prompt_tokens": prompt_tokens,
        "completion_tokens": 10, "is_state_right": True, "has_required_calls": True, "is_passed": True, "reward": 1.0,
    }  # fmt: skip
    return build_row(CaveTurnRow, **(fields | values))


def comparison(plan, day, prompt_tokens):
    """Return the rows of a finished comparison of one episode."""
    when = datetime(2026, 1, day, tzinfo=UTC)
    episode = {"run_id": plan, "episode_id": f"{plan} none"}
    return {
        "runs": [build_row(RunRow, run_id=plan, flow="compare_arms", plan_digest=plan, started_at=when)],
        "run_ends": [build_row(RunEndRow, run_id=plan, status="finished", finished_at=when)],
        "episodes": [build_row(EpisodeRow, **episode, plan_digest=plan, agent="cave")],
        "turns": [
            build_row(TurnRow, **episode, turn=0, observation="[]"),
            *(build_row(TurnRow, **episode, turn=number, assistant_text="Done.") for number in (1, 2)),
        ],
        CaveTurnRow.TABLE: [
            turn(plan, prompt_tokens),
            turn(plan, 7_000, instruction="parallel"),
            turn(plan, 500, suite="data_sizes", case_id="c2", episode_id=f"{plan} sizes", size=50),
            turn(plan, 600, suite="long_horizon", case_id="c3", episode_id=f"{plan} long"),
        ],
    }


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A data folder with two comparisons, of which `later` finished last."""
    home = tmp_path_factory.mktemp("cave")
    zone = LandingZone(home / "landing")
    zone.write(comparison("earlier", 1, 300), "earlier")
    zone.write(comparison("later", 2, 100), "later")
    merge(zone, home / "warehouse.duckdb")
    return home


def test_the_latest_comparison_is_printed_unless_another_is_named(home):
    latest = run("cave", "tables", "cave_table_4", "--format", "csv", "--home", home)
    earlier = run("cave", "tables", "cave_table_4", "--format", "csv", "--home", home, "--plan", "earlier")
    assert (",110.0," in latest, ",310.0," in latest) == (True, False)
    assert (",110.0," in earlier, ",310.0," in earlier) == (False, True)


def test_one_table_is_printed_by_name_and_all_without(home):
    one = run("cave", "tables", "cave_table_4", "--format", "markdown", "--home", home)
    every = run("cave", "tables", "--format", "markdown", "--home", home)
    assert one.strip() in every
    assert len(every) > 5 * len(one)


def test_rewards_are_a_line_of_json_per_episode(home, tmp_path):
    said = run("cave", "rewards", tmp_path / "rewards.jsonl", "--home", home)
    assert said == f"2 episodes in {tmp_path / 'rewards.jsonl'}\n"
    records = [json.loads(line) for line in (tmp_path / "rewards.jsonl").read_text().splitlines()]
    assert [record["case_id"] for record in records] == ["c1", "c1"]


def test_costs_are_those_without_an_instruction(home, tmp_path):
    said = run("cave", "costs", tmp_path / "costs", "--home", home).split()
    assert said == [str(tmp_path / "costs" / name) for name in ("cave_costs.svg", "cave_costs.md")]
    page = (tmp_path / "costs" / "cave_costs.md").read_text()
    assert "110" in page
    assert "7,010" not in page
    assert (tmp_path / "costs" / "cave_costs.svg").read_text().startswith("<?xml")
