import re

import pytest

from carryover.tasks.stages.gate import SUBJECTS, check_files
from carryover.tasks.stages.plan_check import PLANS, PLAYED, miscounted_conditions
from carryover.tasks.traces.rows import EPISODE_TABLES, RuntimeEventRow
from carryover.tasks.traces.tables import TABLES
from tests.storage.broken_studies import BREAKS, PLAN_BREAKS

GENERATED = {"table_keys_are_unique", "table_rows_trace_to_a_run"}
CHECKS = {check.name: check.query for check in check_files()}


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_sound_study_and_empty_warehouse_break_no_check(study, empty_warehouse, name):
    assert study.sql(CHECKS[name]).fetchall() == []
    relation = empty_warehouse.sql(CHECKS[name])
    assert relation.fetchall() == []
    assert relation.columns[0] in SUBJECTS


@pytest.mark.parametrize(("name", "change", "expected"), BREAKS)
def test_a_check_finds_exactly_what_was_broken(study, name, change, expected):
    study.execute(change)
    assert study.sql(CHECKS[name]).fetchall() == expected


CLAUSES = {
    "episode_counts_are_not_negative": [
        *(
            f"update episodes set {column} = -1 where episode_id = 'e-stateless'"
            for column in (
                "turn_count",
                "step_count",
                "call_site_count",
                "executed_call_count",
                "taken_count",
                "inspected_count",
                "value_taken",
                "weight_taken",
                "prompt_tokens",
                "cached_prompt_tokens",
                "completion_tokens",
                "injected_fault_count",
                "model_seconds",
                "execution_seconds",
            )
        ),
        "update episodes set wall_seconds = 'nan' where episode_id = 'e-stateless'",
        "update episodes set step_count = 3 where episode_id = 'e-stateless'",
    ],
    "episode_scores_agree": [
        "update episodes set score = -0.1 where episode_id = 'e-stateless'",
        "update episodes set score = 'nan' where episode_id = 'e-stateless'",
    ],
    "episode_counts_add_up": [
        "update episodes set turn_count = 3 where episode_id = 'e-stateless'",
        "update episodes set call_site_count = 2 where episode_id = 'e-stateless'",
        "update steps set executed_call_count = 0 where episode_id = 'e-stateless'",
    ],
    "episode_tokens_add_up": [
        "update turns set prompt_tokens = 14 where episode_id = 'e-stateless' and turn = 1",
        "update turns set cached_prompt_tokens = 4 where episode_id = 'e-stateless' and turn = 2",
        "update episodes set total_tokens = 35 where episode_id = 'e-stateless'",
        "delete from turns where episode_id = 'e-stateless'",
    ],
    "episode_references_exist": [
        "update episodes set split = 'train' where episode_id = 'e-stateless'",
        "delete from instances where instance_id = 'evaluation'",
        *(
            f"insert into {table} (run_id, episode_id, {columns}) values ('run', '{episode_id}', {values})"
            for table, columns, values in (
                (
                    "errors",
                    "turn, error_index, step, kind, error_type, message, is_caught, is_injected, is_missing_name, "
                    "is_injected_missing_name",
                    "1, 0, 9, 'tool', 'ValueError', 'no', true, false, false, false",
                ),
                (
                    "name_events",
                    "step, sequence, kind, name, line, is_definition, is_deferred, is_live_before",
                    "9, 0, 'bind', 'x', 1, false, false, false",
                ),
            )
            for episode_id in ("nobody", "e-stateless")
        ),
        "insert into runtime_events (run_id, episode_id, sequence, step, kind) values ('run', 'nobody', 0, 0, 'drop')",
    ],
    "instance_solution_is_feasible": [
        "update instances set item_count = 3 where instance_id = 'train'",
        "update instances set optimal_value = 8 where instance_id = 'train'",
        "update instances set optimal_weight = 2 where instance_id = 'train'",
        "update instances set inspection_budget = 0 where instance_id = 'train'",
        "update instances set inspection_budget = 3 where instance_id = 'train'",
        "update instances set optimal_item_ids = [] where instance_id = 'train'",
        "update items set is_allowed = false where instance_id = 'train'",
    ],
    "statistic_values_in_range": [
        "update statistics set p_value = 'nan'",
        "update statistics set p_holm = 1.1",
        "update statistics set p_holm = 0.05",
        "update statistics set high = 'nan'",
        "update statistics set confidence = 95",
        "update statistics set effect_size = -1.1",
        "update statistics set pair_count = -1",
        "update statistics set nonzero_count = 3",
    ],
    "training_run_loss_is_finite": ["update training_runs set token_count = 0"],
}


