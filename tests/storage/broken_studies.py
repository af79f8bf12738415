"""Ways to break the sound study: check, SQL that breaks it, and the rows that the check gives."""

import json
from itertools import product
from typing import Any

from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan

PLAN = resolve_plan("smoke", Overrides())


def played_as_planned(**evaluation: Any) -> str:
    """Return the change that makes the sound study all that a plan wants; `evaluation` is what that plan wants else."""
    part = PLAN.parts[0].model_dump(mode="json")
    (played, *_) = part["evaluations"]
    instances = {"bucket": "", "split": "evaluation", "count": 1, "first_seed": 0, **evaluation.pop("instances", {})}
    part |= {
        "variant": "",
        "base": "scratch",
        "own_base": None,
        "train_instances": {"bucket": "", "split": "train", "count": 1, "first_seed": 0},
        "training_seeds": evaluation.pop("training_seeds", [1]),
        "evaluations": [
            {**played, "has_base_rows": False, "has_scripted_rows": False, **evaluation, "instances": instances}
        ],
    }
    plan = PLAN.model_dump(mode="json") | {"parts": [part]}
    return f"""
        update runs set plan_json = '{json.dumps(plan).replace("'", "''")}';
        update episodes set base = 'teacher' where purpose = 'teacher';
        update episodes set base = 'scratch', training_seed = 1 where purpose = 'evaluation';
        insert into episodes
        select * replace ('p-' || runtime_contract as episode_id, 'persistent' as train_contract)
        from episodes where purpose = 'evaluation';
    """


def _unplayed(train: str | None, runtime: str, counts: tuple[int, int, int] = (1, 0, 0), **values: object) -> tuple:
    """Return the row of a condition of the plan with how many it planned, played and brought to an end."""
    place = {"base": "scratch", "seed": train and 1, "bucket": "", "replicate": 0, **values}
    return (
        "", "evaluation", "", place["base"], train, place["seed"], runtime, "declared", "names",
        place["bucket"], place["replicate"], *counts,
    )  # fmt: skip


CONTRACTS = ("persistent", "stateless")
PLAN_BREAKS = [
    (played_as_planned(), []),
    (
        played_as_planned() + "delete from episodes where episode_id = 't-stateless'",
        [("", "teacher", "", "teacher", None, None, "stateless", "declared", "names", "", 0, 1, 0, 0)],
    ),
    (
        played_as_planned() + "delete from episodes where episode_id = 'e-persistent'",
        [_unplayed("stateless", "persistent")],
    ),
    (
        played_as_planned() + "delete from episodes where train_contract = 'persistent'",
        [_unplayed("persistent", runtime) for runtime in CONTRACTS],
    ),
    (
        played_as_planned(training_seeds=[1, 2]),
        [_unplayed(train, runtime, seed=2) for train, runtime in product(CONTRACTS, repeat=2)],
    ),
    (played_as_planned(has_base_rows=True), [_unplayed(None, runtime) for runtime in CONTRACTS]),
    (
        played_as_planned(has_scripted_rows=True),
        [_unplayed(script, runtime, base="teacher", seed=None) for script, runtime in product(CONTRACTS, repeat=2)],
    ),
    (
        played_as_planned(replicates=2),
        [_unplayed(train, runtime, replicate=1) for train, runtime in product(CONTRACTS, repeat=2)],
    ),
    (
        played_as_planned(instances={"bucket": "", "count": 2}),
        [_unplayed(train, runtime, (2, 1, 1)) for train, runtime in product(CONTRACTS, repeat=2)],
    ),
    (
        played_as_planned(instances={"bucket": "hard", "count": 1}),
        [
            _unplayed(train, runtime, counts, bucket=bucket)
            for train in CONTRACTS
            for runtime in CONTRACTS
            for bucket, counts in (("", (0, 1, 1)), ("hard", (1, 0, 0)))
        ],
    ),
    (
        played_as_planned()
        + "insert into episodes select * replace ('e-3' as episode_id, 'other' as instance_id) "
        + "from episodes where episode_id = 'e-stateless'",
        [_unplayed("stateless", "stateless", (1, 2, 2))],
    ),
    (
        played_as_planned()
        + "insert into episodes select * replace ('e-3' as episode_id, 'another' as model_name) "
        + "from episodes where episode_id = 'e-stateless'",
        [_unplayed("stateless", "stateless", (1, 1, 2))],
    ),
    (
        # a refreshed stage plays its episodes again
        played_as_planned()
        + "insert into episodes select * replace ('e-3' as episode_id, 1 as attempt) "
        + "from episodes where episode_id = 'e-stateless'",
        [],
    ),
    (
        played_as_planned() + "update episodes set training_seed = 7 where episode_id = 'e-stateless'",
        [_unplayed("stateless", "stateless"), _unplayed("stateless", "stateless", (0, 1, 1), seed=7)],
    ),
    (played_as_planned() + "update episodes set finish_reason = 'error'", []),
    (
        played_as_planned(instances={"bucket": "", "count": 9}) + "delete from episodes where purpose = 'evaluation'",
        [],
    ),
    (
        played_as_planned()
        + "insert into episodes select * replace ('r' || episode_id as episode_id, 'again' as variant) from episodes",
        [],
    ),
]

