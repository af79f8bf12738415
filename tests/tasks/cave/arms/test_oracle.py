import asyncio

import pandas
import pytest

from carryover.tasks.agent.protocol import Completion, CompletionRequest, FunctionCall, Message
from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.case_environment import source_of
from carryover.tasks.cave.arms.oracle import Oracle, programs, script
from carryover.tasks.cave.arms.tokens import count_messages, count_reply
from carryover.tasks.cave.scripted import block
from carryover.tasks.cave.suites.case import Call, Case, Dialogue, Turn, World
from carryover.tasks.cave.suites.objects import Robot


def test_every_call_of_a_conversation_has_an_id_of_its_own():
    oracle = Oracle([(Call("look", {"n": 1}), Call("look", {"n": 2})), (Call("look", {}),), "Done."])
    messages = [Message(role="user", content="Go.")]
    replies = []
    for _ in range(3):
        replies.append(asyncio.run(oracle.complete(CompletionRequest(tuple(messages), 0, "episode"))))
        messages.append(Message(role="assistant", content=""))
    assert [[call.call_id for call in reply.tool_calls] for reply in replies] == [
        ["call_0_0", "call_0_1"],
        ["call_1_0"],
        [],
    ]
    assert [reply.finish_reason for reply in replies] == ["tool_calls", "tool_calls", "stop"]
    assert [reply.text for reply in replies] == ["", "", "Done."]


def test_a_reply_is_counted_by_the_stated_tokenizer():
    messages = (Message(role="user", content="Look at 1234567."),)
    tools = ({"type": "function", "function": {"name": "look"}},)
    oracle = Oracle([(Call("look", {"n": 1}),)])
    call = FunctionCall("call_0_0", "look", '{"n": 1}')
    assert asyncio.run(oracle.complete(CompletionRequest(messages, 0, "episode", tools=tools))) == Completion(
        text="",
        finish_reason="tool_calls",
        prompt_tokens=count_messages(messages, tools),
        cached_prompt_tokens=0,
        completion_tokens=count_reply("", [call]),
        model_seconds=0.0,
        tool_calls=(call,),
    )


TWO_TURNS = Case(
    "made",
    "two",
    0,
    World(variables={"a": 1, "b": {5}, "c": 3}),
    (Turn("Add.", "a += len(b)"), Turn("Put.", "b.add(a)\nc = a")),
    dialogue=Dialogue("You ask.", told=("a fact",)),
)
FILES = "import json\nfrom pathlib import Path\n"
FILE = "json.loads(Path('{}.json').read_text())"


def read(*names):
    return tuple(Call("read_variable", {"name": name}) for name in names)


def write(name, value):
    return Call("write_variable", {"name": name, "value": value})


def run(code):
    return (Call("execute_python", {"code": code}),)


SCRIPTS = {
    "persistent_code": [block("a += len(b)"), "Done. a fact", block("b.add(a)\nc = a"), "Done. a fact"],
    "stateless_code": [
        block("a = read_variable('a')\nb = set(read_variable('b'))\na += len(b)\nwrite_variable('a', a)"),
        "Done. a fact",
        block(
            "a = read_variable('a')\nb = set(read_variable('b'))\nb.add(a)\nc = a\n"
            "write_variable('b', sorted(b))\nwrite_variable('c', c)"
        ),
        "Done. a fact",
    ],
    "code_act": [
        block("a = read_variable('a')\nb = set(read_variable('b'))\na += len(b)\nprint(a)"),
        'Done. a fact\n```json\n{"a": 2}\n```',
        block("b.add(a)\nc = a\nprint(sorted(b))\nprint(c)"),
        'Done. a fact\n```json\n{"b": [2, 5], "c": 2}\n```',
    ],
    "code_to_file": [
        block(
            f"{FILES}a = {FILE.format('a')}\nb = set({FILE.format('b')})\na += len(b)\n"
            "_ = Path('a.json').write_text(json.dumps(a))"
        ),
        "Done. a fact",
        block(
            f"{FILES}a = {FILE.format('a')}\nb = set({FILE.format('b')})\nb.add(a)\nc = a\n"
            "_ = Path('b.json').write_text(json.dumps(sorted(b)))\n_ = Path('c.json').write_text(json.dumps(c))"
        ),
        "Done. a fact",
    ],
    "json": [
        read("a", "b"), (write("a", 2),), "Done. a fact", (write("b", [2, 5]), write("c", 2)), "Done. a fact",
    ],
    "json_python": [
        read("a", "b"), run("a = 1\nb = set([5])\na += len(b)\nprint(a)"), (write("a", 2),), "Done. a fact",
        run("a = 2\nb = set([5])\nb.add(a)\nc = a\nprint(sorted(b))\nprint(c)"),
        (write("b", [2, 5]), write("c", 2)), "Done. a fact",
    ],
}  # fmt: skip


