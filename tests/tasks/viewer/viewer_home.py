"""A data folder whose episodes are paired: two instances in four cells; a model trained on kept names misses one."""

import json
from itertools import product
from pathlib import Path
from typing import Any

from carryover.storage.warehouse.merger import merge
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.knapsack.environment import TOOL_NAMES
from carryover.tasks.traces.events import name_event_rows, parse_block
from carryover.tasks.traces.result_rows import CaveTurnRow
from carryover.tasks.traces.rows import EpisodeRow, ErrorRow, InstanceRow, StepRow, ToolCallRow, TurnRow
from carryover.tasks.traces.study_rows import RunEndRow, RunRow
from carryover.tasks.traces.training_rows import TrainingExampleRow, TrainingMetricRow, TrainingRunRow
from tests.storage.conftest import build_row

MISSING = "Traceback (most recent call last):\nNameError: name 'items' is not defined"
FETCH = "items = list_items()"
USE = "print(items)"
CELLS = tuple((train, runtime) for train, runtime in product(("persistent", "stateless"), repeat=2))
SETTING = {
    "plan_digest": "plan", "scale": "laptop", "purpose": "evaluation", "variant": "main", "base": "scratch",
    "visibility": "declared", "header": "names", "bucket": "small", "split": "evaluation", "training_seed": 0,
    "replicate": 0, "model_name": "model", "backend": "fork_tree", "sandbox_level": "bwrap+seccomp",
    "is_contract_verified": True, "contract_json": json.dumps({"contract": {"name": "declared"}}), "max_turns": 10,
    "token_source": "server",
}  # fmt: skip


def make_viewer_home(folder: Path, instance_count: int = 2, more: list[Any] | None = None) -> Path:
    """Merge the episodes into a new data folder and return it; `more` rows land beside them."""
    rows: list[Any] = [
        build_row(RunRow, plan_digest="plan", plan_name="laptop", plan_json="{}", environment_json="{}", flow="study"),
        build_row(RunEndRow, status="finished"),
        *(more or []),
    ]
    for number in range(1, instance_count + 1):
        instance = f"instance-{number}"
        budget = {"capacity": 10, "inspection_budget": 5, "optimal_value": 7}
        shown = {"instance_id": instance, "split": "evaluation", "bucket": "small", "seed": number}
        rows.append(build_row(InstanceRow, **shown, **budget))
        for train, runtime in CELLS:
            rows += played(f"{train[0]}{runtime[0]}{number}", train, runtime, instance)
    zone = LandingZone(folder / "landing")
    tables: dict[str, dict[str, list[Any]]] = {}
    for row in rows:
        tables.setdefault(row.run_id, {}).setdefault(row.TABLE, []).append(row)
    for run_id, of_run in tables.items():
        zone.write(of_run, run_id)
    merge(zone, folder / "warehouse.duckdb")
    return folder


def played(episode_id: str, train: str, runtime: str, instance: str, blocks: list[str] | None = None) -> list[Any]:
    """Return an episode's rows: fetch and use; a stateless runtime makes a persistent model fetch again."""
    is_mismatched = train == "persistent" and runtime == "stateless"
    fused = f"{FETCH}\n{USE}"
    default = [FETCH, USE, fused] if is_mismatched else [FETCH, USE]
    if train == "stateless":
        default = [fused, fused]
    codes = blocks or default
    rows: list[Any] = [_turn(episode_id, 0, "", json.dumps([{"role": "system", "content": "Pack the knapsack."}]))]
    alive: tuple[str, ...] = ()
    for number, code in enumerate(codes, start=1):
        is_missing = is_mismatched and code == USE
        bound = ("items",) if FETCH in code else alive
        after = bound if runtime == "persistent" else ()
        observation = json.dumps({"output": "", "error": MISSING if is_missing else None})
        reply = f"Step {number}.\n```python\n{code}\n```"
        rows.append(_turn(episode_id, number, reply, observation, active_globals=after, last_step_globals=bound))
        names = {"active_globals_before": alive, "active_globals": after, "last_step_globals": bound}
        rows += _step(episode_id, number, code, names, is_missing=is_missing)
        alive = after
    counts = {"turn_count": len(codes), "step_count": len(codes), "prompt_tokens": 100 * len(codes)}
    rows.append(
        build_row(
            EpisodeRow,
            episode_id=episode_id,
            instance_id=instance,
            train_contract=train,
            runtime_contract=runtime,
            shown_contract=runtime,
            completion_tokens=20,
            finish_reason="max_turns" if is_mismatched else "finish_tool",
            score=0.5 if is_mismatched else 1.0,
            is_solved=not is_mismatched,
            **SETTING,
            **counts,
        )
    )
    return rows


def _turn(episode_id: str, turn: int, text: str, observation: str, **values: Any) -> TurnRow:
    tokens = {"prompt_tokens": 100 if turn else 0, "completion_tokens": 10 if turn else 0}
    said = {"assistant_text": text, "observation": observation, "model_finish_reason": "stop"}
    return build_row(TurnRow, episode_id=episode_id, turn=turn, **said, **tokens, **values)


