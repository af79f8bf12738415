"""Columns of an episode: errors by kind, names, labels, and null where a value is unknown."""

from itertools import product

from carryover.tasks.knapsack.teachers.habits import VARIED, Habits, draw_habits
from carryover.tasks.traces.rows import InstanceRow
from tests.storage.conftest import build_row

KINDS = ("interpreter", "tool", "cap", "protocol", "model")
MISSING = "NameError: name 'x' is not defined"


def metrics(warehouse, *columns):
    """Return some columns of every episode, in the order of their ids."""
    rows = warehouse.sql("from marts.episode_metrics order by plan_digest, episode_id")
    return [tuple(row[column] for column in columns) for row in rows]


def test_errors_are_counted_by_kind_and_by_whether_a_block_caught_them(warehouse):
    episode = warehouse.episode()
    for number, kind in enumerate(KINDS, start=1):
        for _ in range(number):
            warehouse.error(episode, 1, "words", kind)
        for _ in range(10 * number):
            warehouse.error(episode, 1, "words", kind, is_caught=True)
        warehouse.error(episode, 1, "words", kind, is_injected=True)
    columns = ("interpreter", "tool", "caught_tool", "cap", "protocol", "model")
    # what a block caught counts of its tools, and of what is no error of a block
    assert metrics(warehouse, *(f"{name}_error_count" for name in columns)) == [(1, 2, 20, 3, 44, 55)]


def test_only_an_uncaught_error_of_the_interpreter_is_a_missing_name(warehouse):
    for kind, is_caught, is_injected in product(("interpreter", "tool"), (False, True), (False, True)):
        episode = warehouse.episode()
        warehouse.error(episode, 1, MISSING, kind, is_caught=is_caught, is_injected=is_injected)
    assert metrics(warehouse, "missing_name_count", "has_missing_name") == [(1, True), *[(0, False)] * 7]


def test_a_block_repeats_the_one_before_it_in_its_episode(warehouse):
    for blocks in (["a", "b", "a", "a", "a"], ["a"], []):
        episode = warehouse.episode(step_count=len(blocks))
        warehouse.steps(episode, [(block, ()) for block in blocks])
    warehouse.episode(step_count=0, backend="imported")
    warehouse.episode(step_count=3)
    assert metrics(warehouse, "repeated_step_count") == [(2,), (0,), (0,), (None,), (None,)]


def test_a_repair_is_the_first_clean_block_after_the_first_miss(warehouse):
    for missed, failed in (((2, 3), (4,)), ((4,), ()), ((1,), (2, 3, 4)), ((), (1,))):
        episode = warehouse.episode()
        warehouse.steps(episode, [(f"x = {number}", ()) for number in range(4)])
        for step in missed:
            warehouse.error(episode, step, MISSING)
        for step in failed:
            warehouse.error(episode, step, "ValueError: words")
    caught = warehouse.episode()
    warehouse.steps(caught, [("x = 1", ()), ("x = 2", ()), ("x = 3", ())])
    warehouse.error(caught, 1, MISSING)
    warehouse.error(caught, 2, "ValueError: words", is_caught=True)
    assert metrics(warehouse, "is_repaired", "turns_to_repair") == [
        (False, None), (False, None), (False, None), (None, None), (True, 1),
    ]  # fmt: skip


def test_shares_of_an_episode_are_of_its_instance_and_its_turns(warehouse):
    warehouse.instance("i1", capacity=40, budget=16)
    warehouse.instance("i1", capacity=40, budget=16, split="train")
    spent = {"prompt_tokens": 900, "completion_tokens": 300}
    warehouse.episode("P->P", "i1", weight_taken=10, inspected_count=4, turn_count=3, **spent)
    warehouse.episode("P->P", "unknown", turn_count=0, **spent)
    columns = ("capacity_use", "inspection_budget_use", "total_tokens", "tokens_per_turn")
    assert metrics(warehouse, *columns) == [(0.25, 0.25, 1200, 400), (None, None, 1200, None)]


