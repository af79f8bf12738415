"""A small recorded trace, made by hand: every way in which a turn may be recorded, once."""

import json
from datetime import UTC, datetime

from carryover.tasks.interchange.recorded import RecordedTrace
from carryover.tasks.traces.rows import EpisodeRow, InstanceRow, StepRow, TurnRow
from carryover.tasks.traces.vocabulary import FinishReason
from tests.storage.conftest import build_row

OPENING = [
    {"role": "system", "content": "You write code."},
    {"role": "system", "content": "Names persist."},
    {"role": "user", "content": "Fill the knapsack."},
]


def made_trace(**changes):
    """Return the trace: a failed block, a reply without a block, two blocks in a turn."""
    episode = build_row(
        EpisodeRow, run_id="run-1", episode_id="e-1", plan_digest="2f3a", purpose="evaluation", variant="main",
        base="scratch", model_name="persistent-0", train_contract="persistent", runtime_contract="stateless",
        shown_contract="stateless", bucket="easy", split="evaluation", instance_id="i-1", replicate=2,
        finish_reason=FinishReason.FINISH_TOOL, score=0.75, is_solved=False, value_taken=6, weight_taken=5,
        taken_count=3, inspected_count=4, step_count=3, turn_count=3, prompt_tokens=600, completion_tokens=60,
        cached_prompt_tokens=300, wall_seconds=20.0, started_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
        contract_json='{"contract": {"name": "stateless"}}', error_message=None, **changes,
    )  # fmt: skip
    turns = (
        make_turn(0, "", json.dumps(OPENING), 0),
        make_turn(1, "Look.\n```python\nlook\n```", "NameError: look", 1),
        make_turn(2, "I think.", "Write a block.", 2),
        make_turn(3, "Two.\n```python\nx = 1\n```\n```python\nx\n```", None, 3),
    )
    steps = (
        make_step(1, 1, "look", error="NameError: look"),
        make_step(2, 3, "x = 1", output="done\n"),
        make_step(3, 3, "x", result="1"),
    )
    instance = build_row(
        InstanceRow, run_id="run-1", instance_id="i-1", task_id="knapsack-0001", optimal_value=8, capacity=9
    )
    return RecordedTrace(episode, turns, steps, instance)


def make_turn(turn, text, observation, tens):
    return build_row(
        TurnRow, run_id="run-1", episode_id="e-1", turn=turn, assistant_text=text, observation=observation,
        prompt_tokens=100 * tens, completion_tokens=10 * tens, cached_prompt_tokens=50 * tens, model_seconds=2.0,
        active_globals=("a", "b"),
    )  # fmt: skip


def make_step(step, turn, code, *, output="", result=None, error=None):
    return build_row(
        StepRow, run_id="run-1", episode_id="e-1", step=step, turn=turn, code=code, output=output, result=result,
        error=error, execution_seconds=0.5,
    )  # fmt: skip
