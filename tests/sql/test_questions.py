"""The README's questions on the small hand-made warehouse: the exact rows of every query, worked out by hand."""

import re
from pathlib import Path

import pytest

from tasks.analysis.questions import read_questions, readme_text
from tasks.traces.rows import ToolCallRow

QUESTIONS = {question.number: question for question in read_questions(readme_text())}
FRONT_PAGE = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def asked(study):
    """A function that returns the rows of a question's query as tuples, sorted where the query leaves ties."""

    def ask(number):
        return sorted(
            tuple(round(value, 6) if isinstance(value, float) else value for value in row.values())
            for row in study.sql(QUESTIONS[number].sql)
        )

    return ask


def test_cells_have_their_gain_and_their_cost(asked):
    assert asked(1) == [
        ("P->P", 2, 0.75, 1000, 100, 2),
        ("P->S", 2, 0.5, 3500, 350, 2.5),
        ("common->P", 1, 0, 1000, 100, 4),
    ]


def test_missing_names_are_counted_with_their_first_step(study, asked):
    episode = study.episode("P->S", "i1")
    study.error(episode, 1, "NameError: name 'best' is not defined")
    study.error(episode, 2, "NameError: name 'best' is not defined", is_caught=True)
    study.error(episode, 2, "NameError: name 'best' is not defined", is_injected=True)
    assert asked(2) == [("P->S", "best", 1, 1, 1), ("P->S", "ids", 3, 2, 1)]


def test_names_that_carry_state_are_those_read_alive(asked):
    # `ids` and `best` in steps 2 and 3 of one episode; the other one reads nothing, and P->S is left out
    assert asked(3) == [("best", 2, 1), ("ids", 2, 1)]


def test_an_import_repeats_one_of_an_earlier_step(asked):
    assert asked(4) == [("P->P", 1, 0), ("P->S", 2, 0.5)]


def test_the_same_instance_is_compared_with_the_aligned_cell(asked):
    # 3,000 and 4,000 tokens against 1,000 each
    assert asked(5) == [("P->S", 2, 3.1, 3.5, 3.9)]


def test_refused_calls_are_a_share_and_caught_ones_a_share_of_these(study, asked):
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
                episode_id="e01",
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
    assert asked(6) == [("finish", 1, 0, None), ("inspect", 4, 0.5, 0.5)]


def test_readings_stand_side_by_side(asked):
    by_default = (0.5, 0, None, None)  # one use over a gap of 2 in one of two episodes
    assert {row[0]: row[1:] for row in asked(7)} == {
        "appendix_f": by_default,
        "distinct_redefinitions": by_default,
        "lifespan_without_one": by_default,
        "live_names_only": by_default,
        "module_scope_only": by_default,
        "nameless_left_out": by_default,
        "next_step_counts": (2, 0.5, None, None),  # four uses in one episode of P->P, one in P->S
    }


def test_an_episode_goes_on_after_its_first_missing_name(asked):
    # first missed in steps 2 and 1, of 3 and 2 steps
    assert asked(8) == [("P->S", 2, 1.5, 1, 0.5)]


def _table(text):
    """Return a Markdown table's rows by their first cell, arrows and thousands as SQL has them."""
    rows = [[cell.strip() for cell in line.strip("| \n").split("|")] for line in text.strip().splitlines()]
    names = [name.replace("→", "->") for name in rows[0][1:]]
    numbers = ([re.sub(r"[,%\s]", "", cell) for cell in row] for row in rows[2:])
    return {row[0]: dict(zip(names, values[1:], strict=True)) for row, values in zip(rows[2:], numbers, strict=True)}


def test_the_front_page_and_the_answers_are_of_one_demo():
    (demo,) = re.findall(r"\| `make demo`.*?(?=\n\n)", FRONT_PAGE, re.DOTALL)
    demo, answers = _table(demo), {number: _table(QUESTIONS[number].answer) for number in (1, 2, 4, 7, 8)}
    assert set(answers[2]) == {
        cell for cell, share in demo["episodes with a missing-name error"].items() if share != "0"
    }
    for cell, tokens in demo["tokens per episode"].items():
        assert float(tokens) == float(answers[1][cell]["tokens"])
        assert float(demo["normalized optimality"][cell]) == pytest.approx(
            100 * float(answers[1][cell]["score"]), abs=0.06
        )
        assert float(demo["state utilization"][cell]) == float(answers[7]["appendix_f"][cell.replace("->", "").lower()])
        missing = answers[8].get(cell, {"episodes": "0"})["episodes"]
        share = 100 * float(missing) / float(answers[1][cell]["episodes"])
        assert float(demo["episodes with a missing-name error"][cell]) == share
        if cell in answers[2]:
            assert answers[2][cell]["episodes"] == missing
        # the table's is a mean of ratios, and this a ratio of sums
        steps = float(answers[1][cell]["episodes"]) * float(answers[1][cell]["steps"])
        per_step = float(answers[4][cell]["imports"]) / steps
        assert float(demo["imports per step"][cell]) == pytest.approx(per_step, abs=0.01)