@pytest.mark.parametrize("arm", ARMS)
def test_a_script_reads_what_it_lacks_and_gives_back_what_changed(arm):
    assert script(TWO_TURNS, ARMS[arm]) == SCRIPTS[arm]


def test_a_turn_that_changes_nothing_gives_nothing_back():
    case = Case("made", "none", 0, World(variables={"a": 1}), (Turn("Look.", "print(a)"),))
    assert script(case, ARMS["code_act"]) == [block("a = read_variable('a')\nprint(a)"), "Done."]
    assert script(case, ARMS["json_python"]) == [read("a"), "Done."]


def fetch():
    return {"day": [1, 2]}


FETCH = "import pandas\nprices = pandas.DataFrame(fetch())"
CLASSES_AND_DATA = Case(
    "made",
    "data",
    0,
    World(
        variables={"robot": Robot(0, 0, 0), "days": 0},
        data={"prices": pandas.DataFrame({"day": [1, 2]})},
        types=(Robot,),
        functions={"fetch": fetch},
    ),
    (Turn("Turn.", "robot.turn(1)"), Turn("Count.", "days = len(prices) + robot.facing", FETCH)),
)
CSV = "import json\nfrom pathlib import Path\nimport pandas\nprices = pandas.read_csv('prices.csv')\n"
READ_FILE = "robot = Robot(**json.loads(Path('robot.json').read_text()))"
CLASS = source_of(Robot)
COUNT = "days = len(prices) + robot.facing"
PROGRAMS = {
    "persistent_code": ["robot.turn(1)", COUNT],
    "stateless_code": [
        "robot = Robot(**read_variable('robot'))\nrobot.turn(1)\nwrite_variable('robot', vars(robot))",
        f"robot = Robot(**read_variable('robot'))\n{COUNT}\nwrite_variable('days', days)",
    ],
    "code_act": [
        f"{CLASS}\nrobot = Robot(**read_variable('robot'))\nrobot.turn(1)\nprint(vars(robot))",
        f"{FETCH}\n{COUNT}\nprint(days)",
    ],
    "code_to_file": [
        f"{CLASS}\n{CSV}{READ_FILE}\nrobot.turn(1)\n_ = Path('robot.json').write_text(json.dumps(vars(robot)))",
        f"{CLASS}\n{CSV}{READ_FILE}\n{COUNT}\n_ = Path('days.json').write_text(json.dumps(days))",
    ],
}


@pytest.mark.parametrize("arm", PROGRAMS)
def test_a_program_opens_with_the_classes_and_data_that_it_lacks(arm):
    assert [*programs(CLASSES_AND_DATA, ARMS[arm])] == PROGRAMS[arm]


@pytest.mark.parametrize("arm", ["json", "json_python"])
def test_calls_fetch_data_and_compute_with_classes(arm):
    robot = {"x": 0, "y": 0, "facing": 1}
    code = f"{CLASS}\nrobot = Robot(**{ {**robot, 'facing': 0}!r})\nrobot.turn(1)\nprint(vars(robot))"
    computing = [run(code)] if arm == "json_python" else []
    assert script(CLASSES_AND_DATA, ARMS[arm]) == [
        read("robot"), *computing, (write("robot", robot),), "Done.",
        (Call("fetch", {}),), (write("days", 3),), "Done.",
    ]  # fmt: skip
