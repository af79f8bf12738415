"""tau2-bench from a small made download of the wheel's shape: the oracle passes, clients play user and judge."""

import asyncio
import gzip
import inspect
import json
import sys
import zipfile
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.agent.protocol import Completion, NoReplyError
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.dialogue import Speakers, missing_actions
from carryover.tasks.cave.arms.oracle import Oracle, script
from carryover.tasks.cave.arms.play import CaseEpisode, Setting, play
from carryover.tasks.cave.importers.tau2 import DOMAINS, Desk, tau2_cases
from carryover.tasks.cave.scripted import block
from carryover.tasks.cave.suites.case import Call
from carryover.tasks.services.errors import UserError

STORE = """
from inspect_ai.tool import ToolError
from inspect_ai.util import StoreModel, store_as
from pydantic import BaseModel, Field
from inspect_evals.tau2.utils import TAU2_DATA_DIR

class Order(BaseModel):
    status: str
    items: list[str]

class DB(BaseModel):
    orders: dict[str, Order] = Field(default_factory=dict)

class NAME(StoreModel):
    db: DB = Field(default_factory=DB)
    initialized: bool = False

    def order(self, order_id):
        if order_id not in self.db.orders:
            raise ToolError("Order not found")
        return self.db.orders[order_id]

def get_tools():
    return store_as(NAME, "Tools")
"""
TOOLS = """
from typing import Any
from inspect_ai.tool import Tool, tool
from inspect_evals.tau2.DOMAIN.NAME import Order, get_tools

@tool
def cancel():
    async def execute(order_id: str, items: list[Order | dict[str, Any]]) -> str:
        '''Cancel items of an order.'''
        order = get_tools().order(order_id)
        order.status = "cancelled"
        return order.model_dump_json()
    return execute

@tool
def look():
    async def execute(order_id: str) -> str:
        '''Look up an order.'''
        return get_tools().order(order_id).model_dump_json()
    return execute

all_DOMAIN_tools = [cancel, look]
"""
TASKS = """
from typing import Any
from pydantic import BaseModel

class Scenario(BaseModel):
    instructions: Any

    def __str__(self):
        return self.instructions["reason_for_call"]

class Task(BaseModel):
    user_scenario: Scenario
"""
CANCEL = {"order_id": "a", "items": [{"status": "x", "items": []}, {"status": "y", "items": []}]}
TASK = {
    "id": "7",
    "user_scenario": {"instructions": {"reason_for_call": "Cancel order a."}},
    "evaluation_criteria": {
        "actions": [{"name": "look", "arguments": {"order_id": "none"}}, {"name": "cancel", "arguments": CANCEL}],
        "communicate_info": ["1200 Dollars"],
        "nl_assertions": ["The agent is polite."],
    },
}
CODE = "```python\ncancel('a', [])\n```"


@pytest.fixture
def download(tmp_path):
    """A folder with one task per domain, whose first reference action is refused, and a task of no split."""
    root = tmp_path / "inspect_evals/tau2"
    files = {"data_model/tasks.py": TASKS, "data/user_simulator/simulation_guidelines.txt": "Be brief."}
    for domain, name in DOMAINS.items():
        files[f"{domain}/{name}.py"] = STORE.replace("NAME", name)
        files[f"{domain}/tools.py"] = TOOLS.replace("NAME", name).replace("DOMAIN", domain)
        folder = f"data/domains/{domain}"
        files[f"{folder}/policy.txt"] = "Cancel what is asked."
        files[f"{folder}/tasks.json"] = json.dumps([TASK | {"id": "6"}, TASK])
        files[f"{folder}/split_tasks.json"] = json.dumps({"base": ["7"]})
        files[f"{folder}/db.json.gz"] = json.dumps({"orders": {"a": {"status": "pending", "items": ["lamp"]}}})
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return tmp_path


class Lines:
    """A model that says its lines, and then fails."""

    model_name, token_source = "lines", "server"

    def __init__(self, *lines):
        self.lines, self.requests = list(lines), []

    async def complete(self, request):
        self.requests.append(request)
        if not self.lines:
            raise NoReplyError("no line is left")
        return Completion(self.lines.pop(0), "stop", 1, 0, 1, 0.0)


@pytest.fixture
def run(fork_tree):
    def run(case, arm, client, *speakers):
        setting = Setting(AgentSpec(), fork_tree, "run", "plan", "smoke", speakers=Speakers(*speakers))
        played = asyncio.run(play(CaseEpisode(case, arm, 0), client, setting))
        (turn,) = played.turns
        return turn, played.recorded.episode

    return run


@pytest.mark.parametrize("arm", ARMS)
def test_the_oracle_passes_under_every_arm(download, run, arm):
    cases = tau2_cases(str(download))
    assert cases
    for case in cases:
        turn, episode = run(case, arm, Oracle(script(case, ARMS[arm])))
        assert (turn.is_passed, turn.wrong_json, turn.has_required_calls) == (True, "[]", True)
        assert (turn.are_calls_reference, turn.call_count, turn.judged_reward) == (True, 2, None)
        assert turn.source.startswith(f"inspect-evals 0.26.0, {case.tier} 7, data ")
        assert turn.source.endswith("scored as Inspect adapted it")
        assert episode.is_solved


