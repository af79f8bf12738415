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
