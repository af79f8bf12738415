"""The ten questions on the small hand-made warehouse: the exact rows of every query, worked out by hand."""

from itertools import product

import pytest

from carryover.tasks.analysis.questions import questions_text, read_questions
from carryover.tasks.traces.rows import ToolCallRow
from tests.sql.hand_made import REPEATING, REUSING

QUESTIONS = {question.number: question for question in read_questions(questions_text())}


@pytest.fixture
def asked(warehouse):
    """A function that returns the rows of a question's query as tuples, sorted where the query leaves ties."""

    def ask(number):
        return sorted(
            tuple(round(value, 6) if isinstance(value, float) else value for value in row.values())
            for row in warehouse.sql(QUESTIONS[number].about("plan", "small"))
        )

    return ask


@pytest.fixture
def teachers(study):
    """Both teachers' episodes on one training instance."""
    study.instance("t1", split="train")
    episodes = [study.episode(f"teacher->{letter}", "t1", 1.0, split="train", step_count=3) for letter in ("P", "S")]
    for episode, blocks in zip(episodes, (REUSING, REPEATING), strict=True):
        study.steps(episode, blocks)
    return episodes


def test_cells_have_their_gain_and_their_cost(study, asked):
    assert asked(1) == [
        ("common", "P->P", 2, 0.75, 1000, 100, 2),
        ("common", "P->S", 2, 0.5, 3500, 350, 2.5),
        ("common", "common->P", 1, 0, 1000, 100, 4),
    ]


def test_episodes_that_miss_a_name_are_told_by_their_end(study, asked):
    assert asked(2) == [
        ("common", "small", "P->S", "budget_exhaustion", 1, 2, 2, 0.4, 4000),
        ("common", "small", "P->S", "normal", 1, 1, 3, 0.6, 3000),
    ]


def test_the_same_instance_is_compared_with_the_aligned_cell(study, asked):
    # 3,000 and 4,000 tokens against 1,000 each
    assert asked(3) == [("common", "P->S", 2, 3.1, 3.5, 3.9)]


def test_the_interaction_stands_beside_each_seed(study, asked):
    for cell, tokens in (("S->P", 1900), ("S->S", 1400)):
        study.episode(cell, prompt_tokens=tokens)
    for cell, tokens in (("P->P", 0), ("P->S", 100), ("S->P", 0), ("S->S", 0)):
        study.episode(cell, training_seed=1, prompt_tokens=tokens)
    # (1,000 - 3,500) - (2,000 - 1,500), and (100 - 200) - (100 - 100)
    assert asked(4) == [
        ("common", "small", 0, 1000, 3500, 2000, 1500, -3000),
        ("common", "small", 1, 100, 200, 100, 100, -100),
    ]


@pytest.mark.parametrize(("instance_count", "verdict"), [(20, "equivalent"), (19, "no verdict")])
def test_equality_is_told_of_one_runtime(warehouse, asked, instance_count, verdict):
    for cell, number in product(("P->P", "P->S", "S->P", "S->S"), range(instance_count)):
        warehouse.episode(cell, f"i{number}", 0.9)
    arms = {"train_a": "persistent", "train_b": "stateless"}
    values = {"mean_a": 0.94, "mean_b": 0.95, "low": -0.012, "high": 0.001, "verdict": "equivalent"}
    for group, runtime_b in (("fixed_runtime", "persistent"), ("end_to_end", "stateless")):
        runtimes = {"runtime_a": "persistent", "runtime_b": runtime_b}
        warehouse.statistic("equivalence", comparison_group=group, **arms, **runtimes, **values)
    assert asked(5) == [("common", "small", "persistent", 2, 94, 95, -1.2, 0.1, verdict)]


def test_names_that_carry_state_are_those_read_alive(teachers, asked):
    # `ids` and `best` in steps 2 and 3 of the persistent teacher's episode; evaluations are left out
    assert asked(6) == [("best", 2, 1), ("ids", 2, 1)]


def test_an_import_repeats_one_of_an_earlier_step(teachers, asked):
    assert asked(7) == [("teacher->P", 1, 0), ("teacher->S", 2, 0.5)]


def test_caught_calls_are_a_share_of_the_refused_ones(study, teachers, asked):
    calls = [
        ("inspect", None, False),
        ("inspect", "ToolError", True),
        ("inspect", "ToolError", False),
        ("inspect", None, False),
        ("finish", None, False),
    ]
    for number, (tool, error_type, is_caught) in enumerate(calls, start=1):
        study.add(
            ToolCallRow(
                run_id="run",
                episode_id=teachers[0],
                step=1,
                call=number,
                tool=tool,
                arguments_json="{}",
                result_json=None,
                error_type=error_type,
                error_message=None,
                is_caught=is_caught,
                is_injected=False,
                seconds=0.0,
            )
        )
    assert asked(8) == [("teacher->P", "finish", 1, 0, None), ("teacher->P", "inspect", 4, 0.5, 0.5)]