@pytest.mark.parametrize(
    ("replies", "is_right", "wrong"),
    [
        ([CODE, "It was $12 dollars."], True, ["not told: 1200 Dollars"]),
        ([CODE, "1,200 dollars are back."], True, []),
        (["1200 dollars"], False, ["orders a"]),
    ],
)
def test_database_and_what_was_told_decide(download, run, replies, is_right, wrong):
    turn, _ = run(tau2_cases(str(download))[0], "persistent_code", Oracle(replies))
    assert (turn.is_passed, turn.is_state_right, turn.reward) == (not wrong, is_right, float(not wrong))
    found = [text for text in json.loads(turn.wrong_json) if "(" not in text]  # calls are compared, and decide nothing
    assert found == wrong
    assert (turn.has_required_calls, turn.are_calls_reference) == (False, False)


def test_calls_beside_the_reference_s_are_told(download, run):
    case = tau2_cases(str(download))[0]
    first, *others = script(case, ARMS["persistent_code"])
    turn, _ = run(case, "persistent_code", Oracle([block("look('b')"), first, *others]))
    assert (turn.is_passed, turn.has_required_calls, turn.are_calls_reference) == (True, True, False)


def test_reference_actions_may_have_company():
    wanted = [Call("f", {"items": ["a", "b"]}), Call("transfer_to_human_agents", {"summary": "x"})]
    made = [Call("g", {}), Call("transfer_to_human_agents", {"summary": "y"}), Call("f", {"items": ["b", "a"]})]
    assert missing_actions(wanted, made) == []
    assert missing_actions(wanted, [Call("f", {"items": ["a"]})]) == [
        "f({'items': ['a', 'b']})",
        "transfer_to_human_agents({'summary': 'x'})",
    ]


@pytest.mark.parametrize(("verdict", "reward"), [("So: [true]", 1.0), ("[false]", 0.0), ("[]", None), ("yes", None)])
def test_a_client_plays_the_user_and_another_one_judges(download, run, verdict, reward):
    case = tau2_cases(str(download))[1]
    user, judge = Lines("Hello.", "Cancel order a.", "Thanks ###STOP###"), Lines(verdict)
    agent = Oracle(["What is it?", CODE, "You get 1200 dollars."])
    turn, _ = run(case, "code_act", agent, user, judge)
    assert (turn.is_passed, turn.reply_count, turn.call_count) == (True, 3, 1)
    assert turn.answer == "What is it?\nYou get 1200 dollars."
    assert (turn.reward, turn.judged_reward) == (1.0, reward)
    assert user.requests[0].messages[0].content == "Be brief.\n<scenario>\nCancel order a.\n</scenario>\n"
    assert [message.role for message in user.requests[-1].messages[1:]] == ["user", "assistant"] * 2 + ["user"]
    (asked,) = judge.requests
    assert "customer: Hello.\nagent: What is it?\ncustomer: Cancel order a." in asked.messages[0].content


def test_a_user_that_fails_ends_the_episode_with_an_error(download, run):
    case = tau2_cases(str(download))[0]
    turn, episode = run(case, "json", Oracle(["Yes?"]), Lines("Hello."))
    assert (turn.finish_reason, episode.finish_reason) == ("error", "error")
    assert "no line is left" in episode.error_message
    with pytest.raises(UserError, match="no first message"):
        run(case, "json", Oracle(["Yes?"]), Lines())


def test_records_differ_by_content_whatever_the_order_of_their_fields(download):
    case = tau2_cases(str(download))[0]
    one = {"orders a": {"status": "x", "items": [1]}, "orders b": None}
    assert case.differing(one, {"orders a": {"items": [1], "status": "x"}}) == ()
    assert case.differing(one, {"orders c": {}}) == ("orders a", "orders c")


def test_arms_are_told_the_wheels_documentation(download):
    world = tau2_cases(str(download))[0].world
    assert world.schemas["look"]["parameters"]["required"] == ["order_id"]
    assert world.schemas["look"]["description"] == "Look up an order."
    assert str(inspect.signature(world.functions["cancel"])) == "(order_id: str, items: list)"


def test_a_wheel_reads_as_its_folder_and_leaves_no_module(download, tmp_path):
    wheel = tmp_path / "inspect_evals-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in (download / "inspect_evals").rglob("*.*"):
            archive.write(file, file.relative_to(download))
    cases = tau2_cases(str(wheel))
    assert [case.turns for case in cases] == [case.turns for case in tau2_cases(str(download))]
    assert len(cases[0].expected[0].state) == 1
    assert [name for name in sys.modules if name.startswith(("inspect_evals", "inspect_ai"))] == []


def test_a_missing_download_warns_of_the_other_package(tmp_path):
    with pytest.raises(UserError, match=r"inspect-evals==0\.26\.0.*PyPI's package `tau2` is not tau2-bench"):
        tau2_cases(None)
    with pytest.raises(UserError, match=r"is not the wheel inspect-evals 0\.26\.0"):
        tau2_cases(str(tmp_path))


@pytest.mark.parametrize(("text", "result"), [('{"a": 1}', {"a": 1}), ("[1]", [1]), ("Done.", "Done."), ("7", "7")])
def test_a_tools_json_comes_back_as_values(text, result):
    async def look() -> str:
        return text

    domain: Any = SimpleNamespace(open=dict, tools={"look": look})
    assert Desk(domain).call("look", {}) == result
