"""The page of an episode, whole, of rows made up."""

import json

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer.episode_page import episode_page, episode_pages, split_reply
from tests.tasks.viewer.asking import MadeUp

OPENING = [{"role": "system", "content": "Pack."}]
MISSING = "NameError: name 'x' is not defined"
NAMED = {"run_id": "run", "episode_id": "e1"}
NAMES = {"active_globals_before": [], "active_globals": [], "last_step_globals": []}
FIRST = {
    "step": 1, "turn": 1, "code": "x = 1", "output": "", "result": None, "error": None, "state_event": "kept",
    **NAMES, "last_step_globals": ["x"],
}  # fmt: skip
SECOND = {
    "step": 2, "turn": 2, "code": "print(x)", "output": "", "result": None, "error": MISSING, "state_event": "kept",
    **NAMES,
}  # fmt: skip
FAILED = {
    "turn": 2, "step": 2, "message": MISSING, "is_missing_name": True, "is_injected_missing_name": False,
}  # fmt: skip
CALL = {"step": 1, "call": 1, "tool": "look"}
EVENT = {"sequence": 0, "step": 1, "kind": "drop"}


def head(name):
    return {"episode_id": name, "shown_contract": "persistent", "contract_json": '{"version": 1}'}


def turn(number, text, observation):
    return {"turn": number, "assistant_text": text, "observation": observation}


def touch(step, kind, name):
    return {"step": step, "kind": kind, "name": name, "is_definition": False, "is_deferred": False}


def of_first(rows):
    return [{**NAMED, **row} for row in rows]


FIRST_TURN = turn(1, "Set.\n```python\nx = 1\n```\nDone.", "{}")
SECOND_TURN = turn(2, "```python\nprint(x)\n```", None)
TURNS = [turn(0, "", json.dumps(OPENING)), FIRST_TURN, SECOND_TURN]


@pytest.fixture
def ask():
    return MadeUp(
        turns=[*of_first(TURNS), {**NAMED, "episode_id": "e2", **turn(1, "Only words.", None)}],
        steps=of_first([FIRST, SECOND]),
        name_events=of_first([touch(1, "bind", "x"), touch(2, "read", "x")]),
        tool_calls=of_first([CALL]),
        errors=of_first([FAILED]),
        runtime_events=of_first([EVENT]),
        episode_heads=[head("e1"), head("e2")],
    )


def test_a_page_holds_turns_with_their_steps_and_the_lane(ask):
    page = episode_page(ask, "e1")
    assert page.pop("lint")["steps"].keys() == {2}
    assert page == {
        "episode": {"episode_id": "e1", "shown_contract": "persistent"},
        "contract": {"version": 1},
        "opening": OPENING,
        "turns": [
            {
                **FIRST_TURN,
                "before": "Set.",
                "after": "Done.",
                "errors": [],
                "steps": [{**FIRST, "lines": [[("", "x = "), ("m", "1")]], "calls": [CALL]}],
            },
            {
                **SECOND_TURN,
                "before": "",
                "after": "",
                "errors": [FAILED],
                "steps": [{**SECOND, "lines": [[("b", "print"), ("", "(x)")]], "calls": []}],
            },
        ],
        "lane": [
            {
                "name": "x",
                "is_definition": False,
                "cells": [
                    {"step": 1, "is_alive": False, "is_kept": False, "marks": ("bound", "lost")},
                    {"step": 2, "is_alive": False, "is_kept": False, "marks": ("missing",)},
                ],
            }
        ],
        "missing": [
            {"turn": 2, "step": 2, "name": "x", "lost_step": 1, "bound_step": 1, "is_injected": False},
        ],
        "runtime_events": [EVENT],
    }


def test_pages_of_several_episodes_are_asked_for_at_once(ask):
    first, second = episode_pages(ask, ["e1", "e2"])
    assert first == episode_page(ask, "e1")
    (said,) = second["turns"]
    assert said == {**turn(1, "Only words.", None), "before": "Only words.", "after": "", "errors": [], "steps": []}
    assert second["episode"]["episode_id"] == "e2"
    assert {name: second[name] for name in ("opening", "lane", "missing", "runtime_events")} == {
        "opening": [], "lane": [], "missing": [], "runtime_events": [],
    }  # fmt: skip
    assert [parameters for _, parameters in ask.asked[:7]] == [{"episode_ids": ["e1", "e2"]}] * 7


@pytest.mark.parametrize("turns", [[], of_first([turn(0, "", None)]), of_first([turn(1, "", '["x"]')])])
def test_an_episode_without_opening_messages_shows_none(turns):
    nothing = dict.fromkeys(("steps", "name_events", "tool_calls", "errors", "runtime_events"), ())
    assert episode_page(MadeUp(turns=turns, episode_heads=[head("e1")], **nothing), "e1")["opening"] == []


def test_an_unknown_episode_is_refused(ask):
    tables = ("turns", "steps", "name_events", "tool_calls", "errors", "runtime_events", "episode_heads")
    with pytest.raises(UserError, match=r"^no episode 'e9'; the study page lists the plan's episodes$"):
        episode_page(MadeUp(**dict.fromkeys(tables, ())), "e9")


@pytest.mark.parametrize(
    ("text", "blocks", "parts"),
    [
        ("Look.\n```python\nx = 1\n```\nDone.", ["x = 1"], ("Look.", "Done.")),
        ("Look.\n```python\nx = 1\n```\nDone.", ["\n\nx = 1\n\n"], ("Look.", "Done.")),
        (" Only words.\n", [], ("Only words.", "")),
        ("I run x = 1 now.", ["x = 1"], ("I run x = 1 now.", "")),
        ("The call stands elsewhere.", ["x = 1"], ("The call stands elsewhere.", "")),
        ("```\nx\n```\n```\ny\n```", ["x"], ("", "```\ny\n```")),
        ("x = 1 first\n```python\nx = 1\n```", ["x = 1"], ("x = 1 first", "")),
        ("```python\n```\nDone.", [""], ("", "python\n```\nDone.")),
    ],
)
def test_a_reply_is_split_around_its_block(text, blocks, parts):
    assert split_reply(text, blocks) == parts
