"""What the checks let pass, what they tell apart, and the order of the rows that they return."""

import pytest

from tests.storage.broken_studies import SOURCES
from tests.storage.test_checks import CHECKS

ONE = "where episode_id = 'e-stateless'"
OTHER_INSTANCE = """
    insert into episodes
    select * replace ('e-3' as episode_id, 'other' as instance_id, {setting}) from episodes
    where episode_id = 'e-stateless'
"""
ELSEWHERE = (
    "'p' as plan_digest", "'analysis' as purpose", "'v' as variant", "'b' as base", "'as_trained' as visibility",
    "'none' as header", "'large' as bucket", "'imported' as backend",
)  # fmt: skip
PASS = [
    (
        "episode_contract_is_verified",
        f"update episodes set runtime_contract = 'none', is_contract_verified = false {ONE}",
    ),
    ("episode_counts_add_up", "update episodes set backend = 'imported', executed_call_count = 9"),
    ("episode_counts_are_not_negative", "update episodes set turn_count = max_turns, step_count = max_turns"),
    (
        "episode_counts_are_not_negative",
        """
        update episodes set turn_count = 0, step_count = 0, call_site_count = 0, executed_call_count = 0,
            prompt_tokens = 0, cached_prompt_tokens = 0, completion_tokens = 0, model_seconds = 0
        """,
    ),
    ("episode_references_exist", "update episodes set agent = 'cave', instance_id = 'nowhere'"),
    ("episode_scores_agree", "update episodes set score = 1, is_solved = true"),
    ("episode_scores_agree", "update episodes set score = null"),
    ("episode_tokens_add_up", "update turns set prompt_tokens = 99; update episodes set token_source = 'imported'"),
    ("instance_solution_is_feasible", "update instances set family = 'map', optimal_weight = 99, capacity = 1"),
    ("instance_solution_is_feasible", "update instances set inspection_budget = 1"),
    ("instance_content_in_one_split", "update training_examples set instance_id = 'evaluation', status = 'skipped'"),
    ("instance_in_paired_examples", "update training_examples set retention = 'keep_first', instance_id = contract"),
    ("instance_in_paired_examples", "update training_examples set status = 'skipped', instance_id = contract"),
    ("run_source_is_the_plans", "update runs set source = 'b', plan_json = 'a plan', flow = 'train_models'"),
    ("statistic_values_in_range", "update statistics set p_value = 0, p_holm = 0, confidence = 1, effect_size = -1"),
    ("statistic_values_in_range", "update statistics set p_value = 1, p_holm = 1, confidence = 0, effect_size = 1"),
    ("statistic_values_in_range", "update statistics set low = 1, high = 1, pair_count = 0, nonzero_count = 0"),
    ("training_run_loss_is_finite", "update training_metrics set training_run_id = 'other', loss = 'nan'"),
    *(("instance_in_every_condition", OTHER_INSTANCE.format(setting=setting)) for setting in ELSEWHERE),
    *(
        ("run_source_is_the_plans", f"{SOURCES} update runs set flow = '{flow}'")
        for flow in ("reevaluate_model", "analyse_study", "import", "serve_models")
    ),
    (
        "episode_counts_add_up",
        """
        update steps set executed_call_count = 1, call_site_count = 1;
        insert into tool_calls select * replace (2 as step) from tool_calls;
        update episodes set executed_call_count = 2, call_site_count = 2
        """,
    ),
    (
        "episode_tokens_add_up",
        """
        update turns set cached_prompt_tokens = 5 where turn > 0;
        update episodes set cached_prompt_tokens = 10
        """,
    ),
    (
        "instance_solution_is_feasible",
        """
        update items set is_optimal = true, is_allowed = true;
        update instances set optimal_value = 14, optimal_weight = 2 * capacity, optimal_item_ids = ['a', 'b'];
        update instances set capacity = optimal_weight
        """,
    ),
    (
        "instance_content_in_one_split",
        """
        insert into items select * replace ('twin' as instance_id) from items where instance_id = 'evaluation';
        insert into instances select * replace ('twin' as instance_id) from instances where instance_id = 'evaluation'
        """,
    ),
]


@pytest.mark.parametrize(("name", "change"), PASS)
def test_a_check_lets_pass_what_breaks_no_rule(study, name, change):
    study.execute(change)
    assert study.sql(CHECKS[name]).fetchall() == []