UNCOUNTED = {
    "injected_fault_count": None, "model_seconds": None, "execution_seconds": None, "executed_call_count": None,
}  # fmt: skip
OF_NAUGHT = {
    "score": 0.5, "weight_taken": 0, "inspected_count": 0, "wall_seconds": 0.0, "prompt_tokens": 0,
    "completion_tokens": 0, "cached_prompt_tokens": 7, "token_source": "imported",
}  # fmt: skip


IMPORTS = [
    ({"backend": "fork_tree"}, {"capacity_use": 0, "inspected_count": 0, "wall_seconds": 0, "model_seconds": 1}),
    ({"backend": "fork_tree", "score": None}, {"is_solved": False, "executed_call_count": 12}),
    ({}, {"capacity_use": None, "inspected_count": None, "wall_seconds": None, **UNCOUNTED}),
    ({}, {"prompt_tokens": None, "completion_tokens": None, "cached_prompt_tokens": None, "total_tokens": None}),
    ({"score": 0.0}, {"capacity_use": 0, "inspected_count": 0, "is_solved": False}),
    ({"score": None}, {"capacity_use": None, "inspected_count": None, "is_solved": None}),
    ({"weight_taken": 10, "inspected_count": 4, "wall_seconds": 2.0}, {"capacity_use": 0.2, "inspected_count": 4}),
    ({"wall_seconds": 2.0, "prompt_tokens": 9, "completion_tokens": 3}, {"wall_seconds": 2, "total_tokens": 12}),
    ({"token_source": "server"}, {"prompt_tokens": 0, "completion_tokens": 0, "cached_prompt_tokens": 7}),
]


def test_what_nobody_counted_in_an_import_is_unknown(warehouse):
    warehouse.instance("i1", capacity=50)
    for number, (values, _) in enumerate(IMPORTS):
        place = {"plan_digest": f"plan {number}", "backend": "imported"}
        warehouse.episode("P->P", "i1", **{**place, **OF_NAUGHT, **values})
    rows = warehouse.sql("from marts.episode_metrics order by plan_digest")
    for row, (values, told) in zip(rows, IMPORTS, strict=True):
        assert {name: row[name] for name in told} == told, values


LABELS = [
    ("laptop", {}, "laptop, not Qwen3-8B"),
    ("import", {}, "imported rows"),
    ("paper", {}, "paper, Qwen3-8B"),
    ("paper", {"base": "unnamed"}, "paper, unknown model"),
    ("paper", {"base": "unnamed", "backend": "imported"}, "paper, Qwen3-8B"),
    ("paper", {"base": "teacher", "backend": "imported"}, "paper, model"),
    ("paper", {"purpose": "teacher"}, "paper, model"),
    ("pretrained", {}, "pretrained, Qwen3-8B"),
    ("pretrained", {"base": "teacher"}, "pretrained, model"),
    ("pretrained", {"base": "unnamed"}, "pretrained, unknown model"),
]


def test_a_column_is_headed_by_what_was_measured(warehouse):
    for number, (scale, values, _) in enumerate(LABELS):
        plan = f"plan {number}"
        warehouse.run(f"run {number}", plan, scale="pretrained" if scale == "pretrained" else "paper")
        warehouse.episode("P->P", scale=scale, plan_digest=plan, **values)
    assert metrics(warehouse, "measured_on") == [(label,) for *_, label in LABELS]


def test_a_bucket_of_the_knapsack_stands_for_a_split_of_the_paper(warehouse):
    for number, values in enumerate(
        (
            {},
            {"is_out_of_distribution": True},
            {"bucket": "hard"},
            {"bucket": "easy", "is_out_of_distribution": True},
            {"bucket": "easy", "family": "map"},
        )
    ):
        warehouse.episode("P->P", plan_digest=f"plan {number}", **values)
    assert metrics(warehouse, "published_split") == [("easy",), ("hard",), ("hard",), ("easy",), (None,)]


