"""The small study of the hand-made warehouse: its cells, and what gives every SQL file a row."""

from typing import Any

from carryover.tasks.traces.result_rows import StatisticRow
from carryover.tasks.traces.rows import EPISODE_TABLES, EpisodeRow, Row
from carryover.tasks.traces.training_rows import TrainingExampleRow, TrainingOverlapRow
from tests.sql.hand_made import PAIR, REPEATING, REUSING
from tests.sql.hand_made_warehouse import HandMade

FIXED = {"comparison_group": "fixed_runtime", "train_a": "persistent", "train_b": "stateless"}
ALIGNED = {"comparison_group": "against_aligned", "train_b": "persistent", "runtime_b": "persistent"}
TOOLS_JSON = '[{"call": "inspect", "arguments": "item_id: str", "returns": "str", "summary": "Show an item."}]'


def add_cells(study: HandMade) -> None:
    """Add two episodes of P->P and of P->S, one of the base model."""
    study.run()
    study.instance("i1")
    study.instance("i2", capacity=40, budget=8)
    study.steps(study.episode("P->P", "i1", 1.0, step_count=3, episode_id="pp1"), REUSING)
    study.steps(study.episode("P->P", "i2", 0.5, step_count=1, episode_id="pp2"), [("ids = list_items()", ["ids"])])
    tokens = {"prompt_tokens": 2700, "completion_tokens": 300}
    mismatched = study.episode("P->S", "i1", 0.6, step_count=3, episode_id="ps1", **tokens)
    study.steps(mismatched, REPEATING)
    study.error(mismatched, 2, "NameError: name 'ids' is not defined")
    tokens = {"prompt_tokens": 3600, "completion_tokens": 400}
    broken = study.episode("P->S", "i2", 0.4, step_count=2, finish_reason="max_turns", episode_id="ps2", **tokens)
    for step in (1, 2):
        study.error(broken, step, "NameError: name 'ids' is not defined")
    study.episode("base->P", "i1", 0.0, episode_id="bp1")


def add_the_rest(study: HandMade) -> None:
    """Add to these cells the stateless adapter, teachers, training sets, a larger bucket, statistics and a claim."""
    _add_stateless_adapter(study)
    _add_teachers(study)
    _add_held_out_bucket(study)
    _add_statistics(study)
    study.run("paper-run", plan_digest="paper plan", scale="paper")
    study.claim(
        paper="arXiv 2603.01209",
        place="abstract",
        claim="3.5x more tokens",
        published="3.5",
        recomputed="2.94",
        tolerance=0.05,
        no_tolerance_reason=None,
        verdict="inconsistent",
        note=None,
    )


def _add_stateless_adapter(study: HandMade) -> None:
    """S->P with a caught error about an item taken twice, S->S with one that tells a class, each of one episode."""
    study.error(
        study.episode("S->P", score=0.5, prompt_tokens=1900, episode_id="sp1"),
        1,
        "already taken",
        "tool",
        is_caught=True,
    )
    study.error(
        study.episode("S->S", score=0.7, prompt_tokens=1400, episode_id="ss1"), 1, "disallowed class 'B'", "tool"
    )


def _add_teachers(study: HandMade) -> None:
    """Both teachers on one instance: the stateless one's trace loops, so that it is no training example."""
    study.instance("t1", split="train")
    values = {"split": "train", "step_count": 3}
    persistent = study.episode(
        "teacher->P", "t1", 1.0, training_tokens=900, injected_fault_count=1, episode_id="tp1", **values
    )
    stateless = study.episode("teacher->S", "t1", 0.5, prompt_tokens=3900, weight_taken=30, episode_id="ts1", **values)
    for episode, blocks in ((persistent, REUSING), (stateless, REPEATING)):
        study.steps(episode, blocks)
    study.example(persistent, "persistent", "retained", token_count=800, sequence_token_count=820, dataset_id="set")
    study.example(stateless, "stateless", "skipped", reason="zombie_loop", dataset_id="set")
    study.add(
        TrainingOverlapRow(
            run_id="run",
            dataset_id="set",
            variant="main",
            contract="persistent",
            other_contract="stateless",
            instance_count=1,
            other_instance_count=0,
            shared_count=0,
        )
    )


