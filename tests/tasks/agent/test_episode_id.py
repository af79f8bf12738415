from carryover.tasks.agent.condition import Condition, decoding_seed, episode_id


def make_condition(**fields):
    return Condition(
        **{
            "purpose": "evaluation",
            "model_name": "m",
            "runtime_contract": "stateless",
            "bucket": "easy",
            "split": "evaluation",
            **fields,
        }
    )


def test_equal_episodes_have_equal_ids():
    assert episode_id(make_condition(), "instance", "plan") == episode_id(make_condition(), "instance", "plan", 0, 0)
    assert len(episode_id(make_condition(), "instance", "plan")) == 24


def test_ids_and_seeds_are_the_same_everywhere():
    """Kept rows are found by them, and replies drawn with them."""
    assert episode_id(make_condition(), "instance", "plan", replicate=2, attempt=1) == "66b82cc1f22692c397343993"
    assert [decoding_seed("a", turn, 1) for turn in (0, 1)] == [843880283, 451296495]


def test_whatever_identifies_an_episode_changes_its_id():
    ids = {
        episode_id(make_condition(), "instance", "plan"),
        episode_id(make_condition(), "other", "plan"),
        episode_id(make_condition(), "instance", "other"),
        episode_id(make_condition(), "instance", "plan", replicate=1),
        episode_id(make_condition(), "instance", "plan", attempt=1),
        episode_id(make_condition(runtime_contract="persistent"), "instance", "plan"),
        episode_id(make_condition(train_contract="persistent"), "instance", "plan"),
        episode_id(make_condition(training_seed=1), "instance", "plan"),
        episode_id(make_condition(variant="no_faults"), "instance", "plan"),
    }

    assert len(ids) == 9


def test_decoding_seeds_differ_by_instance_turn_and_replicate_alone():
    seeds = {decoding_seed(*arguments) for arguments in (("a", 1, 0), ("b", 1, 0), ("a", 2, 0), ("a", 1, 1))}

    assert len(seeds) == 4
    assert decoding_seed("a", 1, 0) == decoding_seed("a", 1, 0)
    assert all(0 <= seed < 2**31 for seed in seeds)
