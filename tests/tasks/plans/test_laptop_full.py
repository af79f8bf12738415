import pytest

from tasks.knapsack.spec import KNAPSACK
from tasks.plans.laptop_full import (
    BINDING_CAP,
    EVALUATION_SEEDS,
    TRAIN_SEED,
    UNTRAINED_TURNS,
    laptop_full_parts,
    laptop_part,
)
from tasks.plans.models import RUNTIME_CONTRACTS
from tasks.plans.spec import OwnBaseSpec

ALL = list(laptop_full_parts())
PARTS = {part.variant: part for part in ALL if part.base == "scratch"}
BASED = {(part.base, part.variant): part for part in ALL if part.base != "scratch"}


def test_the_study_itself_covers_both_visibilities_in_and_out_of_distribution():
    main = PARTS["main"]
    assert main.training_seeds == (1, 2, 3)
    assert [(one.instances.bucket, one.visibility) for one in main.evaluations] == [
        ("small", "declared"),
        ("small", "as_trained"),
        ("small_large", "declared"),
        ("small_large", "as_trained"),
        ("small", "declared"),
        ("small_large", "declared"),
    ]


def test_the_untrained_base_plays_the_same_instances_in_few_turns():
    trained, untrained = laptop_part().evaluations
    assert untrained.instances == trained.instances
    assert untrained.episode.max_turns == UNTRAINED_TURNS
    assert (trained.has_trained_rows, trained.has_base_rows) == (True, False)
    assert (untrained.has_trained_rows, untrained.has_base_rows) == (False, True)


def test_every_other_part_changes_one_thing_and_uses_one_seed():
    plain = laptop_part(training_seeds=(1,), evaluations=PARTS["no-faults"].evaluations)
    for variant, part in PARTS.items():
        if variant in ("main", "costly"):
            continue
        changed = {name for name in type(part).model_fields if getattr(part, name) != getattr(plain, name)}
        assert len(changed - {"variant"}) == 1, variant
        assert part.training_seeds == (1,)


def test_no_two_parts_share_base_and_variant():
    assert len({(part.base, part.variant) for part in ALL}) == len(ALL)


def test_the_common_base_is_trained_on_no_contract_and_covers_what_the_scratch_models_cover():
    common = BASED["common", "main"]
    assert common.own_base is not None
    assert common.own_base.corpus == "plain"
    assert common.training.method == "lora"
    assert common.training_seeds == (1, 2, 3)
    assert [one.instances for one in common.evaluations] == [one.instances for one in PARTS["main"].evaluations[:4]]
    assert common.teacher == PARTS["main"].teacher
    assert common.dataset == PARTS["main"].dataset


def test_the_base_of_both_contracts_is_adapted_more_and_less():
    fewer, more = BASED["both", "quarter-adapter"], BASED["both", "main"]
    assert fewer.own_base == more.own_base
    assert fewer.training.epochs == more.training.epochs / 4


def test_a_base_that_is_trained_here_says_how():
    with pytest.raises(ValueError, match="give own_base exactly for common and both"):
        laptop_part(base="common")
    with pytest.raises(ValueError, match="give instances exactly for corpus 'plain'"):
        OwnBaseSpec(corpus="plain", training=laptop_part().training)


def test_the_costly_instances_are_trained_on_and_judged_by_themselves():
    costly = PARTS["costly"]
    assert {costly.train_instances.bucket, *(one.instances.bucket for one in costly.evaluations)} == {"small_costly"}
    assert costly.training == laptop_part().training


def test_an_ablation_of_the_teacher_changes_one_field_of_it():
    plain = laptop_part().teacher
    assert PARTS["no-faults"].teacher.episode.faults is None
    assert not PARTS["no-variation"].teacher.episode.varies_wording
    assert not PARTS["no-table"].teacher.prints_table
    assert PARTS["no-table"].teacher.episode == plain.episode


def test_training_and_evaluation_share_no_seed_and_neither_do_buckets():
    used = [range(TRAIN_SEED, TRAIN_SEED + 1000), *(range(seed, seed + 100) for seed in EVALUATION_SEEDS.values())]
    assert len({seed for seeds in used for seed in seeds}) == 1300


def test_the_cap_binds_in_its_own_ablation_only():
    most_calls = 2 * KNAPSACK["small"].item_count[1] + 3  # list, inspect and try to take every item, finish
    caps = {variant: part.evaluations[0].episode.tool_call_cap for variant, part in PARTS.items()}
    assert caps.pop("cap-binding") == BINDING_CAP < most_calls
    assert set(caps.values()) == {most_calls}


def test_the_binding_cap_leaves_room_for_the_largest_list_to_be_inspected():
    assert 1 + KNAPSACK["small"].item_count[1] <= BINDING_CAP


def test_arms_are_matched_by_training_tokens_and_loops_are_not_rejected():
    part = laptop_part()
    assert part.dataset.matching == "tokens"
    assert part.validation.maximum_loop_similarity == 1.0
    assert set(part.teacher.contracts) == set(RUNTIME_CONTRACTS)
