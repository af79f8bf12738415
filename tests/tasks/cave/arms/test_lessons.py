"""What small models learn from is what the oracle's played episodes show."""

import asyncio
import hashlib
import json
import random
import re

import pytest

from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.lessons import LEARNING_ARMS, SUITE, TURN_COUNT, drill, lesson, lessons
from carryover.tasks.cave.arms.oracle import Oracle, script
from carryover.tasks.cave.arms.play import CaseEpisode, Setting, play
from carryover.tasks.cave.suites.catalogue import suite_cases
from carryover.tasks.cave.suites.multi_variable import CASES_PER_TIER
from tests.flattening import flat

FEW = {"seed_count": 2, "drill_count": 20}


@pytest.mark.parametrize("arm", LEARNING_ARMS)
def test_a_lesson_is_the_oracles_episode(arm, fork_tree):
    case = suite_cases(SUITE, 1)[-1]
    setting = Setting(AgentSpec(), fork_tree, "run", "plan", "smoke")
    played = asyncio.run(play(CaseEpisode(case, arm, 0), Oracle(script(case, ARMS[arm])), setting))
    opening, *turns = played.recorded.turns
    texts = [message["content"] for message in json.loads(opening.observation or "")]
    texts += flat((turn.assistant_text, turn.observation) for turn in turns)
    assert [*(message.content for message in lesson(case, arm).messages), None] == texts


def test_lessons_hold_no_tested_case():
    tested = {lesson(case, "persistent_code").messages for case in suite_cases(SUITE, 3)}
    assert tested.isdisjoint(each.messages for each in lessons("persistent_code", 3, **FEW))


def test_drills_have_every_listed_name_written_down_in_order():
    question, block, *_ = drill(random.Random(1)).messages
    listed = re.findall(r"`(\w+)` and (\d+)", question.content)
    assert len(listed) > 1
    assert re.findall(r"(\w+) = \1 \+ (\d+)", block.content) == listed


@pytest.mark.parametrize("arm", LEARNING_ARMS)
def test_lessons_are_equal_whenever_they_are_drawn(arm):
    drawn = lessons(arm, 3, **FEW)
    assert drawn == lessons(arm, 3, **FEW)
    assert drawn != lessons(arm, 4, **FEW)


def test_drills_of_a_seed_are_the_kept_ones():
    """Results are of models that were trained on them."""
    text = "\n".join(message.content for message in drill(random.Random(1)).messages)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "7a51d45159468fc0"
    assert lessons("persistent_code", 3, **FEW)[:2] == [*map(drill, [source := random.Random(3), source])]


def test_lessons_are_drills_and_cases_of_three_tiers():
    learnt = lessons("persistent_code", 3, **FEW)
    assert len(learnt) == 20 + 2 * 3 * CASES_PER_TIER
    assert [len(each.messages) for each in learnt] == [16] * 20 + [1 + 4 * TURN_COUNT] * 30