CELLS = [
    ("P->S", {}, ("sft", "P->S")),
    ("I->IP", {}, ("sft", "I->IP")),
    ("mine->other", {}, ("sft", "mine->other")),
    ("base->P", {}, ("base", "common->P")),
    ("base->P", {"base": "hub"}, ("base", "hub->P")),
    ("base->P", {"base": "hub", "scale": "import"}, ("base", "model->P")),
    ("base->P", {"base": "common", "scale": "import"}, ("base", "common->P")),
    ("P->P", {"base": "teacher"}, ("teacher", "P->P")),
    ("teacher->S", {}, ("teacher", "teacher->S")),
    ("P->S", {"purpose": "teacher"}, ("teacher", "P->S")),
]


def test_a_cell_is_named_by_its_contracts_or_its_base(warehouse):
    for number, (cell, values, _) in enumerate(CELLS):
        warehouse.episode(cell, plan_digest=f"plan {number}", **values)
    assert metrics(warehouse, "model", "condition") == [told for *_, told in CELLS]


def test_an_episode_counts_unless_its_runtime_failed(warehouse):
    failed = {"finish_reason": "error"}
    for number, values in enumerate(({}, failed, {**failed, "backend": "imported"}, {"finish_reason": "timeout"})):
        warehouse.episode("P->P", plan_digest=f"plan {number}", **values)
    assert metrics(warehouse, "is_last_attempt", "is_counted", "finish_category", "table_6_category") == [
        (True, True, "normal", "normal"),
        (True, False, "abnormal", "abnormal"),
        (True, True, "abnormal", "abnormal"),
        (True, True, "timeout", "budget_exhaustion"),
    ]


def test_only_the_last_attempt_counts(warehouse):
    for attempt in (0, 1, 2):
        warehouse.episode("P->P", episode_id=f"e{attempt}", attempt=attempt)
    warehouse.add(build_row(InstanceRow, instance_id="i1", capacity=1))
    assert metrics(warehouse, "episode_id", "is_last_attempt", "is_counted") == [
        ("e0", False, False), ("e1", False, False), ("e2", True, True),
    ]  # fmt: skip


def test_a_contract_is_declared_unless_it_says_otherwise(warehouse):
    for number, contract in enumerate(("{}", '{"declares_contract": true}', '{"declares_contract": false}', "")):
        values = {"contract_json": contract, "habits_json": '{"taken_per_turn": 3}'}
        warehouse.episode("P->P", plan_digest=f"plan {number}", **values)
    assert metrics(warehouse, "is_declared", "taken_per_turn") == [
        (True, "3"), (True, "3"), (False, "3"), (True, "3"),
    ]  # fmt: skip


BUCKETS = [
    ([{"scale": "paper"}], (True, True)),
    ([{"scale": "paper"}, {"scale": "laptop"}], (False, True)),
    ([{"scale": "paper", "variant": "v"}], (True, False)),
    ([{"scale": "paper", "visibility": "as_trained"}], (True, False)),
    ([{"scale": "paper", "header": "none"}], (True, False)),
    ([{"scale": "paper", "family": "map"}], (True, False)),
    ([{"scale": "paper", "family": "map"}, {"scale": "paper"}], (True, True)),
]


def test_published_values_stand_beside_buckets_that_were_played_alike(warehouse):
    for number, (labels, _) in enumerate(BUCKETS):
        plan = f"plan {number}"
        warehouse.run(f"run {number}", plan, scale="paper")
        for instance, values in enumerate(labels):
            warehouse.episode("P->P", f"i{instance}", plan_digest=plan, **values)
        warehouse.episode("teacher->P", base="common", scale="import", plan_digest=plan)
    rows = warehouse.sql("from marts.evaluated_buckets")
    found = [(row["has_published_model"], row["is_as_published"]) for row in rows]
    assert found == [told for _, told in BUCKETS]


def test_habits_and_prompts_of_an_episode_are_columns(warehouse):
    habits = draw_habits(VARIED, "i1")
    warehouse.episode("teacher->P", habits_json=habits.model_dump_json(), prompt_set="compact")
    warehouse.episode("P->P")
    drawn = tuple(str(value) for _, value in habits)
    assert metrics(warehouse, *Habits.model_fields, "prompt_set") == [
        (*drawn, "compact"), (*[None] * len(drawn), None),
    ]  # fmt: skip
