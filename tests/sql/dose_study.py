"""Plans of doses, scripts and four contracts, several settings each, for the exact rows of their tables."""

import json
from itertools import product
from typing import Any

from carryover.tasks.traces.study_rows import PlanStageRow
from carryover.tasks.traces.training_rows import PolicyUpdateRow
from tests.sql.hand_made import REUSING
from tests.sql.hand_made_warehouse import HandMade
from tests.storage.conftest import build_row

LOST = "NameError: name 'ids' is not defined"
CONTRACTS = {"P": "persistent", "S": "stateless", "I": "injected", "IP": "injected+persistent"}
Values = dict[str, Any]
SCRIPT: Values = {"base": "teacher", "training_seed": None}
ELSEWHERE: tuple[Values, ...] = ({"visibility": "as_trained"}, {"header": "none"}, {"bucket": "large"})
"""Settings beside the declared small one."""


def play(study: HandMade, cell: str, tokens: int, *, missed: int = 0, longer: int = 0, **values: Any) -> None:
    """Add three episodes of a cell, each with more missing names; the third is four times as long and does not end."""
    for number, (factor, score) in enumerate(((1, 0.9), (1, 0.6), (4, 0.0))):
        ended = "max_turns" if factor == 4 else "finish_tool"
        steps = 4 + factor * (1 + longer)
        spent: Values = {"prompt_tokens": factor * tokens - 10, "completion_tokens": 10, "step_count": steps}
        episode = study.episode(cell, f"i{number}", score, **spent, finish_reason=ended, **values)
        for step in range(1, 1 + missed * number):
            study.error(episode, step, LOST)


def intervals(study: HandMade, analysis: str, estimate: float, **values: Any) -> None:
    """Add an estimate with two intervals, of which that over the seeds is wider, and one that no table prints."""
    told: Values = {"metric": "total_tokens", **values}
    study.statistic(analysis, estimate=estimate, low=0.9 * estimate, high=1.1 * estimate, **told)
    over_seeds: Values = {"interval_kind": "t over seeds", "low": 0.25 * estimate, "high": 1.5 * estimate}
    study.statistic(analysis, estimate=estimate - 1, **over_seeds, **told)
    study.statistic(analysis, estimate=estimate, low=0.0, high=999.0, **{**told, "interval_kind": "BCa"})
    study.statistic(analysis, estimate=77.0, low=0.0, high=999.0, **{**told, "metric": "score"})


def against_aligned(cell: str) -> Values:
    """Return the names of a cell's comparison with P->P."""
    train, runtime = cell.split("->")
    arms = {"train_a": CONTRACTS[train], "runtime_a": CONTRACTS[runtime]}
    return {"comparison_group": "against_aligned", **arms, "train_b": "persistent", "runtime_b": "persistent"}


def add_batches(study: HandMade) -> None:
    for number, batch in enumerate(("all", 10, 3)):
        habits = json.dumps({"taken_per_turn": batch})
        place: Values = {"plan_digest": "batches", "variant": f"batch-{batch}"}
        for base, tokens in (("scratch", 1000), ("common", 2000)):
            for cell, factor in (("P->S", 3), ("P->P", 1)):
                play(study, cell, factor * (tokens + number), missed=factor - 1, base=base, **place)
        for cell, factor in (("P->S", 2), ("P->P", 1)):
            play(study, cell, factor * 500, habits_json=habits, **place, **SCRIPT)
        crossed: Values = {"comparison_group": "train_x_runtime"}
        intervals(study, "interaction_ratio", 2.0 + number, **place, **crossed)
        intervals(study, "interaction_ratio", 3.0 + number, base="teacher", **place, **crossed)
        intervals(study, "interaction", 55.0, **place, **crossed)
        arms: Values = {"train_a": "persistent", "runtime_a": "stateless"}
        intervals(study, "trained_minus_script", 50.0 + number, **place, **arms)
    for number, values in enumerate(ELSEWHERE):
        place: Values = {"plan_digest": "batches", "variant": "batch-3", **values}
        play(study, "P->P", 700 + 100 * number, **place)
        play(study, "P->S", 700, **place)
        aligned = {"train_a": "persistent", "runtime_a": "persistent", "train_b": "persistent"}
        intervals(study, "trained_minus_script", 60.0, **place, **aligned)
        intervals(study, "interaction_ratio", 60.0, **place, comparison_group="train_x_runtime")
    of_three: Values = {"plan_digest": "batches", "variant": "batch-3"}
    play(study, "base->P", 700, **of_three)
    play(study, "P->P", 700, plan_digest="batches", variant="of no batch")


