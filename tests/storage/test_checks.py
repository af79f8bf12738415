import json
import re
from collections.abc import Iterator

import pytest
from duckdb import DuckDBPyConnection

from storage.connection import open_memory
from storage.gate import SUBJECTS, check_files
from storage.migrations import migrate
from tasks.traces.rows import RuntimeEventRow
from tasks.traces.study_rows import TABLES

CHECKS = {check.name: check.query for check in check_files()}


@pytest.fixture(scope="module")
def sound_study(study_rows, insert_rows) -> DuckDBPyConnection:
    connection = open_memory()
    migrate(connection)
    insert_rows(connection, study_rows)
    return connection


@pytest.fixture
def study(sound_study) -> Iterator[DuckDBPyConnection]:
    """The sound study; what a test does to it is undone."""
    sound_study.begin()
    yield sound_study
    sound_study.rollback()


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_a_check_finds_nothing_in_a_sound_study_nor_in_an_empty_warehouse(study, empty_warehouse, name):
    assert study.sql(CHECKS[name]).fetchall() == []
    relation = empty_warehouse.sql(CHECKS[name])
    assert relation.fetchall() == []
    assert relation.columns[0] in SUBJECTS


def _played_as_planned(**evaluation: object) -> str:
    """Return the change that makes the sound study all that a plan wants; `evaluation` is what that plan wants else."""
    plan = {
        "variant": "",
        "base": "scratch",
        "teacher": {"contracts": ["persistent", "stateless"]},
        "train_instances": {"bucket": "", "count": 1},
        "training_seeds": evaluation.pop("training_seeds", [1]),
        "evaluations": [{"instances": {"bucket": "", "count": 1}, "has_base_rows": False, **evaluation}],
    }
    return f"""
        update runs set plan_json = '{json.dumps({"parts": [plan]})}';
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
    (_played_as_planned(), []),
    (
        _played_as_planned() + "delete from episodes where episode_id = 't-stateless'",
        [("", "teacher", "", "teacher", None, None, "stateless", "declared", "names", "", 0, 1, 0, 0)],
    ),
    (
        _played_as_planned() + "delete from episodes where episode_id = 'e-persistent'",
        [_unplayed("stateless", "persistent")],
    ),
    (
        _played_as_planned() + "delete from episodes where train_contract = 'persistent'",
        [_unplayed("persistent", runtime) for runtime in CONTRACTS],
    ),
    (
        _played_as_planned(training_seeds=[1, 2]),
        [_unplayed(train, runtime, seed=2) for train in CONTRACTS for runtime in CONTRACTS],
    ),
    (_played_as_planned(has_base_rows=True), [_unplayed(None, runtime) for runtime in CONTRACTS]),
    (
        _played_as_planned(has_scripted_rows=True),
        [_unplayed(None, runtime, base="teacher") for runtime in CONTRACTS],
    ),
    (
        _played_as_planned(replicates=2),
        [_unplayed(train, runtime, replicate=1) for train in CONTRACTS for runtime in CONTRACTS],
    ),
    (
        _played_as_planned(instances={"bucket": "", "count": 2}),
        [_unplayed(train, runtime, (2, 1, 1)) for train in CONTRACTS for runtime in CONTRACTS],
    ),
    (
        _played_as_planned(instances={"bucket": "hard", "count": 1}),
        [
            _unplayed(train, runtime, counts, bucket=bucket)
            for train in CONTRACTS
            for runtime in CONTRACTS
            for bucket, counts in (("", (0, 1, 1)), ("hard", (1, 0, 0)))
        ],
    ),
    (
        _played_as_planned()
        + "insert into episodes select * replace ('e-3' as episode_id, 'other' as instance_id) "
        + "from episodes where episode_id = 'e-stateless'",
        [_unplayed("stateless", "stateless", (1, 2, 2))],
    ),
    (
        _played_as_planned()
        + "insert into episodes select * replace ('e-3' as episode_id, 1 as attempt) "
        + "from episodes where episode_id = 'e-stateless'",
        [_unplayed("stateless", "stateless", (1, 1, 2))],
    ),
    (
        _played_as_planned() + "update episodes set training_seed = 7 where episode_id = 'e-stateless'",
        [_unplayed("stateless", "stateless"), _unplayed("stateless", "stateless", (0, 1, 1), seed=7)],
    ),
    (_played_as_planned() + "update episodes set finish_reason = 'error'", []),
    (
        _played_as_planned(instances={"bucket": "", "count": 9}) + "delete from episodes where purpose = 'evaluation'",
        [],
    ),
    (
        _played_as_planned()
        + "insert into episodes select * replace ('r' || episode_id as episode_id, 'again' as variant) from episodes",
        [],
    ),
]

SOURCES = """update runs set plan_json = '{"source": "a"}', environment_json = '{"source": "b"}';"""
BREAKS = [
    *(("plan_instance_counts", change, expected) for change, expected in PLAN_BREAKS),
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
        "instance_in_both_arms",
        """
        insert into episodes
        select * replace ('t-3' as episode_id, 'other' as instance_id) from episodes where episode_id = 't-stateless'
        """,
        [("other", 0, "", "", "persistent")],
    ),
    (
        "instance_in_every_condition",
        """
        insert into episodes
        select * replace ('e-3' as episode_id, 'other' as instance_id) from episodes where episode_id = 'e-stateless'
        """,
        [("other", "", "", "", "declared", "names", "", "stateless -> persistent replicate 0")],
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
        select * replace (1 as position, 'other' as instance_id) from training_examples where contract = 'stateless'
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
                    "turn, error_index, step, kind, error_type, message, is_caught, is_injected, is_missing_name",
                    "1, 0, 9, 'tool', 'ValueError', 'no', true, false, false",
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
def test_a_check_is_one_statement_below_a_comment_that_says_what_its_rows_are(name):
    assert CHECKS[name].startswith("-- ")
    assert ";" not in re.sub(r"--.*", "", CHECKS[name])
    assert "\nselect * from final\norder by " in CHECKS[name]


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


@pytest.mark.parametrize("table", sorted(TABLES))
def test_the_key_check_groups_every_table_by_its_key(table):
    key = ", ".join(f"{table}.{column}" for column in TABLES[table].KEY)
    assert f"from main.{table}\n    group by {key}\n" in CHECKS["table_keys_are_unique"]


@pytest.mark.parametrize("table", sorted(set(TABLES) - {"runs"}))
def test_a_row_of_any_table_that_traces_to_no_run_is_found(study, make_row, insert_rows, table):
    needed = {"no_tolerance_reason": "words"} if table == "claims" else {}
    insert_rows(study, [make_row(TABLES[table], run_id="nobody", **needed)])
    assert study.sql(CHECKS["table_rows_trace_to_a_run"]).fetchall() == [(table, "nobody", 1)]
