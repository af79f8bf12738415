import pytest
from pydantic import ValidationError

from carryover.tasks.knapsack.knapsack_spec import open_bucket
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import EPISODE_TOKENS, PLANS
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.seeds import PLAIN_SEED
from carryover.tasks.plans.study_plan import StudyPlan
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.limits import Prices
from tests.flattening import flat

SMOKE, PAPER = resolve_plan("smoke"), resolve_plan("paper")


def test_the_paper_trains_on_1900_and_evaluates_on_100():
    counts = [(one.bucket, one.split, one.count) for one in PAPER.instance_sets()]
    assert counts == [("easy", "train", 1900), ("easy", "evaluation", 100), ("hard", "evaluation", 100)]


def test_the_paper_evaluates_its_base_beside_one_model_per_contract():
    (part,) = PAPER.parts
    assert part.teacher.contracts == ("persistent", "stateless")
    assert part.training_seeds == (3407,)
    assert [(one.has_base_rows, one.has_trained_rows, one.replicates) for one in part.evaluations] == [
        (True, True, 1),
        (True, True, 1),
    ]


def test_the_paper_requires_a_sandbox_without_host_files():
    assert PAPER.runtime.require_sandbox == "landlock+seccomp"


def test_the_rules_of_an_episode_are_those_of_the_paper():
    (part,) = PAPER.parts
    for evaluation in part.evaluations:
        assert (evaluation.episode.max_turns, evaluation.episode.tool_call_cap) == (40, 25)
        assert evaluation.episode.temperature == 0.2


def test_tokens_rather_than_time_end_the_paper_s_episodes():
    (part,) = PAPER.parts
    for episode in (part.teacher.episode, *(evaluation.episode for evaluation in part.evaluations)):
        assert episode.max_tokens == EPISODE_TOKENS
        assert episode.timeout_seconds > 900


def instance_sets(name):
    """Return every instance set of a plan, those of a base's corpus too."""
    plan = resolve_plan(name)
    bases = [part.own_base for part in plan.parts if part.own_base is not None]
    return plan.instance_sets() + list({base.instances: None for base in bases if base.instances is not None})


def test_the_common_base_s_corpus_is_a_checked_set():
    (corpus,) = set(instance_sets("laptop_full")) - set(resolve_plan("laptop_full").instance_sets())
    assert (corpus.split, corpus.first_seed) == ("train", PLAIN_SEED)


@pytest.mark.parametrize("name", PLANS)
def test_no_seed_of_training_is_one_of_evaluation(name):
    sets = instance_sets(name)
    training = set(flat(one.seeds for one in sets if one.split == "train"))
    evaluation = [one.seeds for one in sets if one.split == "evaluation"]
    assert training
    assert evaluation
    assert not any(training.intersection(seeds) for seeds in evaluation)


@pytest.mark.parametrize("name", ["smoke", "laptop", "paper"])
def test_no_instance_of_training_is_one_of_evaluation(name):
    ids = {"train": set(), "evaluation": set()}
    for one in resolve_plan(name).instance_sets():
        ids[one.split] |= {sample_instance(open_bucket(one.bucket), seed).instance_id for seed in one.seeds}
    assert not ids["train"] & ids["evaluation"]


def test_the_laptop_study_has_one_seed_and_100_instances():
    (part,) = resolve_plan("laptop").parts
    assert len(part.training_seeds) == 1
    assert {(one.instances.bucket, one.instances.count) for one in part.evaluations} == {("small", 100)}
    assert part.train_instances.bucket == "small"


def test_every_plan_knows_its_own_name_and_survives_json():
    for name in PLANS:
        plan = resolve_plan(name)
        assert plan.name == name
        assert StudyPlan.model_validate_json(plan.model_dump_json()).digest == plan.digest


def test_equal_plans_have_equal_digests_and_a_digest_is_short():
    again = resolve_plan("smoke", Overrides()).model_copy(update={"source": SMOKE.source})
    assert again.digest == SMOKE.digest
    assert len(SMOKE.digest) == 16


def test_the_digest_follows_source_and_every_field():
    digests = {
        SMOKE.digest,
        PAPER.digest,
        SMOKE.model_copy(update={"source": "another"}).digest,
        resolve_plan("smoke", Overrides(train_count=41)).digest,
        resolve_plan("smoke", Overrides(backend="jupyter")).digest,
        resolve_plan("smoke", Overrides(tool_call_caps=(80,))).digest,
    }
    assert len(digests) == 6


def test_an_unknown_plan_is_named_with_the_choices():
    with pytest.raises(UserError, match=f"unknown plan 'huge'; choose from {', '.join(PLANS)}$"):
        resolve_plan("huge")


def test_a_cost_that_no_price_can_reach_is_refused():
    with pytest.raises(ValidationError, match=r"max_cost 5\.0 can never be reached without prices"):
        Limits(max_cost=5.0)
    with pytest.raises(ValidationError, match=r"can never be reached without prices"):
        Limits(max_cost=5.0, prices=Prices(cached_prompt=0.0))
    assert Limits(max_cost=5.0, prices=Prices(completion=1.0)).max_cost == 5.0


def test_parts_of_one_name_are_refused():
    plan = resolve_plan("laptop")
    with pytest.raises(ValueError, match="parts of plan 'laptop' share a name: main, main"):
        StudyPlan.model_validate(plan.model_dump() | {"parts": (plan.parts[0], plan.parts[0])})


DIGESTS = {
    "smoke": "79c4b62dc611ace6",
    "smoke_injected": "8572205274cb9526",
    "laptop": "8fa5189af9800340",
    "laptop_full": "d7d782ce1add9114",
    "laptop_injected": "7c1e3f3b9955b4d3",
    "laptop_injected_control": "f3d69efce517b210",
    "laptop_batches": "b8063e7d192a3100",
    "laptop_mixture": "a6a97758fe027fb6",
    "laptop_lifetimes": "00b8d2d7e15cbc13",
    "laptop_rl": "71da86e8baa33da6",
    "smoke_rl": "ff386bae793af062",
    "pretrained": "3d8032383b84d703",
    "paper": "fbf97b9fe245f0c3",
    "paper_injected": "e7935a6bbfe372dd",
}
"""Digests of the presets without a source: rows that were kept name what these hold."""


def test_a_preset_is_the_plan_that_rows_were_kept_of():
    """A new setting stays out of the dump at its default; another value is another plan, and its digest stands here."""
    assert {name: plan("").digest for name, plan in PLANS.items()} == DIGESTS