SOURCES = """update runs set plan_json = '{"source": "a"}', source = 'b';"""
BREAKS = [
    (
        "episode_scores_agree",
        "update episodes set score = 1.5 where episode_id = 'e-stateless'",
        [("e-stateless", 1.5, False)],
    ),
    (
        "episode_scores_agree",
        "update episodes set score = 1 where episode_id = 'e-stateless'",
        [("e-stateless", 1.0, False)],
    ),
    (
        "episode_scores_agree",
        "update episodes set score = null, is_solved = true where episode_id = 'e-stateless'",
        [("e-stateless", None, True)],
    ),
    (
        "episode_counts_are_not_negative",
        "update episodes set turn_count = 41 where episode_id = 'e-stateless'",
        [("e-stateless", 41, 40, 2)],
    ),
    (
        "episode_counts_are_not_negative",
        "update episodes set wall_seconds = -0.5 where episode_id = 'e-stateless'",
        [("e-stateless", 2, 40, 2)],
    ),
    (
        "episode_tokens_add_up",
        "update turns set completion_tokens = 3 where episode_id = 'e-stateless' and turn = 1",
        [("e-stateless", 30, 30, 5, 5, 4, 5)],
    ),
    (
        "episode_tokens_add_up",
        "update episodes set token_source = 'imported', cached_prompt_tokens = 31 where episode_id = 'e-stateless'",
        [("e-stateless", 30, 30, 31, 5, 4, 4)],
    ),
    (
        "episode_counts_add_up",
        "delete from tool_calls where episode_id = 'e-stateless'",
        [("e-stateless", 2, 2, 2, 2, 1, 1, 1, 1, 0)],
    ),
    (
        "episode_counts_add_up",
        "delete from steps where episode_id = 'e-stateless' and step = 2",
        [("e-stateless", 2, 2, 2, 1, 1, 1, 1, 1, 1)],
    ),
    (
        "episode_contract_is_verified",
        "update episodes set is_contract_verified = false where episode_id = 'e-stateless'",
        [("e-stateless", "stateless", "", "")],
    ),
    (
        "episode_names_live_as_declared",
        "update steps set active_globals_before = ['x'] where episode_id = 'e-stateless' and step = 2",
        [("e-stateless", 2, "stateless", ["x"], [])],
    ),
    (
        "episode_names_live_as_declared",
        "update steps set active_globals_before = [] where episode_id = 'e-persistent' and step = 2",
        [("e-persistent", 2, "persistent", [], ["x"])],
    ),
    (
        "episode_references_exist",
        "update tool_calls set step = 9 where episode_id = 'e-stateless'",
        [("e-stateless", "tool_calls", "its step 9")],
    ),
    (
        "episode_references_exist",
        "update episodes set instance_id = 'nowhere' where episode_id = 'e-stateless'",
        [("e-stateless", "episodes", "instance nowhere of split evaluation")],
    ),
    (
        "episode_references_exist",
        "delete from episodes where episode_id = 'e-stateless'",
        [("e-stateless", table, "its episode") for table in ("steps", "tool_calls", "turns")],
    ),
    (
        "instance_content_in_one_split",
        "insert into instances select * replace ('train' as split) from instances where instance_id = 'evaluation'",
        [("evaluation", ["evaluation", "train"])],
    ),
    (
        "instance_content_in_one_split",
        "update training_examples set instance_id = 'evaluation' where contract = 'stateless'",
        [("evaluation", ["evaluation", "train"])],
    ),
    (
        "instance_content_in_one_split",
        """
        update items set weight = 3, item_id = 'train' || right(item_id, 2) where instance_id = 'evaluation';
        update instances set capacity = 3 where instance_id = 'evaluation'
        """,
        [("evaluation", ["evaluation"]), ("train", ["train"])],
    ),
    (
        "instance_solution_is_feasible",
        "update instances set capacity = 2 where instance_id = 'train'",
        [("train", 2, 2, 2, 2, 7, 7, 3, 3)],
    ),
    (
        "instance_solution_is_feasible",
        "delete from items where instance_id = 'train'",
        [("train", 2, None, 3, 2, 7, None, 3, None)],
    ),
    (
        "instance_in_every_condition",
        """
        insert into episodes
        select * replace ('t-3' as episode_id, 'other' as instance_id) from episodes where episode_id = 't-stateless'
        """,
        [("other", "", "teacher", "", "", "declared", "names", "", "none -> persistent replicate 0")],
    ),
    (
        "instance_in_every_condition",
        """
        insert into episodes
        select * replace ('e-3' as episode_id, 'other' as instance_id) from episodes where episode_id = 'e-stateless'
        """,
        [("other", "", "evaluation", "", "", "declared", "names", "", "stateless -> persistent replicate 0")],
    ),
    (
        "instance_in_paired_examples",
        "update training_examples set instance_id = 'other' where contract = 'stateless'",
        [("other", 0, "stateless", "persistent", "train"), ("train", 0, "persistent", "stateless", "other")],
    ),
    (
        "instance_in_paired_examples",
        """
        insert into training_examples
        select * replace (1 as position, 'other' as instance_id, 'other' as episode_id) from training_examples
        where contract = 'stateless'
        """,
        [("other", 1, "stateless", "persistent", None)],
    ),
    ("statistic_values_in_range", "update statistics set low = 2", [("s", "", "", 0.1, 2.0, 1.0)]),
    (
        "statistic_values_in_range",
        "update statistics set p_value = 1.5, p_holm = null",
        [("s", "", "", 1.5, -1.0, 1.0)],
    ),
    (
        "run_source_is_the_plans",
        SOURCES + "update runs set flow = 'train_models'",
        [("", "run", "train_models", "a", "b")],
    ),
    (
        "run_source_is_the_plans",
        SOURCES + "update runs set flow = 'analyse_study'",
        [],
    ),
    ("training_run_loss_is_finite", "update training_metrics set loss = 'nan'", [("r", 0.5, 1)]),
    ("training_run_loss_is_finite", "update training_runs set final_loss = 'inf'", [("r", float("inf"), 0)]),
    (
        "table_keys_are_unique",
        "insert into steps from steps where episode_id = 'e-stateless' and step = 2",
        [("steps", ["e-stateless", "2"], 2)],
    ),
    ("table_rows_trace_to_a_run", "update statistics set run_id = 'nobody'", [("statistics", "nobody", 1)]),
]