def _add_held_out_bucket(study: HandMade) -> None:
    """Two seeds on one instance of a larger bucket; three of four steps of the second one's P->S meet the cap."""
    held_out = {"bucket": "small_large", "is_out_of_distribution": True}
    for seed, mismatched_tokens in ((0, 1500), (1, 2500)):
        study.episode("P->P", "i1", 0.9, training_seed=seed, episode_id=f"pp_large{seed}", **held_out)
        values = {"training_seed": seed, "prompt_tokens": mismatched_tokens - 100, **held_out}
        mismatched = study.episode("P->S", "i1", 0.8, episode_id=f"ps_large{seed}", **values)
        for step in range(1, 1 + 3 * seed):
            study.error(mismatched, step, "Tool call limit exceeded", "cap")


def _add_statistics(study: HandMade) -> None:
    means = {"mean_a": 0.75, "mean_b": 0.5, "estimate": 0.25}
    effects = {"nonzero_count": 2, "statistic": 0.0, "effect_size": 1.0, "effect_size_authors": 1.0}
    study.statistic("wilcoxon", **PAIR, **means, **effects, p_value=0.04, p_holm=0.08)
    study.statistic("wilcoxon", **PAIR, bucket="small_large", nonzero_count=1, estimate=0.1, note="no test: 1 of 2")
    study.statistic("difference", **PAIR, **means, low=0.1, high=0.4)
    study.statistic("equivalence", **PAIR, **means, p_value=0.6, p_holm=1.0, verdict="equivalence not shown")
    study.statistic("power", **PAIR, estimate=0.3)
    study.statistic("mcnemar", **PAIR, metric="is_solved", p_value=0.9, p_holm=0.95)
    study.statistic("mcnemar", **PAIR, metric="has_missing_name", p_value=0.5, p_holm=0.7)
    study.statistic("ratio", **PAIR, metric="total_tokens", estimate=0.29, low=0.25, high=0.33)
    at = {contract: {"runtime_a": contract, "runtime_b": contract} for contract in ("persistent", "stateless")}
    study.statistic("difference", **FIXED, **at["stateless"], metric="has_missing_name", low=0.4, high=1.0)
    study.statistic("difference", **FIXED, **at["persistent"], metric="state_utilization", low=-0.1, high=1.1)
    aligned = {"train_a": "persistent", "runtime_a": "persistent"}
    study.statistic("mean", **aligned, low=0.5, high=1.0)
    study.statistic("mean", **aligned, metric="total_tokens", low=900.0, high=1100.0)
    crossed = {"comparison_group": "train_x_runtime", "metric": "total_tokens", "verdict": "excludes 0"}
    study.statistic("interaction", **crossed, estimate=-3000.0, low=-3500.0, high=-2500.0)
    for train, runtime, ratio in (
        ("persistent", "stateless", 3.5),
        ("stateless", "stateless", 1.5),
        ("stateless", "persistent", 2.0),
    ):
        ends = {"estimate": ratio, "low": ratio - 0.5, "high": ratio + 0.5}
        means = {"mean_a": 1000 * ratio, "mean_b": 1000.0}
        arms = {"train_a": train, "runtime_a": runtime}
        study.statistic("ratio", **ALIGNED, **arms, **means, **ends, metric="total_tokens")


def of_another_plan(row: Row) -> Row | None:
    """Return a row of the study as another plan has it, with other numbers; None if all plans share the row."""
    of_episode = {"episode_id": f"other {getattr(row, 'episode_id', '')}"}
    changed: dict[str, Any]
    match row:
        case EpisodeRow():
            changed = {**of_episode, "plan_digest": "other", "prompt_tokens": 77_777, "score": 0.123, "step_count": 9}
        case TrainingExampleRow():
            changed = {**of_episode, "dataset_id": f"other {row.dataset_id}", "token_count": 77_777}
        case StatisticRow():
            numbers = {"estimate": 77.0, "low": 1.0, "high": 777.0, "p_value": 0.0, "verdict": "zzz", "note": "zzz"}
            changed = {"statistic_id": f"other {row.statistic_id}", "plan_digest": "other", "pair_count": 77, **numbers}
        case _ if type(row) in EPISODE_TABLES:
            changed = of_episode
        case _:
            return None
    return row.model_copy(update=changed)