FOUND = [
    ("statistic_values_in_range", "update statistics set confidence = 1.5", 1),
    ("episode_references_exist", "update episodes set agent = null, instance_id = 'nowhere'", 4),
    ("episode_scores_agree", "update episodes set score = 1.5, is_solved = true", 4),
    ("episode_counts_are_not_negative", f"update episodes set turn_count = 1 {ONE}", 1),
    ("episode_counts_add_up", f"delete from turns {ONE}", 1),
    ("episode_counts_add_up", f"delete from steps {ONE}", 1),
    ("statistic_values_in_range", "update statistics set low = null, high = 'nan'", 1),
    ("statistic_values_in_range", "update statistics set p_value = null, p_holm = -0.5", 1),
    ("statistic_values_in_range", "update statistics set confidence = -0.5", 1),
    ("statistic_values_in_range", "update statistics set effect_size = 1.5", 1),
    ("training_run_loss_is_finite", "update training_runs set final_loss = null, token_count = 0", 1),
    ("instance_solution_is_feasible", "update instances set optimal_weight = 5, capacity = 4", 2),
]


@pytest.mark.parametrize(("name", "change", "count"), FOUND)
def test_a_check_finds_every_row_that_breaks_a_rule(study, name, change, count):
    study.execute(change)
    assert len(study.sql(CHECKS[name]).fetchall()) == count


ALL_BROKEN = [
    ("episode_contract_is_verified", "update episodes set is_contract_verified = false"),
    ("episode_counts_add_up", "update episodes set turn_count = 3"),
    ("episode_counts_are_not_negative", "update episodes set turn_count = 41"),
    ("episode_names_live_as_declared", "update steps set active_globals_before = ['y']"),
    (
        "episode_references_exist",
        "insert into tool_calls select * replace (2 as step) from tool_calls; delete from episodes; delete from turns",
    ),
    ("episode_references_exist", "delete from episodes; delete from steps"),
    ("episode_references_exist", "update episodes set instance_id = 'nowhere'; delete from steps"),
    ("episode_scores_agree", "update episodes set score = 2"),
    ("episode_tokens_add_up", "update episodes set total_tokens = 99"),
    ("instance_solution_is_feasible", "update instances set capacity = 1"),
    (
        "instance_in_every_condition",
        "delete from episodes where episode_id = 'e-persistent'; "
        + OTHER_INSTANCE.format(setting="'persistent' as runtime_contract"),
    ),
    (
        "instance_in_paired_examples",
        """
        insert into training_examples
        select * replace (2 - position as position, episode_id || '-2' as episode_id) from training_examples;
        update training_examples set instance_id = contract
        """,
    ),
    (
        "run_source_is_the_plans",
        """
        insert into runs select * replace ('a run' as run_id) from runs;
        insert into runs select * replace ('p' as plan_digest, 'z' || run_id as run_id) from runs;
        update runs set plan_json = '{"source": "a"}', source = 'b', flow = 'train_models'
        """,
    ),
    (
        "statistic_values_in_range",
        "insert into statistics select * replace ('a' as statistic_id) from statistics;"
        "update statistics set p_value = 2",
    ),
    (
        "training_run_loss_is_finite",
        "insert into training_runs select * replace ('a' as training_run_id) from training_runs;"
        "update training_runs set final_loss = 'nan'",
    ),
]
KEYS = {
    "episode_names_live_as_declared": 2,
    "episode_references_exist": 3,
    "instance_in_every_condition": 9,
    "instance_in_paired_examples": 4,
    "run_source_is_the_plans": 2,
}
"""How many of a check's first columns its rows are in order of; one of others."""


@pytest.mark.parametrize(("name", "change"), ALL_BROKEN)
def test_rows_of_a_check_come_once_and_in_order(study, name, change):
    # rows that came in reverse
    for table in ("episodes", "steps", "turns", "instances", "training_examples"):
        study.execute(f"create temp table reversed as select * from {table} order by rowid desc")
        study.execute(f"delete from {table}; insert into {table} from reversed; drop table reversed")
    study.execute(change)
    rows = study.sql(CHECKS[name]).fetchall()
    keys = [row[: KEYS.get(name, 1)] for row in rows]
    assert len(rows) > 1
    assert keys == sorted(set(keys))


@pytest.mark.parametrize("setting", ELSEWHERE)
def test_an_instance_of_another_setting_is_missing_in_this_one(study, setting):
    study.execute(OTHER_INSTANCE.format(setting="0 as replicate"))
    elsewhere = OTHER_INSTANCE.replace("e-3", "e-4").format(setting=setting)
    study.execute(elsewhere.replace("e-stateless", "e-persistent"))
    (row,) = study.sql(CHECKS["instance_in_every_condition"]).fetchall()
    assert (row[0], row[-1]) == ("other", "stateless -> persistent replicate 0")