def add_mixture(study: HandMade) -> None:
    place: Values = {"plan_digest": "mixture"}
    for share, is_declared in ((0.5, True), (0.0, True), (0.25, False), (0.0, False)):
        variant = f"mixture-{share}-{is_declared}"
        contract = json.dumps({} if is_declared else {"declares_contract": False})
        shown: Values = {**place, "variant": variant, "contract_json": contract}
        for base in ("scratch", "common"):
            for cell, factor in (("P->S", 2), ("P->P", 1)):
                play(study, cell, int(factor * (1000 + 2000 * share)), missed=factor - 1, base=base, **shown)
        play(study, "P->P", 100, **shown, **SCRIPT)
        play(study, "base->P", 100, **shown)
        for teacher in ("t1", "t2"):
            example = study.episode("teacher->P", teacher, 1.0, **place, variant=variant)
            study.example(example, "persistent", "retained", variant=variant, other_share=share)
            study.example(example, "persistent", "retained", dataset_id="of none", variant=variant)
        means: Values = {"train_a": "persistent", "runtime_a": "stateless", "variant": variant, **place}
        intervals(study, "mean", 2000.0, **means)
    for values in ELSEWHERE:
        for cell in ("P->P", "P->S"):
            play(study, cell, 700, **place, variant="mixture-0.0-True", **values)
    play(study, "P->P", 100, **place, variant="unmixed")


LIFETIMES = {"S": "block", "recent-1": "recent:1", "recent-10": "recent:10", "P": "episode", "recent-3": "recent:3"}


def add_lifetimes(study: HandMade) -> None:
    place: Values = {"plan_digest": "lifetimes", "variant": "lifetimes"}
    for number, (train, runtime) in enumerate(
        [("P", "P"), ("P", "recent-1"), ("recent-10", "P"), ("recent-10", "recent-10"), ("recent-3", "S"), ("S", "S")]
    ):
        contract = json.dumps({"contract": {"lifetime": LIFETIMES[runtime]}})
        for base in ("scratch", "common"):
            values: Values = {"base": base, "contract_json": contract, "missed": number % 2}
            play(study, f"{train}->{runtime}", 1000 + 100 * number, **values, **place)
        play(study, f"{train}->{runtime}", 500, contract_json=contract, **place, **SCRIPT)
    mine = json.dumps({"contract": {"lifetime": "mine"}})
    play(study, "mine->mine", 500, contract_json=mine, **place)
    for metric in ("total_tokens", "has_missing_name", "missing_name_count"):
        means: Values = {"train_a": "persistent", "runtime_a": "recent-1", "metric": metric, **place}
        study.statistic("mean", low=0.25, high=0.75, **means)
    for values in ELSEWHERE:
        for cell in ("S->S", "P->S"):
            play(study, cell, 700, contract_json=json.dumps({"contract": {"lifetime": "block"}}), **place, **values)


def add_contracts(study: HandMade) -> None:
    place: Values = {"plan_digest": "contracts"}
    for base in ("scratch", "common"):
        for cell in ("IP->P", "I->S", "P->IP", "P->I", "S->P", "P->S", "P->P", "base->I", "I->IP"):
            play(study, cell, 1000 + 100 * len(cell), missed=int(cell == "I->S"), base=base, **place)
    for values, cell in product(ELSEWHERE, ("P->I", "S->P")):
        play(study, cell, 700, **place, **values)
    play(study, "P->P", 700, **place, variant="two contracts")
    play(study, "P->I", 700, **place, variant="another")
    play(study, "P->I", 700, **place, **SCRIPT)
    for metric in ("total_tokens", "score", "is_solved", "has_missing_name", "missing_name_count"):
        means: Values = {"train_a": "persistent", "runtime_a": "injected", "metric": metric, **place}
        study.statistic("mean", low=0.25, high=0.75, **means)
    pairs = [
        ("P->I", "P->S"),
        ("S->I", "S->S"),
        ("P->IP", "P->P"),
        ("I->I", "I->I"),
        ("IP->IP", "S->S"),
        ("I->I", "I->S"),
    ]
    for visibility in ("declared", "as_trained"):
        for number, (cell, against) in enumerate(pairs):
            (train_a, runtime_a), (train_b, runtime_b) = cell.split("->"), against.split("->")
            a = {"train_a": CONTRACTS[train_a], "runtime_a": CONTRACTS[runtime_a]}
            b = {"train_b": CONTRACTS[train_b], "runtime_b": CONTRACTS[runtime_b]}
            told: Values = {"comparison_group": "injection", "visibility": visibility, **a, **b, **place}
            contrast(study, number, **told)
            contrast(study, number, **{**told, "bucket": "without an episode"})


def contrast(study: HandMade, number: int, **values: Any) -> None:
    """Add the statistics of one contrast of the injection, and two that its table does not print."""
    for kind, pairs in (("percentile", 2 + number), ("t over seeds", 9), ("BCa", 99)):
        told: Values = {"interval_kind": kind, "pair_count": pairs, **values}
        for analysis, metric, estimate in (
            ("ratio", "total_tokens", 2.0),
            ("difference", "score", 0.25),
            ("difference", "has_missing_name", 0.5),
            ("difference", "total_tokens", 77.0),
            ("ratio", "score", 77.0),
        ):
            ends = {"low": estimate - 0.125, "high": estimate + 0.25}
            study.statistic(analysis, metric=metric, estimate=estimate, **ends, **told)