def _step(episode_id: str, number: int, code: str, names: dict[str, Any], *, is_missing: bool) -> list[Any]:
    place = {"episode_id": episode_id, "step": number}
    parsed = parse_block(code, TOOL_NAMES)
    before = names["active_globals_before"]
    failed = {"error": MISSING, "error_kind": "interpreter", "error_type": "NameError"} if is_missing else {}
    rows: list[Any] = [
        build_row(StepRow, **place, turn=number, code=code, is_parsed=True, state_event="kept", **names, **failed),
        *name_event_rows(parsed, run_id="run", **place, active_globals_before=before),
    ]
    if FETCH in code:
        listed = {"tool": "list_items", "arguments_json": "{}", "result_json": '"[]"'}
        inspected = {"tool": "inspect", "arguments_json": '{"item_id": "a"}', "result_json": '"{}"'}
        rows.append(build_row(ToolCallRow, **place, call=1, **listed))
        rows.append(build_row(ToolCallRow, **place, call=2, **inspected))
    if is_missing:
        error = {"kind": "interpreter", "error_type": "NameError", "message": MISSING, "is_missing_name": True}
        rows.append(build_row(ErrorRow, **place, turn=number, error_index=0, **error))
    return rows


def scripted_rows() -> list[Any]:
    """Return an episode that a script played."""
    rows = played("scripted", "persistent", "persistent", "instance-1")
    return [row.model_copy(update={"base": "teacher"}) if isinstance(row, EpisodeRow) else row for row in rows]


def hostile_rows() -> list[Any]:
    """Return an episode whose texts try to leave their place on a page."""
    markup = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    code = "\n".join(
        [
            f"text = {markup!r}",
            "colour = '\x1b[31mred'",
            "turned = '\u202ecba' + 'שלום'",
            f"long = '{'x' * 1_000_000}'",
        ]
    )
    rows = played("hostile", "persistent", "persistent", "hostile-instance", [code])
    turn = next(row for row in rows if isinstance(row, TurnRow) and row.turn == 1)
    observation = json.dumps({"output": f"{markup} \ud800", "x": "<b onclick='window.hacked = 1'>"})
    rows[rows.index(turn)] = turn.model_copy(update={"observation": observation})
    unseen = f"{markup} \x1b[31m\u202e\u061c"
    call = {"tool": unseen, "arguments_json": "{}", "error_type": "ValueError", "error_message": unseen}
    rows.append(build_row(ToolCallRow, episode_id="hostile", step=1, call=1, **call))
    error = {"kind": "tool", "error_type": "ValueError", "message": f"{unseen}{'y' * 1_500_000}", "is_caught": True}
    rows.append(build_row(ErrorRow, episode_id="hostile", step=1, turn=1, error_index=0, **error))
    ended = {"error_message": f"{unseen}{'z' * 1_500_000}", "model_name": unseen}
    return [row.model_copy(update=ended) if isinstance(row, EpisodeRow) else row for row in rows]


def unread_rows() -> list[Any]:
    """Return an episode whose only block is no Python."""
    return played("unread", "persistent", "persistent", "instance-1", ["x = ("])


def training_rows() -> list[Any]:
    """Return a training of the plan with two examples, one of them rejected, and one of another data set."""
    example = {"dataset_id": "data", "variant": "main", "contract": "persistent"}
    rejected = {"status": "skipped", "reason": "score_too_low", "measured": 0.2, "threshold": 0.5}
    return [
        build_row(TrainingExampleRow, **example, episode_id="pp1", status="retained", token_count=10),
        build_row(TrainingExampleRow, **example, episode_id="pp2", **rejected),
        build_row(TrainingRunRow, training_run_id="r", dataset_id="data", final_loss=0.5, token_count=10),
        build_row(TrainingRunRow, training_run_id="other", dataset_id="other", final_loss=0.5, token_count=10),
        *(build_row(TrainingMetricRow, training_run_id="r", optimizer_step=s, loss=1 / s) for s in (2, 1)),
    ]


CHART = {"xAxis": {"data": ["a", "b"]}, "series": [{"type": "line", "data": [1.0, 2.0]}]}
STATES = {
    "data_intensive": {"expected": {"chart": CHART}, "found": {"chart": {"series": []}}},
    "types": {"expected": {"total": 3, "log": ["a"]}, "found": {"total": "three", "log": ["a"]}},
}
"""Of failed turns: a chart without series, and a total of another type."""


def comparison_rows() -> list[Any]:
    """Return a comparison of suites with three failed turns, one of which kept no state."""
    plan = {"run_id": "cave", "plan_digest": "arms"}
    failed = {**plan, "arm": "json", "question": 1, "finish_reason": "answer", "has_required_calls": True}
    chart = {"suite": "data_intensive", "episode_id": "chart", "wrong_json": '["chart: the chart has no series"]'}
    types = {"suite": "types", "episode_id": "c", "wrong_json": '["total", "not told: done"]'}
    return [
        build_row(RunRow, **plan, flow="compare_arms", plan_json="{}", environment_json="{}"),
        build_row(RunEndRow, run_id="cave", status="finished"),
        *(
            build_row(CaveTurnRow, **failed, **row, state_json=json.dumps(STATES[row["suite"]]))
            for row in (chart, types)
        ),
        build_row(CaveTurnRow, **failed, suite="older", episode_id="before", wrong_json='["x"]', state_json=None),
    ]
