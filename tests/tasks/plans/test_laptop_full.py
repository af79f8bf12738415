import pytest

from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.plans.laptop_full import (
    BINDING_CAP,
    MAX_TURNS,
    REPLICATES,
    UNTRAINED_TURNS,
    laptop_full_parts,
    laptop_part,
)
from carryover.tasks.plans.seeds import EVALUATION_SEEDS, TRAIN_SEED
from carryover.tasks.plans.shards import REPLY_SECONDS
from carryover.tasks.plans.study_plan import OwnBaseSpec
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS
from tests.flattening import flat

PARTS = {part.name: part for part in laptop_full_parts()}


def evaluations(part):
    return [(one.instances.bucket, one.visibility, one.variant) for one in part.evaluations]


def test_each_main_seed_covers_both_visibilities_and_distributions():
    for base in ("scratch", "common"):
        for seed in (1, 2, 3):
            part = PARTS[f"{base}-{seed}"]
            assert (part.base, part.variant, part.training_seeds) == (base, "main", (seed,))
            assert evaluations(part) == [
                ("small", "declared", None),
                ("small", "as_trained", None),
                ("small_large", "declared", None),
                ("small_large", "as_trained", None),
            ]


def test_seeds_differ_in_the_seed_alone():
    first = PARTS["scratch-1"]
    assert PARTS["scratch-3"] == first.model_copy(update={"name": "scratch-3", "training_seeds": (3,)})


@pytest.mark.parametrize("base", ["scratch", "common"])
def test_added_seeds_play_the_main_setting_alone(base):
    first = PARTS[f"{base}-1"]
    main = first.evaluations[0].model_copy(update={"has_base_rows": False})
    for seed in range(4, 9):
        changes = {"name": f"{base}-{seed}", "training_seeds": (seed,), "evaluations": (main,)}
        assert PARTS[f"{base}-{seed}"] == first.model_copy(update=changes)


def test_the_first_seed_s_models_play_other_rules():
    rules, first = PARTS["scratch-rules"], PARTS["scratch-1"]
    changed = {name for name in type(rules).model_fields if getattr(rules, name) != getattr(first, name)}
    assert changed == {"name", "evaluations"}
    assert [(one.variant, one.replicates, one.header, one.has_trained_rows) for one in rules.evaluations] == [
        (None, 1, "names", False),
        (None, 1, "names", False),
        ("header-none", 1, "none", True),
        ("cap-binding", 1, "names", True),
    ]


def test_the_a_a_control_plays_pairs_of_replicates():
    again, first = PARTS["a-a"], PARTS["scratch-1"]
    (played,), declared = again.evaluations, first.evaluations[0]
    assert again == first.model_copy(update={"name": "a-a", "evaluations": (played,)})
    assert played == declared.model_copy(update={"variant": "a-a", "replicates": REPLICATES})
    assert REPLICATES % 2 == 0


def test_the_untrained_base_plays_the_same_instances_in_few_turns():
    trained, untrained = laptop_part().evaluations
    assert untrained.instances == trained.instances
    assert untrained.episode.max_turns == UNTRAINED_TURNS
    assert (trained.has_trained_rows, trained.has_base_rows) == (True, False)
    assert (untrained.has_trained_rows, untrained.has_base_rows) == (False, True)


def test_turns_rather_than_a_busy_machine_end_every_episode():
    longest = EndpointSpec.model_fields["request_timeout_seconds"].default
    for part in PARTS.values():
        for episode in (part.teacher.episode, *(one.episode for one in part.evaluations)):
            assert episode.timeout_seconds >= 12 * longest, part.name
            assert episode.timeout_seconds >= 2 * REPLY_SECONDS, part.name


def test_no_evaluation_injects_faults_or_varies_its_wording():
    for part in PARTS.values():
        for one in part.evaluations:
            assert one.episode.faults is None, part.name
            assert not one.episode.varies_wording, part.name


def test_larger_instances_have_twice_the_turns_of_the_recipe():
    turns = {
        (one.instances.bucket, one.episode.max_turns)
        for one in flat(part.evaluations for part in PARTS.values())
        if one.has_trained_rows
    }
    assert turns == {("small", MAX_TURNS), ("small_costly", MAX_TURNS), ("small_large", 2 * MAX_TURNS)}
    assert (MAX_TURNS, 2 * MAX_TURNS) == (24, 48)


def test_every_ablation_changes_one_thing_and_uses_one_seed():
    plain = laptop_part(training_seeds=(1,), evaluations=PARTS["no-faults"].evaluations)
    names = set(PARTS) - {"scratch-rules", "a-a", "costly", "both", "both-quarter-adapter", "both-sixteenth-adapter"}
    for name in (name for name in names if not name[-1].isdigit()):
        part = PARTS[name]
        changed = {field for field in type(part).model_fields if getattr(part, field) != getattr(plain, field)}
        assert len(changed - {"name", "variant"}) == 1, name
        assert part.variant == name


