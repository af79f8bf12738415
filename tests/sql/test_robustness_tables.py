"""What the token ratios and the interaction rest on: looping episodes, and the chance in a training; exact rows."""

from tests.sql.hand_made import GROUP, OURS


def play(warehouse, cell, tokens, **values):
    for position, total in enumerate(tokens):
        warehouse.episode(cell, f"i{position}", prompt_tokens=total - 100, completion_tokens=100, **values)


def test_episodes_of_another_seed_or_plan_are_no_pair(warehouse):
    play(warehouse, "P->P", [1000])
    play(warehouse, "S->P", [2000], training_seed=1)
    play(warehouse, "S->S", [2000], plan_digest="other")
    assert warehouse.table("token_sensitivity") == []


def test_imported_episodes_without_a_training_seed_are_pairs(warehouse):
    play(warehouse, "P->P", [1000], training_seed=None)
    play(warehouse, "S->P", [2000], training_seed=None)
    (row,) = warehouse.table("token_sensitivity")
    assert (row["pair_count"], row["ratio_of_all"]) == (1, 2.0)


def test_one_endless_episode_moves_means_and_no_median(warehouse):
    play(warehouse, "P->P", [1000, 1000, 1000], score=1.0)
    play(warehouse, "P->S", [2000, 2000], score=0.9)
    warehouse.episode("P->S", "i2", prompt_tokens=25_900, completion_tokens=100, score=0.0, finish_reason="max_turns")
    (ratios,) = warehouse.table("token_sensitivity")
    assert (ratios["ratio_of_all"], ratios["ratio_of_finished"], ratios["median_ratio"]) == (10.0, 2.0, 2.0)
    (cell,) = [row for row in warehouse.table("cells") if row["condition"] == "P->S"]
    assert (cell["mean_tokens"], cell["median_tokens"], cell["mean_tokens_of_ended"]) == (10_000.0, 2000.0, 2000.0)
    assert (round(cell["score_pct"], 6), cell["median_score_pct"], cell["ended_count"]) == (60.0, 90.0, 2)


def test_two_seeds_of_one_contract_show_chance_in_contrasts(warehouse):
    for seed, stateless in ((1, [1000, 2000]), (2, [1000, 1000])):
        play(warehouse, "P->P", [500, 500], training_seed=seed)
        play(warehouse, "P->S", stateless, training_seed=seed)
    play(warehouse, "S->S", [1000, 1000], training_seed=1)
    assert warehouse.table("seed_contrasts") == [
        GROUP
        | OURS
        | {"train_contract": "persistent", "seed_a": 1, "seed_b": 2, "pair_count": 2}
        | {"contrast_of_seed_a": -1000.0, "contrast_of_seed_b": -500.0, "contrast_difference": -500.0}
        # differences 0 and -1000: a standard deviation of 1000 / sqrt(2) over sqrt(2) instances
        | {"standard_error": 500.0}
    ]
