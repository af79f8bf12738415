"""The studies of a dose: what they train and play, and what stays as in the laptop plan."""

import pytest

from carryover.tasks.analysis.statistics_spec import LIFETIME_COMPARISONS
from carryover.tasks.knapsack.teachers.habits import draw_habits
from carryover.tasks.plans.dose_studies import batch_parts, lifetime_parts, mixture_parts
from carryover.tasks.plans.hypotheses import read_hypotheses
from carryover.tasks.plans.laptop_full import laptop_part
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.traces.vocabulary import LETTERS
from tests.flattening import flat

BATCHES = {part.name: part for part in batch_parts()}
MIXTURE = {part.name: part for part in mixture_parts()}
LIFETIMES = {part.name: part for part in lifetime_parts()}


def test_each_batch_changes_the_teacher_alone():
    assert len(BATCHES) == 9
    plain = laptop_part()
    for name, part in BATCHES.items():
        batch = name.removeprefix("batch-").rpartition("-")[0]
        habits = draw_habits(part.teacher.habits or {}, "any")
        assert str(habits.taken_per_turn) == batch
        assert habits.inspected_per_turn == 3
        assert part.teacher.model_copy(update={"habits": None}) == plain.teacher
        assert (part.dataset, part.training) == (plain.dataset, plain.training)


def test_the_mixture_has_four_shares_with_and_without_a_declared_contract():
    assert len(MIXTURE) == 24
    for name, part in MIXTURE.items():
        percentage = name.split("-")[1]
        assert part.dataset.other_share == int(percentage) / 100
        is_declared = "undeclared" not in name
        (evaluation,) = part.evaluations
        assert part.teacher.episode.declares_contract == evaluation.episode.declares_contract == is_declared
        assert part.teacher.episode.varies_wording == is_declared


def test_unmixed_and_declared_is_the_laptop_recipe():
    part = MIXTURE["mixture-0-1"]
    plain = laptop_part()
    assert (part.teacher, part.dataset, part.training) == (plain.teacher, plain.dataset, plain.training)


@pytest.mark.parametrize("plan", ["laptop_batches", "laptop_mixture", "laptop_lifetimes"])
def test_seeds_follow_each_other_part_by_part(plan):
    parts = resolve_plan(plan).parts
    seeds = flat(part.training_seeds for part in parts)
    assert seeds == sorted(seeds)
    assert set(seeds) == set(read_hypotheses().protocol.dose_seeds)
    assert {part.evaluations[0].instances.count for part in parts} == {60}


def test_every_lifetime_trains_a_model_that_plays_under_all():
    plain = laptop_part()
    contracts = ("stateless", "recent-1", "recent-3", "persistent")
    assert list(LIFETIMES) == ["lifetimes-1", "lifetimes-2", "lifetimes-3"]
    for part in LIFETIMES.values():
        assert part.teacher == plain.teacher.model_copy(update={"contracts": contracts})
        assert (part.dataset, part.training) == (plain.dataset, plain.training)
        assert [each.runtime_contracts for each in part.evaluations] == [contracts] * 2
        assert [each.visibility for each in part.evaluations] == ["declared", "as_trained"]


def test_lifetimes_are_claimed_beside_each_other():
    claims = [one for one in read_hypotheses().hypothesis if one.variants == ("lifetimes",)]
    compared = {(one.a, one.b) for one in claims if one.b is not None}
    arms = {(f"{_cell(each.a)}", f"{_cell(each.b)}") for each in LIFETIME_COMPARISONS}
    away = {("recent-1->P", "recent-1->recent-1")}
    assert len(claims) == 16
    assert compared <= arms | away


def _cell(arm):
    return f"{LETTERS.get(arm.train, arm.train)}->{LETTERS.get(arm.runtime, arm.runtime)}"


def test_every_claim_on_a_dose_is_about_a_variant_that_is_played():
    variants = {part.variant for part in (*BATCHES.values(), *MIXTURE.values(), *LIFETIMES.values())}
    claimed = {
        variant
        for variant in flat(one.variants for one in read_hypotheses().hypothesis)
        if variant.startswith(("batch", "mixture", "lifetimes"))
    }
    assert claimed <= variants
    assert {"batch-1", "batch-3", "batch-all", "mixture-0", "mixture-10", "mixture-50", "mixture-100"} <= claimed
