"""The behaviour metrics of hand-made episodes, worked out by hand (arXiv 2603.01209, appendix F)."""

from importlib.resources import files

import pytest

from tests.empty_warehouse import open_empty_memory
from tests.sql.hand_made_warehouse import HandMade

IMPORT_IDS = "import json\nids = json.loads(list_items())"


def behaviour(warehouse, reading: str = "appendix_f") -> list[dict]:
    return warehouse.sql(
        """
        select
            context_lifespan,
            interpreter_lifespan,
            imports_per_step,
            state_utilization,
            redefinitions_per_step,
            user_name_count,
            state_footprint,
            unparsed_step_count
        from marts.episode_behaviour
        where reading = $reading
        order by episode_id
        """,
        reading=reading,
    )


def reuse_state(warehouse) -> None:
    """`ids` and `best` occur in steps 1 to 3, `item` in step 2; step 2 binds `best` anew."""
    warehouse.steps(
        warehouse.episode("P->P"),
        [
            (f"{IMPORT_IDS}\nbest = 0", ["best", "ids"]),
            ("for item in ids:\n    best += 1", ["best", "ids", "item"]),
            ("print(best, ids)", ["best", "ids", "item"]),
        ],
    )


def miss_state(warehouse) -> None:
    """Step 2 reads `ids`, which the reset took away; step 3 makes it again before it reads it."""
    warehouse.steps(
        warehouse.episode("P->S"), [(IMPORT_IDS, []), ("print(ids)", []), (f"{IMPORT_IDS}\nprint(ids)", [])]
    )


def test_another_reading_is_one_row_more():
    warehouse = HandMade(open_empty_memory())
    warehouse.steps(warehouse.episode("P->P"), [("a = 1", ["a"]), ("1", ["a"]), ("print(a)", ["a"]), ("a", ["a"])])
    parameters = (files("carryover.sql") / "staging" / "metric_parameters.sql").read_text(encoding="utf-8")
    known = "('next_step_counts', 1, 1, 'all', false, 'sites', true, false),"
    assert known in parameters
    row_more = known.replace("next_step_counts", "after_three_steps").replace(", 1, 1,", ", 3, 1,")
    warehouse.connection.execute(
        f"create or replace view staging.metric_parameters as {parameters.replace(known, known + row_more)}"
    )
    found = {name: behaviour(warehouse, name)[0]["state_utilization"] for name in ("appendix_f", "after_three_steps")}
    assert found == {"appendix_f": 2, "after_three_steps": 1}


def test_persistent_state_is_used_kept_and_redefined(warehouse):
    reuse_state(warehouse)
    assert behaviour(warehouse) == [
        {
            "context_lifespan": pytest.approx((3 + 3 + 1) / 3),
            "interpreter_lifespan": pytest.approx((3 + 3 + 2) / 3),
            "imports_per_step": pytest.approx(1 / 3),
            "state_utilization": 1,  # ids in step 3, bound in step 1; best was bound in step 2
            "redefinitions_per_step": pytest.approx(1 / 3),
            "user_name_count": 3,
            "state_footprint": 3,
            "unparsed_step_count": 0,
        }
    ]


def test_a_reset_leaves_nothing_to_use_and_nothing_to_redefine(warehouse):
    miss_state(warehouse)
    assert behaviour(warehouse) == [
        {
            "context_lifespan": 3.0,
            "interpreter_lifespan": 0.0,
            "imports_per_step": pytest.approx(2 / 3),
            "state_utilization": 0,
            "redefinitions_per_step": 0.0,
            "user_name_count": 1,
            "state_footprint": 0,
            "unparsed_step_count": 0,
        }
    ]


def test_with_gap_1_every_use_in_a_later_step_counts(warehouse):
    reuse_state(warehouse)
    miss_state(warehouse)
    # P->P: ids and best in step 2, best and ids in step 3; P->S: ids in step 2
    assert [row["state_utilization"] for row in behaviour(warehouse, "next_step_counts")] == [4, 1]


def test_name_of_one_step_lacks_lifespan_without_the_added_one(warehouse):
    reuse_state(warehouse)
    assert behaviour(warehouse, "lifespan_without_one")[0]["context_lifespan"] == pytest.approx((2 + 2 + 0) / 3)


def test_use_of_a_lost_name_counts_unless_liveness_is_required(warehouse):
    warehouse.steps(warehouse.episode("P->S"), [("total = 1", []), ("print(1)", []), ("print(total)", [])])
    assert behaviour(warehouse)[0]["state_utilization"] == 1
    assert behaviour(warehouse, "live_names_only")[0]["state_utilization"] == 0


def test_function_body_reads_count_unless_bound_or_scope_is_module(warehouse):
    warehouse.steps(
        warehouse.episode("P->P"),
        [
            ("table = {}\nother = 1", ["other", "table"]),
            ("pass", ["other", "table"]),
            ("def f():\n    return table, other\nother = 2", ["f", "other", "table"]),
        ],
    )
    assert behaviour(warehouse)[0]["state_utilization"] == 1
    assert behaviour(warehouse, "module_scope_only")[0]["state_utilization"] == 0


