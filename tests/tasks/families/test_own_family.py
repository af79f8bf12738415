"""An author's family in the study's machine."""

import asyncio
import json

import pytest

from carryover.tasks.agent.protocol import CompletionRequest, Message
from tests.tasks.agent.playing import Model, block
from tests.tasks.families.playing import play
from tests.tasks.families.written import opened


@pytest.fixture
def boxes(tmp_path):
    return opened(tmp_path)


def test_an_episode_bears_the_familys_name_and_metrics(runtime, boxes):
    problem = boxes.sample("few", 1)
    fullest = max(problem.content, key=problem.content.get)
    model = Model(block(f"choose('{fullest}')\nfinish()"))
    episode = play(runtime, boxes, problem, model).episode
    assert (episode.family, episode.score, episode.is_solved) == ("boxes", 1.0, True)
    assert json.loads(episode.metrics_json or "") == {"chosen_coins": problem.content[fullest]}
    assert (episode.value_taken, episode.instance_id) == (None, problem.instance_id)


def test_a_refusal_of_a_tool_is_an_observation(runtime, boxes):
    recorded = play(runtime, boxes, boxes.sample("few", 1), Model(block("peek('nothing')"), block("finish()")))
    assert recorded.steps[0].error_type == "ToolRuntimeException"
    assert recorded.errors[0].message.endswith("There is no box 'nothing'.")


def test_injection_binds_what_the_family_knows(runtime, boxes):
    problem = boxes.sample("few", 1)
    first = sorted(problem.content)[0]
    model = Model(block(f"choose('{first}')"), block("print(chosen)\nfinish()"))
    recorded = play(runtime, boxes, problem, model, contract="injected")
    assert recorded.steps[1].output == f"{first}\n"


def test_compact_prompts_name_the_tools(boxes):
    texts = boxes.prompts("compact")
    assert texts["goal"] == "$goal Tools: list_boxes, peek, choose, finish."
    assert "`chosen`, the box chosen so far, or None" in texts["runtime_injected"]


def test_full_prompts_document_the_tools(boxes):
    tools = boxes.prompts("full")["tools"]
    assert 'def peek(box: str) -> int:\n    """Return the number of coins in a box."""' in tools
    assert tools.endswith("$cap_sentence")


@pytest.mark.parametrize("prompt_set", ["full", "compact"])
def test_goals_document_tools_that_vary(tmp_path, prompt_set):
    varied = opened(
        tmp_path,
        {
            "buckets = (": "tools_vary = True\n    buckets = (",
            "self.choose)  #": "*([self.choose] * (len(coins) > 9)))  #",
        },
    )
    few = varied.sample("few", 1)
    many = varied.sample("many", 1)
    assert "def choose" not in varied.goal_values(few)["goal"]
    assert 'def choose(box: str) -> None:\n    """Choose a box; the last' in varied.goal_values(many)["goal"]
    assert not any("peek" in text for text in varied.prompts(prompt_set).values())
    described = [json.loads(varied.rows(problem, "run", "train")[0].spec_json)["tools"] for problem in (few, many)]
    assert described == [["list_boxes", "peek", "finish"], ["list_boxes", "peek", "choose", "finish"]]


def test_the_usual_cap_is_the_familys(boxes):
    assert boxes.family.tool_call_cap == 40
    assert boxes.usual_tool_call_cap(boxes.sample("few", 1)) == 40


def test_an_instance_outlives_its_row(boxes):
    problem = boxes.sample("few", 5)
    row, items = boxes.rows(problem, "run", "train")
    assert items == []
    assert (row.family, row.task_id, row.item_count) == ("boxes", "boxes-0000000005", None)
    assert boxes.instance_of_row(row.model_dump()) == problem


def first_reply(teacher, instance_id):
    """Return what a teacher writes first, and the habits that it drew."""
    player = teacher.open_for(instance_id)
    request = CompletionRequest((GOAL,), seed=7, episode_id="any")
    return asyncio.run(player.complete(request)).text, player.habits


GOAL = Message(role="user", content="Choose the fullest of 6 boxes.")


def test_both_contracts_share_habits_and_sentences(boxes):
    persistent, stateless = (boxes.open_teacher("few", contract) for contract in ("persistent", "stateless"))
    drawn = set()
    for number in range(20):
        ours, habits = first_reply(persistent, f"instance {number}")
        theirs, their_habits = first_reply(stateless, f"instance {number}")
        assert habits == their_habits
        assert ours.splitlines()[0] == theirs.splitlines()[0]
        drawn.add(habits["boxes"])
    assert drawn == {2, 3}


def test_an_episode_records_its_teachers_habits(runtime, boxes):
    recorded = play(runtime, boxes, boxes.sample("few", 1), boxes.open_teacher("few", "persistent"))
    assert json.loads(recorded.episode.habits_json or "")["boxes"] in (2, 3)


def test_a_contract_without_teacher_is_refused(boxes):
    with pytest.raises(ValueError, match="family boxes has no teacher for contract 'injected'"):
        boxes.open_teacher("few", "injected")


def test_a_contract_of_ones_own_needs_its_scripts_teacher(tmp_path):
    less = opened(tmp_path / "less", {'taught = ("persistent", "stateless")': 'taught = ("stateless",)'})
    assert less.open_teacher("few", "functions").model_name == "scripted"
    with pytest.raises(ValueError, match="family boxes has no teacher for contract 'recent-2'; it has stateless"):
        less.open_teacher("few", "recent-2")
