import json
import random
import subprocess
import sys
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.traces.rows import EpisodeRow, StepRow
from carryover.tasks.traces.vocabulary import FinishReason

STEP_COUNT = 1_000_000
STEPS_PER_EPISODE = 10
EPISODES_PER_BUNDLE = 500
CHARACTERS_PER_STEP = 2_500
LARGEST_RATIO = 1.3
LARGEST_GIGABYTES = 4.0

EPISODE = EpisodeRow(
    run_id="run",
    episode_id="",
    plan_digest="plan",
    scale="paper",
    purpose="evaluation",
    variant="main",
    base="hub",
    model_name="model",
    model_digest=None,
    train_contract="persistent",
    runtime_contract="persistent",
    shown_contract="persistent",
    visibility="declared",
    header="names",
    bucket="easy",
    split="evaluation",
    is_out_of_distribution=False,
    instance_id="instance",
    training_seed=0,
    replicate=0,
    attempt=0,
    tool_call_cap=25,
    max_turns=40,
    finish_reason=FinishReason.FINISH_TOOL,
    score=1.0,
    is_solved=True,
    value_taken=1,
    weight_taken=1,
    taken_count=1,
    inspected_count=1,
    turn_count=10,
    step_count=10,
    call_site_count=1,
    executed_call_count=1,
    prompt_tokens=1,
    cached_prompt_tokens=0,
    completion_tokens=1,
    token_source="server",
    training_tokens=None,
    injected_fault_count=0,
    model_seconds=0.1,
    execution_seconds=0.1,
    wall_seconds=0.2,
    started_at=datetime(2026, 1, 1, tzinfo=UTC),
    contract_json="{}",
    sandbox_level="none",
    backend="fork_tree",
    is_contract_verified=True,
    error_message=None,
)
STEP = StepRow(
    run_id="run",
    episode_id="",
    step=1,
    turn=1,
    code="",
    output="",
    result=None,
    error=None,
    error_kind=None,
    error_type=None,
    is_parsed=True,
    import_count=0,
    call_site_count=0,
    executed_call_count=0,
    active_globals_before=(),
    active_globals=("x",),
    last_step_globals=("x",),
    state_event="kept",
    state_hash=None,
    injected_fault=None,
    execution_seconds=0.1,
)


def _land_steps(landing: LandingZone) -> None:
    draw = random.Random(0)
    corpus = " ".join(f"{draw.getrandbits(40):x}" for _ in range(5_000_000))

    def text(length: int) -> str:
        start = draw.randrange(len(corpus) - length)
        return corpus[start : start + length]

    for bundle in range(STEP_COUNT // STEPS_PER_EPISODE // EPISODES_PER_BUNDLE):
        episode_ids = [f"{bundle:06d}-{number:04d}" for number in range(EPISODES_PER_BUNDLE)]
        half = CHARACTERS_PER_STEP // 2
        steps = [
            STEP.model_copy(update={"episode_id": episode_id, "step": step, "code": text(half), "output": text(half)})
            for episode_id, step in product(episode_ids, range(1, STEPS_PER_EPISODE + 1))
        ]
        episodes = [EPISODE.model_copy(update={"episode_id": episode_id}) for episode_id in episode_ids]
        landing.write({"episodes": episodes, "steps": steps}, "run")


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_a_merge_of_a_million_steps_beside_a_bare_insert(tmp_path, keep_figure):
    landing = LandingZone(tmp_path / "landing")
    _land_steps(landing)
    reports: dict[str, list[dict[str, float]]] = {"bare": [], "merge": []}
    for repetition in range(2):
        for kind, runs in reports.items():
            target = tmp_path / f"{kind}_{repetition}.duckdb"
            command = [sys.executable, str(Path(__file__).parent / "insert_once.py"), kind, landing.url, str(target)]
            runs.append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
            for file in tmp_path.glob(f"{kind}_*"):
                file.unlink()
    ratio, processor_ratio = (
        min(run[seconds] for run in reports["merge"]) / min(run[seconds] for run in reports["bare"])
        for seconds in ("insert_seconds", "cpu_seconds")
    )
    peak = max(run["peak_gigabytes"] for run in reports["merge"])
    keep_figure("time to merge 1M steps over a bare insert's", ratio, at_most=LARGEST_RATIO)
    keep_figure("CPU to merge 1M steps over a bare insert's", processor_ratio)
    keep_figure("memory of that merge", peak, "GB", at_most=LARGEST_GIGABYTES)
    assert [run["step_count"] for run in reports["merge"]] == [STEP_COUNT, STEP_COUNT]
    assert peak < LARGEST_GIGABYTES
    assert ratio <= LARGEST_RATIO