def test_the_shuffled_control_draws_its_halves_nine_times():
    controls = [PARTS[f"shuffled-labels-{seed}"] for seed in range(1, 10)]
    for seed, part in enumerate(controls, 1):
        plain = laptop_part(training_seeds=(seed,), evaluations=PARTS["no-faults"].evaluations)
        shuffled = plain.dataset.model_copy(update={"labels": "shuffled", "shuffle_seed": seed})
        changes = {"name": part.name, "variant": "shuffled-labels", "dataset": shuffled}
        assert part == plain.model_copy(update=changes)


def test_the_common_base_knows_no_contract_and_plays_too():
    common, scratch = PARTS["common-1"], PARTS["scratch-1"]
    assert common.own_base is not None
    assert common.own_base.corpus == "plain"
    assert common.training.method == "lora"
    assert (common.teacher, common.dataset) == (scratch.teacher, scratch.dataset)
    assert [one.has_base_rows for one in common.evaluations] == [True, False, True, False]


def test_the_base_of_both_contracts_is_adapted_in_three_doses():
    whole = PARTS["both"]
    for dose, divisor in (("quarter", 4), ("sixteenth", 16)):
        less = PARTS[f"both-{dose}-adapter"]
        assert less.training == whole.training.model_copy(update={"epochs": whole.training.epochs / divisor})
        changed = {field for field in type(less).model_fields if getattr(less, field) != getattr(whole, field)}
        assert changed == {"name", "variant", "training", "evaluations"}
        alone = [one.model_copy(update={"has_base_rows": False}) for one in whole.evaluations]
        assert list(less.evaluations) == alone
    assert [one.has_base_rows for one in whole.evaluations] == [True]


def test_a_base_that_is_trained_here_says_how():
    with pytest.raises(ValueError, match="common and both need own_base, others none"):
        laptop_part(base="common")
    with pytest.raises(ValueError, match="corpus 'plain' needs instances, others none"):
        OwnBaseSpec(corpus="plain", training=laptop_part().training)


def test_the_costly_instances_are_trained_on_and_judged_by_themselves():
    costly = PARTS["costly"]
    assert {costly.train_instances.bucket, *(one.instances.bucket for one in costly.evaluations)} == {"small_costly"}
    assert costly.training == laptop_part().training


def test_an_ablation_of_the_teacher_changes_one_field_of_it():
    plain = laptop_part().teacher
    for name, change in (("no-faults", {"faults": None}), ("no-variation", {"varies_wording": False})):
        episode = plain.episode.model_copy(update=change)
        assert PARTS[name].teacher == plain.model_copy(update={"episode": episode}), name
        assert episode != plain.episode
    assert PARTS["no-table"].teacher == plain.model_copy(update={"prints_table": False})
    assert plain.prints_table


@pytest.mark.parametrize(("name", "divisor"), [("half-training", 2), ("quarter-training", 4)])
def test_an_ablation_of_the_training_changes_its_passes_alone(name, divisor):
    plain = laptop_part().training
    assert PARTS[name].training == plain.model_copy(update={"epochs": plain.epochs / divisor})


def test_training_and_evaluation_share_no_seed_and_neither_do_buckets():
    own_base = PARTS["common-1"].own_base
    assert own_base is not None
    assert own_base.instances is not None
    used = [range(TRAIN_SEED, TRAIN_SEED + 1000), own_base.instances.seeds]
    firsts = [seed for bucket, seed in EVALUATION_SEEDS.items() if bucket.startswith("small")]
    used += [range(seed, seed + 100) for seed in firsts]
    assert len(set(flat(used))) == 1000 + 1500 + 300


def test_the_cap_binds_under_its_own_variant_only():
    for part in PARTS.values():
        for one in part.evaluations:
            # list, inspect and try to take every item of the largest instance, finish
            most_calls = 2 * KNAPSACK[one.instances.bucket].item_count[1] + 3
            cap = one.episode.tool_call_cap
            assert cap is not None
            if one.variant == "cap-binding":
                assert cap == BINDING_CAP < most_calls
            else:
                assert cap >= most_calls, (part.name, one.instances.bucket)


def test_the_binding_cap_allows_inspecting_the_largest_list():
    assert 1 + KNAPSACK["small"].item_count[1] <= BINDING_CAP


def test_arms_match_in_training_tokens_and_loops_are_allowed():
    part = laptop_part()
    assert part.dataset.matching == "tokens"
    assert part.validation.maximum_loop_similarity == 1.0
    assert part.teacher.contracts == part.evaluations[0].runtime_contracts == PAPER_CONTRACTS