@pytest.mark.parametrize(
    ("code", "counted"),
    [
        # the body binds when it is called: the read of the block comes first
        ("def f():\n    global kept\n    kept = 1\nprint(kept)\nkept = 2", 1),
        ("def f():\n    return kept\nkept = 2\nprint(kept)", 0),
        ("kept = 2\nprint(kept)", 0),
        ("print(kept)\nkept = 2", 1),
    ],
)
def test_a_block_uses_what_it_reads_before_its_own_binding(warehouse, code, counted):
    warehouse.steps(warehouse.episode("P->P"), [("kept = 1", ["kept"]), ("pass", ["kept"]), (code, ["kept"])])
    assert behaviour(warehouse, "module_scope_only")[0]["state_utilization"] == counted


def test_a_body_that_binds_is_a_redefinition_unless_scope_is_module(warehouse):
    body = "def f():\n    global kept\n    kept = 1"
    warehouse.steps(warehouse.episode("P->P"), [("kept = 1", ["kept"]), (body, ["f", "kept"])])
    assert behaviour(warehouse)[0]["redefinitions_per_step"] == 0.5
    assert behaviour(warehouse, "module_scope_only")[0]["redefinitions_per_step"] == 0


def test_redefinitions_are_sites_by_default_and_names_otherwise(warehouse):
    warehouse.steps(warehouse.episode("P->P"), [("x = 1", ["x"]), ("x = 2\nx = 3", ["x"])])
    assert behaviour(warehouse)[0]["redefinitions_per_step"] == 1.0
    assert behaviour(warehouse, "distinct_redefinitions")[0]["redefinitions_per_step"] == 0.5


def test_names_that_the_episode_never_binds_are_no_user_names(warehouse):
    warehouse.steps(warehouse.episode("P->P"), [("import numpy as np", []), ("np.mean(unknown)", [])])
    assert behaviour(warehouse)[0] | {"imports_per_step": None} == {
        "context_lifespan": 0.0,
        "interpreter_lifespan": 0.0,
        "imports_per_step": None,
        "state_utilization": 0,
        "redefinitions_per_step": 0.0,
        "user_name_count": 0,
        "state_footprint": 0,
        "unparsed_step_count": 0,
    }


def test_both_lifespans_treat_an_episode_without_user_names_alike(warehouse):
    warehouse.steps(warehouse.episode("P->P"), [("import numpy as np", [])])
    warehouse.steps(warehouse.episode("P->P"), [("x = 1", ["x"])])
    lifespans = {
        reading: [(row["context_lifespan"], row["interpreter_lifespan"]) for row in behaviour(warehouse, reading)]
        for reading in ("appendix_f", "nameless_left_out")
    }
    assert lifespans == {"appendix_f": [(0.0, 0.0), (1.0, 1.0)], "nameless_left_out": [(None, None), (1.0, 1.0)]}


def test_unparsed_block_contributes_nothing_and_is_counted(warehouse):
    warehouse.steps(warehouse.episode("P->P"), [("x = (", []), ("import os", [])])
    row = behaviour(warehouse)[0]
    assert (row["unparsed_step_count"], row["imports_per_step"], row["user_name_count"]) == (1, 0.5, 0)


def test_an_episode_without_steps_has_a_row(warehouse):
    warehouse.episode("P->P", step_count=0)
    row = behaviour(warehouse)[0]
    assert (row["context_lifespan"], row["imports_per_step"], row["state_utilization"]) == (0.0, None, 0)


def names_alive(warehouse) -> list[tuple]:
    """Return what is told of names alive in each episode, an empty cell where nothing tells it."""
    told = ("interpreter_lifespan", "redefinitions_per_step", "state_footprint")
    return [tuple(row[column] for column in told) for row in behaviour(warehouse)]


def test_import_without_live_names_has_an_unknown_state_footprint(warehouse):
    warehouse.steps(warehouse.episode("P->P", backend="imported"), [("x = 1", []), ("x = 2", [])])
    warehouse.connection.execute("update main.steps set state_event = 'unknown'")
    warehouse.steps(warehouse.episode("P->P", backend="imported"), [("x = 1", ["x"]), ("x = 2", ["x"])])
    warehouse.steps(warehouse.episode("P->S", backend="imported"), [("x = 1", []), ("x = 2", [])])
    assert names_alive(warehouse) == [(None,) * 3, (2.0, 0.5, 1), (0.0, 0.0, 0)]


def test_nothing_is_alive_before_the_first_step_of_an_import(warehouse):
    for blocks in ([("x = 1", [])], [("x = 1", ["x"]), ("x = 2", [])], [("x = 1", []), ("x = 2", ["x"])]):
        warehouse.steps(warehouse.episode("P->P", backend="imported"), blocks)
    warehouse.connection.execute("update main.steps set state_event = 'unknown' where len(active_globals) = 0")
    # one step: 0 names can be bound again; the last one unknown: known before each step; the first one: not
    assert [row["redefinitions_per_step"] for row in behaviour(warehouse)] == [0.0, 0.5, None]


def test_exactly_one_reading_is_the_default(warehouse):
    for parameters in ("metric_parameters", "failure_parameters"):
        rows = warehouse.sql(f"select count(*) as count from staging.{parameters} where is_default")
        assert rows == [{"count": 1}]