def add_scripts(study: HandMade) -> None:
    place: Values = {"plan_digest": "scripts"}
    cells = {"P->P": 1000, "P->S": 3000, "S->P": 1500, "S->S": 2000}
    for base in ("both", "common", "scratch", "new base"):
        for seed in (1, 0):
            for cell, tokens in cells.items():
                spent = tokens * (1 + seed) + len(base)
                missed = 2 if cell == "P->S" else int(cell == "S->S")
                play(study, cell, spent, missed=missed, base=base, training_seed=seed, **place)
    for cell, tokens in cells.items():
        play(study, cell, tokens - 100, missed=2 if cell == "P->S" else 0, **place, **SCRIPT)
    for values in ELSEWHERE:
        play(study, "P->S", 700, **place, **values)
        play(study, "P->P", 600, **place, **values)
        play(study, "P->P", 500, **place, **values, **SCRIPT)
    for variant in ("a variant", "main"):
        play(study, "P->P", 700, **place, variant=variant, replicate=1)
    for cell, seed in (("P->P", 1), ("P->S", 1), ("P->S", 0)):
        play(study, cell, 800, **place, variant="a variant", training_seed=seed)
    for base in ("common", "scratch", "teacher"):
        told: Values = {**place, "base": base}
        intervals(study, "interaction_ratio", 4.0, **told, comparison_group="train_x_runtime")
        for number, cell in enumerate(("P->S", "S->P", "S->S")):
            intervals(study, "ratio", 6.0 + number, **told, **against_aligned(cell))
            arms = against_aligned(cell) | {"comparison_group": "trained_vs_script"}
            intervals(study, "trained_minus_script", 50.0 + number, **told, **arms)


def add_control(study: HandMade) -> None:
    """Add cells beside scripts that step otherwise, and what no script stands beside."""
    place: Values = {"plan_digest": "control"}
    for base, cell, tokens, missed in (
        ("scratch", "P->P", 900, 0),
        ("common", "P->P", 1000, 0),
        ("common", "P->S", 3000, 2),
    ):
        play(study, cell, tokens, missed=missed, base=base, **place)
    play(study, "P->P", 800, **place, **SCRIPT)
    play(study, "P->S", 1600, missed=1, longer=1, **place, **SCRIPT)
    for base, seed in (("common", 0), ("teacher", None)):
        told: Values = {"base": base, "training_seed": seed, **place}
        study.episode("P->S", "unscored", None, **told)
        study.steps(study.episode("P->S", "stepped", 0.5, **told), REUSING)
        study.episode("P->S", "failed", 0.1, finish_reason="error", **told)
        study.episode("P->S", "elsewhere", 0.1, **{**told, "plan_digest": "other"})
    play(study, "P->S", 700, replicate=1, **place)
    play(study, "S->S", 700, **place)
    another: Values = {"variant": "a variant"}
    for values in (*ELSEWHERE, another):
        play(study, "P->P", 600, **place, **values)
        play(study, "P->P", 500, **place, **values, **SCRIPT)
    arms: Values = {"train_a": "persistent", "runtime_a": "stateless", "comparison_group": "trained_vs_script"}
    intervals(study, "trained_minus_script", 50.0, **place, **arms)
    intervals(study, "interaction_ratio", 50.0, **place, **arms)
    intervals(study, "trained_minus_script", 60.0, **{**place, "plan_digest": "other"}, **arms)


def add_reinforcements(study: HandMade) -> None:
    """Two trainings of the plan that learn at their third update and never, and one of another plan."""
    for plan, stage, contract, seed, missed in (
        ("reinforced", "reinforcement", "stateless", 0, (0.0, 0.06, 0.04, 0.08, 0.02)),
        ("reinforced", "reinforcement", "persistent", 1, (1.0, 0.5, 0.06)),
        ("reinforced", "reinforcement", "persistent", 0, (0.2, 0.0, 0.1)),
        ("reinforced", "training", "persistent", 2, (0.2, 0.0, 0.1)),
        ("other", "reinforcement", "persistent", 3, (0.2, 0.0, 0.1)),
    ):
        name = f"rl-{contract}-{seed}"
        told: Values = {"plan_digest": plan, "stage": stage, "name": name, "stage_digest": "abc"}
        study.add(build_row(PlanStageRow, **told, result_json="{}"))
        for number, share in reversed(list(enumerate(missed, start=1))):
            trained = {"train_contract": contract, "runtime_contract": "stateless", "training_seed": seed}
            means = {"mean_score": number / 10, "mean_reply_count": 10 - number, "mean_tokens": 1000 / number}
            place: Values = {"reinforcement_id": f"{name}-abc", "policy_update": number, "episode_count": 30 + number}
            study.add(build_row(PolicyUpdateRow, **place, **trained, missed_share=share, **means))