def test_a_missing_instance_is_told_once_however_often_it_was_played(study):
    for number in (1, 2):
        attempt = OTHER_INSTANCE.replace("e-3", f"e-{number}").format(setting=f"{number} as attempt")
        study.execute(attempt)
    assert len(study.sql(CHECKS["instance_in_every_condition"]).fetchall()) == 1


def test_a_missing_instance_is_told_once_however_many_conditions_played_it(study):
    for number, seed in enumerate((1, 2)):
        played = OTHER_INSTANCE.replace("e-3", f"e-{number}").format(setting=f"{seed} as training_seed")
        study.execute(played)
    rows = study.sql(CHECKS["instance_in_every_condition"]).fetchall()
    assert len(rows) == len(set(rows)) > 2


def test_an_unsolvable_instance_is_told_once_however_many_splits_have_it(study):
    study.execute(
        """
        update instances set capacity = 1 where instance_id = 'train';
        insert into instances select * replace ('evaluation' as split) from instances where instance_id = 'train'
        """
    )
    assert len(study.sql(CHECKS["instance_solution_is_feasible"]).fetchall()) == 1


@pytest.mark.parametrize(
    "elsewhere", ["'other' as run_id", "'v' as variant", "'qwen' as text_format", "'tokens' as matching"]
)
def test_a_pair_of_examples_is_of_one_data_set(study, elsewhere):
    study.execute(
        f"""
        insert into training_examples
        select * replace (1 as position, 'other' as instance_id, 'more' as episode_id) from training_examples
        where contract = 'persistent';
        insert into training_examples
        select * replace (1 as position, 'other' as instance_id, 'elsewhere' as episode_id, {elsewhere})
        from training_examples
        where contract = 'stateless'
        """
    )
    found = study.sql(CHECKS["instance_in_paired_examples"]).fetchall()
    assert found == [("other", 1, "persistent", "stateless", None)]


def test_a_name_under_the_stateless_contract_is_told_once_however_often_it_was_touched(study):
    study.execute(
        """
        update steps set active_globals_before = ['x'] where episode_id = 'e-stateless' and step = 2;
        insert into runtime_events by name
        select 'run' as run_id, episode_id, unnest([1, 2]) as sequence, 1 as step, 'drop' as kind
        from episodes where episode_id = 'e-stateless'
        """
    )
    assert len(study.sql(CHECKS["episode_names_live_as_declared"]).fetchall()) == 1


@pytest.mark.parametrize(
    ("check", "table", "row"),
    [
        ("episode_counts_add_up", "turns", (2, 0, 2, 2, 1, 1, 1, 1, 1)),
        ("episode_counts_add_up", "steps", (2, 2, 2, 0, 1, 0, 1, 0, 1)),
        ("episode_counts_add_up", "tool_calls", (2, 2, 2, 2, 1, 1, 1, 1, 0)),
        ("episode_tokens_add_up", "turns", (30, 0, 5, 0, 4, 0)),
    ],
)
def test_rows_that_are_not_there_count_nothing(study, check, table, row):
    study.execute(f"delete from {table} {ONE}")
    assert study.sql(CHECKS[check]).fetchall() == [("e-stateless", *row)]


def test_conditions_are_told_apart_by_seed_and_replicate(study):
    for number, setting in enumerate(("1 as training_seed", "1 as replicate")):
        study.execute(OTHER_INSTANCE.replace("e-3", f"e-{number}").format(setting=setting))
    rows = study.sql(CHECKS["instance_in_every_condition"]).fetchall()
    conditions = {row[0]: {other[-1] for other in rows if other[0] == row[0]} for row in rows}
    assert conditions == {
        "evaluation": {"stateless -> stateless replicate 1", "stateless -> stateless seed 1 replicate 0"},
        "other": {"stateless -> persistent replicate 0", "stateless -> stateless replicate 0"},
    }


def test_equal_content_of_two_ids_differs_by_capacity_and_budget(study):
    study.execute(
        "update items set weight = 3, item_id = 'train' || right(item_id, 2) where instance_id = 'evaluation'"
    )
    assert study.sql(CHECKS["instance_content_in_one_split"]).fetchall() == []
    study.execute("update instances set capacity = 3, inspection_budget = 1 where instance_id = 'evaluation'")
    assert study.sql(CHECKS["instance_content_in_one_split"]).fetchall() == []
    study.execute("update instances set inspection_budget = 2 where instance_id = 'evaluation'")
    assert len(study.sql(CHECKS["instance_content_in_one_split"]).fetchall()) == 2