@pytest.mark.parametrize(("name", "change"), [(name, change) for name in CLAUSES for change in CLAUSES[name]])
def test_every_rule_of_a_check_is_seen_alone(study, name, change):
    study.execute(change)
    assert study.sql(CHECKS[name]).fetchall() != []


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_check_is_one_statement_below_a_comment_on_its_rows(name):
    if name not in GENERATED:
        assert CHECKS[name].startswith("-- ")
        assert "\norder by " in CHECKS[name]
    assert ";" not in re.sub(r"--.*", "", CHECKS[name])


def test_every_check_was_broken_once():
    assert {name for name, _, _ in BREAKS} == set(CHECKS)


@pytest.mark.parametrize(
    "check", ["episode_references_exist", "episode_contract_is_verified", "episode_names_live_as_declared"]
)
def test_foreign_traces_are_not_held_to_what_they_cannot_know(study, check):
    study.execute(
        """
        update episodes set backend = 'imported', instance_id = 'theirs', is_contract_verified = false;
        update steps set active_globals_before = ['y']
        """
    )
    assert study.sql(CHECKS[check]).fetchall() == []


def test_an_episode_without_a_step_has_no_contract_to_verify(study):
    study.execute("update episodes set is_contract_verified = false, step_count = 0 where episode_id = 'e-stateless'")
    assert study.sql(CHECKS["episode_contract_is_verified"]).fetchall() == []


def test_a_name_that_the_harness_dropped_breaks_no_contract(study, make_row, insert_rows):
    study.execute("update steps set active_globals_before = [] where episode_id = 'e-persistent' and step = 2")
    insert_rows(
        study, [make_row(RuntimeEventRow, episode_id="e-persistent", sequence=0, step=1, kind="drop", name="x")]
    )
    assert study.sql(CHECKS["episode_names_live_as_declared"]).fetchall() == []


def test_policy_violation_excuses_no_lost_name(study, make_row, insert_rows):
    study.execute("update steps set active_globals_before = [] where episode_id = 'e-persistent' and step = 2")
    told = make_row(RuntimeEventRow, episode_id="e-persistent", sequence=0, step=1, kind="policy_violation", name="os")
    insert_rows(study, [told])
    assert len(study.sql(CHECKS["episode_names_live_as_declared"]).fetchall()) == 1


@pytest.mark.parametrize(("change", "expected"), PLAN_BREAKS)
def test_conditions_are_compared_with_the_instances_of_their_plan(study, change, expected):
    study.execute(change)
    assert miscounted_conditions(study.sql(PLANS).pl(), study.sql(PLAYED).pl()).rows() == expected


@pytest.mark.parametrize("table", sorted(name for name, row in TABLES.items() if row in EPISODE_TABLES))
def test_repeated_key_is_found_where_none_is_declared(study, make_row, insert_rows, table):
    insert_rows(study, [make_row(TABLES[table], run_id="run")] * 2)
    assert [(name, count) for name, _, count in study.sql(CHECKS["table_keys_are_unique"]).fetchall()] == [(table, 2)]


@pytest.mark.parametrize("table", sorted(set(TABLES) - {"runs"}))
def test_row_of_any_table_without_a_run_is_found(study, make_row, insert_rows, table):
    needed = {"no_tolerance_reason": "words"} if table == "claims" else {}
    insert_rows(study, [make_row(TABLES[table], run_id="nobody", **needed)])
    assert study.sql(CHECKS["table_rows_trace_to_a_run"]).fetchall() == [(table, "nobody", 1)]
