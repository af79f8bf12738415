import json

import pytest

from carryover.tasks.agent.prompt_format import SILENT, Feedback, cap_sentence
from carryover.tasks.agent.variation import Variation
from carryover.tasks.knapsack.instance import Instance, Item, Packing
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.runtime.results import Violation
from tests.tasks.agent.playing import open_study_wire, opening_messages

HEADER = {"runtime": "persistent", "active_globals": ["table"], "last_step_globals": ["table"]}


def make_instance(seed=1, weights=(4, 5, 6), allowed=("A",), optimum=("item_a",)):
    return Instance(
        spec=KNAPSACK["easy"],
        seed=seed,
        items=tuple(
            Item(item_id=f"item_{letter}", weight=weight, value=90 + index, item_class="ABC"[index])
            for index, (letter, weight) in enumerate(zip("abc", weights, strict=True))
        ),
        capacity=31,
        inspection_budget=17,
        allowed_classes=allowed,
        optimum=Packing(item_ids=optimum, value=90, weight=4),
    )


@pytest.mark.parametrize("prompt_set", ["full", "compact"])
@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_opening_messages_depend_on_nothing_hidden(prompt_set, contract):
    other = make_instance(seed=99, weights=(14, 15, 16), allowed=("B", "C"), optimum=("item_b",))

    messages = opening_messages(prompt_set, make_instance(), contract, header=HEADER)

    assert messages == opening_messages(prompt_set, other, contract, header=HEADER)
    text = "\n".join(message.content for message in messages)
    assert "item_a" not in text
    assert "31" in text
    assert "17" in text


def test_the_study_opens_with_four_system_messages_and_the_task():
    messages = opening_messages("full", make_instance(), "stateless", header=HEADER)

    assert [message.role for message in messages] == ["system"] * 4 + ["user"]
    assert "Runtime mode: RESET" in messages[1].content
    assert "at most 25 tool calls" in messages[3].content
    task = json.loads(messages[4].content)
    assert list(task) == ["task", "runtime_state"]
    assert "classes A, B, C" in task["task"]
    assert task["runtime_state"] == HEADER


def test_the_openings_of_the_contracts_differ_in_two_messages():
    persistent = opening_messages("full", make_instance(), "persistent")
    stateless = opening_messages("full", make_instance(), "stateless")

    assert [a == b for a, b in zip(persistent, stateless, strict=True)] == [True, False, False, True, True]


def test_study_observation_holds_four_fields_and_the_header():
    text = open_study_wire("full").observation(Feedback(is_success=True, output="1\n", result="2"), HEADER)

    assert json.loads(text) == {
        "observation": {"success": True, "result": "2", "output": "1\n", "error": None},
        "runtime_state": HEADER,
    }


def test_notes_stand_beside_the_observation():
    feedback = Feedback(is_success=False, error="StepTimeout", notices=("rolled back",), system_note="one block only")

    content = json.loads(open_study_wire("full").observation(feedback, None))

    assert content["observation"]["notices"] == ["rolled back"]
    assert content["system_note"] == "one block only"
    assert "runtime_state" not in content


def test_observation_lists_policy_violations_one_by_one():
    feedback = Feedback(is_success=False, error="PolicyViolation", violations=(Violation("import", "os", 2),))

    content = json.loads(open_study_wire("full").observation(feedback, None))

    assert content["observation"]["violations"] == [{"rule": "import", "name": "os", "line": 2}]


def test_the_compact_observation_says_everything_once():
    wire = open_study_wire("compact")
    failure = Feedback(is_success=False, output="more 3\n", error='File "<block>", line 1\nNameError: name "x"')

    assert wire.observation(Feedback(is_success=True, output="more 3\n"), HEADER) == (
        '{"output": "more 3", "runtime": "persistent", "active_globals": ["table"]}'
    )
    assert json.loads(wire.observation(failure, None)) == {"output": "more 3", "error": 'NameError: name "x"'}


def test_compact_observation_is_cut_at_its_limits():
    feedback = Feedback(is_success=False, output="x" * 2000, error="y" * 2000)

    content = json.loads(open_study_wire("compact").observation(feedback, None))

    assert (len(content["output"]), len(content["error"])) == (900, 160)


def test_the_compact_opening_is_two_messages():
    messages = opening_messages("compact", make_instance(), "persistent", header=HEADER)

    assert [message.role for message in messages] == ["system", "user"]
    assert sum(len(message.content) for message in messages) < 350


@pytest.mark.parametrize(("cap", "told"), [(12, "at most 12 tool calls"), (None, "as often as it likes")])
def test_compact_opening_tells_a_cap_unlike_the_bucket(cap, told):
    (own, task), (other, same_task) = (
        opening_messages("compact", make_instance(), "stateless", cap=each) for each in (25, cap)
    )

    assert "tool call" not in own.content
    assert other.content == f"{own.content}\n{cap_sentence(cap, 4)}"
    assert told in other.content
    assert same_task == task


def test_a_silent_variation_leaves_the_planning_alone():
    planning = opening_messages("full", make_instance(), variation=SILENT)[1].content
    worded = opening_messages("full", make_instance(), variation=Variation(wording="Names stay.", header_form="none"))

    assert worded[1].content == f"Names stay.\n\n{planning}"
    assert planning == planning.strip()


@pytest.mark.parametrize("prompt_set", ["full", "compact"])
def test_a_variation_words_the_runtime_instruction(prompt_set):
    variation = Variation(wording="Names stay.", header_form="standard")

    messages = opening_messages(prompt_set, make_instance(), variation=variation)

    text = "\n".join(message.content for message in messages)
    assert "Names stay." in text
    assert "PERSISTENT" not in text


@pytest.mark.parametrize("prompt_set", ["full", "compact"])
def test_an_observation_keeps_every_letter(prompt_set):
    assert "pèche" in open_study_wire(prompt_set).observation(Feedback(is_success=True, output="pèche"), None)


def test_the_cap_is_told_as_it_is():
    assert "all ten tools counted" in cap_sentence(9, 10)
    assert "all 11 tools counted" in cap_sentence(9, 11)
    assert "at most 80 tool calls" in cap_sentence(80, 4)
    assert cap_sentence(None, 4) == "A block may call tools as often as it likes."
