"""What an agent is told, part by part."""

import pytest

from carryover.tasks.cave.prompting import fill, new_objects, observation, system_prompt
from carryover.tasks.runtime.describe import Injected
from carryover.tasks.runtime.results import BlockError, BlockResult, Violation

FAILED = BlockError("interpreter", "ValueError", "Traceback\nValueError: bad\n")
FORBIDDEN = BlockError("interpreter", "PolicyViolation", "line 1: eval", (Violation("call", "eval", 1),))


@pytest.mark.parametrize("keeps_names", [True, False])
def test_an_observation_holds_every_part_in_order(keeps_names):
    suffix = "" if keeps_names else "_stateless"
    result = BlockResult(output="printed\n\n", result="3", error=FAILED, notices=("late", "cut"))
    assert observation(result, 2, ["extra"], keeps_names=keeps_names).split(fill(f"reminder{suffix}")) == [
        "\n".join(
            [
                fill("output", output="printed"),
                fill("value", value="3"),
                fill(f"error{suffix}", error="Traceback\nValueError: bad"),
                fill("notice", text="late"),
                fill("notice", text="cut"),
                fill("notice", text=fill("more_blocks", count=2)),
                "extra",
                "",
            ]
        ),
        "",
    ]


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (BlockResult(), fill("no_output")),
        (BlockResult(output=" \n"), fill("no_output")),
        (BlockResult(result="None"), fill("value", value="None")),
        (BlockResult(output="x"), fill("output", output="x")),
        (BlockResult(error=FORBIDDEN), fill("violation", violations="line 1: eval")),
    ],
)
def test_an_observation_tells_one_part_alone(result, told):
    assert observation(result, 1) == f"{told}\n{fill('reminder')}"


OBJECTS = [
    Injected("look", "function", "", "look(place=<object at 0x7f00>)"),
    Injected("total", "variable", "", "total: int"),
    Injected("rest", "variable", "", "rest: int"),
]


def test_a_system_message_lists_objects_by_kind():
    text = system_prompt(OBJECTS, {}, "Be brief.")
    assert "look(place=<object>)" in text
    assert "total: int\n\nrest: int" in text
    assert "(none)" in text  # types
    assert "Be brief." in text
    for prompt in ("session", "names"):
        assert fill(prompt) in text
        assert fill(f"{prompt}_stateless") in system_prompt([], {}, "", keeps_names=False)


def test_a_system_message_tells_skills_and_surroundings_that_are_there():
    plain = system_prompt(OBJECTS, {}, "")
    told = system_prompt(OBJECTS, {"plot": "Draw.", "mail": "Send."}, "", surroundings="Python 3")
    skills = fill("skills", entries="- plot: Draw.\n- mail: Send.")
    surroundings = fill("surroundings", text="Python 3")
    assert skills in told
    assert surroundings in told
    assert told.replace(f"{skills}\n", "").replace(f"{surroundings}\n", "") == plain


def test_later_objects_are_told_without_addresses():
    assert new_objects([]) == ""
    assert new_objects(OBJECTS[:2]) == fill("new_objects", entries="look(place=<object>)\n\ntotal: int")
