"""Every arm plays the same cases: the oracle passes all, whoever does less does not, and the rows tell."""

import asyncio
import json
from typing import get_args

import pytest

from carryover.flows.cli.traces.exchange import write_rewards
from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.protocol import FunctionCall, NoReplyError
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.oracle import Oracle, script
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.cave.arms.play import CaseEpisode, Setting, episode_id, play
from carryover.tasks.cave.arms.rewards import split_of
from carryover.tasks.cave.arms.tokens import count_text
from carryover.tasks.cave.scripted import block
from carryover.tasks.cave.suites.case import Call, Case, Turn, World
from carryover.tasks.cave.suites.catalogue import GENERATED, suite_cases
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.stages.gate import check_files
from tests.flattening import flat
from tests.tasks.cave.arms.counter import COUNTER


@pytest.fixture(scope="module")
def runtime_of():
    """Return an arm's runtime as comparisons open it: what the data suites import is there already."""
    opened: dict[bool, Runtime] = {}

    def runtime_of(arm):
        has_files = ARMS[arm].has_files
        if has_files not in opened:
            opened[has_files] = open_runtime(ARMS[arm].runtime_spec(SuitePlan().spec.runtime))
        return opened[has_files]

    yield runtime_of
    for runtime in opened.values():
        runtime.close()


@pytest.fixture(scope="module")
def cases_by_kind():
    """The last case of each tier, number of variables and type of the first.

    Tiers of data_sizes differ in length alone.
    """
    kinds = {}
    for case in flat(suite_cases(suite, 0) for suite in get_args(GENERATED)):
        tier = None if case.suite == "data_sizes" else case.tier
        variables = [*case.world.variables.values()]
        kinds[case.suite, tier, len(variables), *map(type, variables[:1])] = case
    return list(kinds.values())


@pytest.fixture
def run(runtime_of):
    def run(case, arm, client=None):
        setting = Setting(SuitePlan().spec, runtime_of(arm), "run", "plan", "smoke")
        return asyncio.run(play(CaseEpisode(case, arm, 0), client or Oracle(script(case, ARMS[arm])), setting))

    return run


@pytest.mark.parametrize(
    ("suite", "kind_count"),
    [
        pytest.param("types", 17, marks=pytest.mark.slow),
        pytest.param("multi_variable", 5, marks=pytest.mark.slow),
        ("long_horizon", 2),
        ("token_efficiency", 3),
        pytest.param("data_intensive", 3, marks=pytest.mark.slow),
        ("data_sizes", 1),
        pytest.param("printed", 13, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("arm", ARMS)
def test_oracle_passes_one_case_of_every_kind(run, arm, cases_by_kind, suite, kind_count):
    cases = [case for case in cases_by_kind if case.suite == suite]
    assert len(cases) == kind_count
    for case in (COUNTER, *cases):
        played = run(case, arm)
        assert [json.loads(turn.wrong_json) for turn in played.turns] == [[]] * len(case.turns)
        assert all(turn.is_passed and turn.is_oracle and turn.reward == 1 for turn in played.turns)
        assert played.recorded.episode.is_solved


@pytest.mark.parametrize("arm", ARMS)
def test_an_idle_model_passes_nothing(run, arm):
    assert [turn.is_passed for turn in run(COUNTER, arm, Oracle(["Done."] * 3)).turns] == [False] * 3


HALVED = Case("made", "half", 0, World(variables={"total": 1.5}), (Turn("Halve `total`.", "total /= 2"),))


@pytest.mark.parametrize(
    "code",
    [
        "total = []\ntotal.append(total)",
        "import pandas\ntotal = pandas.DataFrame([[1, 2]], columns=['a', 'a'])",
        "total = 10 ** 400",
        "total = (n for n in [])",
        "total = {1: {2}, None: b'x'}",
        "del total",
    ],
)
def test_an_answer_of_an_odd_type_is_a_wrong_one(run, code):
    (turn,) = run(HALVED, "persistent_code", Oracle([block(code), "Done."])).turns
    assert (turn.is_passed, turn.finish_reason) == (False, "answer")


def test_a_turn_keeps_expected_beside_found_state(run):
    (turn,) = run(HALVED, "persistent_code", Oracle([block("total = 'x' * 30_000"), "Done."])).turns
    found = {"total": "<30,002 characters of JSON>"}
    assert json.loads(turn.state_json) == {"expected": {"total": 0.75}, "found": found}
    (turn,) = run(HALVED, "persistent_code", Oracle([block("total = []\ntotal.append(total)"), "Done."])).turns
    assert json.loads(turn.state_json)["found"] is None
    (turn,) = run(HALVED, "persistent_code", Oracle([block("del total"), "Done."])).turns
    found = json.loads(turn.state_json)["found"]["total"]
    assert found == {"not retrieved": "no variable 'total' is alive"}


def test_state_carries_on_after_a_failed_turn(run):
    replies = ["I will not.", "```python\nlog.append(total)\n```", "Done.", "```python\ntotal = 6\n```", "Done."]
    turns = run(COUNTER, "persistent_code", Oracle(replies)).turns
    assert [json.loads(turn.wrong_json) for turn in turns] == [["total"], ["log", "total"], ["log"]]
    assert [(turn.reward, turn.is_state_right, turn.has_required_calls) for turn in turns] == [(0, False, True)] * 3


def test_stateless_blocks_find_injected_objects_in_their_first_state(run):
    block = "```python\ntotal += 2\nwrite_variable('total', total)\n```"
    turns = run(COUNTER, "stateless_code", Oracle([block, "Done.", block, "Done.", block, "Done."])).turns
    assert [turn.is_passed for turn in turns] == [True, False, False]


def test_scripts_find_files_that_earlier_ones_wrote(run):
    opening = "import json\nfrom pathlib import Path\ntotal = json.loads(Path('total.json').read_text())\n"
    first = block(f"{opening}Path('total.json').write_text(json.dumps(total + 2))")
    second = block(f"{opening}Path('log.json').write_text(json.dumps([total]))")
    named = block("Path('total.json').write_text('6')")
    turns = run(COUNTER, "code_to_file", Oracle([first, "Done.", second, "Done.", named, "Done."])).turns
    assert [turn.is_passed for turn in turns] == [True, True, False]


@pytest.mark.parametrize("content", ["'{'", "'[1]'"])
def test_a_broken_file_is_a_wrong_value(run, content):
    replies = [block(f"open('total.json', 'w').write({content})"), "Done.", "No.", "No."]
    turns = run(COUNTER, "code_to_file", Oracle(replies)).turns
    assert [json.loads(turn.wrong_json) for turn in turns] == [["total"], ["log", "total"], ["log", "total"]]


def test_rows_tell_steps_calls_and_tokens(run):
    played = run(COUNTER, "json")
    turns, episode = played.turns, played.recorded.episode
    assert [turn.first_reply for turn in turns] == [1, 4, 7]
    assert [turn.reply_count for turn in turns] == [3, 3, 2]
    assert [turn.call_count for turn in turns] == [2, 2, 1]
    assert sum(turn.prompt_tokens for turn in turns) == episode.prompt_tokens > 0
    assert sum(turn.completion_tokens for turn in turns) == episode.completion_tokens
    assert episode.agent == "calls"
    assert [row.tool for row in played.recorded.tool_calls][:2] == ["read_variable", "write_variable"]
    assert played.recorded.steps[0].code == "read_variable(name='total')"


@pytest.mark.parametrize("arm", ["persistent_code", "json_python"])
def test_an_episode_with_an_interpreter_tells_its_place(run, fork_tree, arm):
    played = run(COUNTER, arm)
    episode = played.recorded.episode
    assert (episode.variant, episode.bucket, episode.runtime_contract) == (arm, "made", "persistent")
    assert (episode.instance_id, episode.scale, episode.replicate) == ("made/counter/000", "smoke", 0)
    assert (episode.sandbox_level, episode.backend) == (fork_tree.sandbox_level, "fork_tree")
    assert (episode.score, episode.is_contract_verified, episode.max_tokens) == (1.0, True, None)
    assert episode.episode_id == episode_id(CaseEpisode(COUNTER, arm, 0), "plan", "none")


def test_failing_calls_are_told_and_recorded(run):
    bad = Oracle([(Call("write_variable", {"name": "nothing", "value": 1}),), "I give up.", "No.", "No."])
    played = run(COUNTER, "json", bad)
    told = json.loads(played.recorded.turns[1].observation or "")
    assert told[0]["content"] == "error: ToolRuntimeException: no variable 'nothing'; choose from total, log"
    assert [error.error_type for error in played.recorded.errors] == ["ToolRuntimeException"]


class Malformed(Oracle):
    async def complete(self, request):
        completion = await super().complete(request)
        calls = tuple(FunctionCall(call.call_id, call.name, "{total") for call in completion.tool_calls)
        return completion._replace(tool_calls=calls)


class Breaking(Oracle):
    """An endpoint that breaks at one place of the conversation."""

    async def complete(self, request):
        if sum(message.role == "user" for message in request.messages) == 2:
            raise NoReplyError("HTTP 500")
        return await super().complete(request)


def test_an_endpoints_error_ends_the_episode_to_be_played_again(run):
    played = run(COUNTER, "json", Breaking(script(COUNTER, ARMS["json"])))
    assert [(turn.finish_reason, turn.is_passed) for turn in played.turns] == [("answer", True), ("error", False)]
    assert (played.recorded.episode.finish_reason, played.recorded.episode.is_solved) == ("error", False)


def test_malformed_arguments_end_no_episode(run):
    replies = [(Call("read_variable", {"name": "total"}),), "No.", "No.", "No."]
    told = json.loads(run(COUNTER, "json", Malformed(replies)).recorded.turns[1].observation or "")
    assert told[0]["content"].startswith("error: the arguments are not JSON")


class CutOff(Oracle):
    """Its replies in plain text end at the limit of tokens, the first time that each is asked for."""

    async def complete(self, request):
        completion = await super().complete(request)
        was_cut = request.messages[-1].content.startswith("The reply was cut off")
        return completion if completion.tool_calls or was_cut else completion._replace(finish_reason="length")


def test_a_cut_reply_is_no_answer(run):
    writing = (Call("write_variable", {"name": "total", "value": 3}),)
    played = run(COUNTER, "json", CutOff(["I will now wr", writing, "It is n", "It is 3.", "No", "No.", "No", "No."]))
    assert [turn.reply_count for turn in played.turns] == [4, 2, 2]
    assert (played.turns[0].is_passed, played.turns[0].answer) == (True, "It is 3.")
    assert [error.error_type for error in played.recorded.errors] == ["ReplyCutOff"] * 4


class Hanging(Oracle):
    """Its second reply never comes."""

    async def complete(self, request):
        if any(message.role == "assistant" for message in request.messages):
            await asyncio.sleep(60)
        return await super().complete(request)


@pytest.mark.parametrize("arm", ["persistent_code", "json"])
def test_a_timeout_is_an_error_that_is_retried(fork_tree, arm):
    setting = Setting(AgentSpec(timeout_seconds=0.5), fork_tree, "run", "plan", "smoke")
    played = asyncio.run(play(CaseEpisode(COUNTER, arm, 0), Hanging(script(COUNTER, ARMS[arm])), setting))
    assert played.recorded.episode.finish_reason == played.turns[-1].finish_reason == "error"


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("max_steps", [1, 10])
def test_every_question_is_recorded(runtime_of, arm, max_steps):
    setting = Setting(AgentSpec(max_steps=max_steps), runtime_of(arm), "run", "plan", "smoke")
    played = asyncio.run(play(CaseEpisode(COUNTER, arm, 0), Oracle(script(COUNTER, ARMS[arm])), setting))
    told = "".join(turn.observation or "" for turn in played.recorded.turns)
    assert [told.count(turn.question) for turn in COUNTER.turns] == [1, 1, 1]


@pytest.mark.parametrize("arm", ["code_act", "code_to_file", "json", "json_python"])
def test_arms_without_injection_are_told_what_methods_do(run, arm):
    case = next(case for case in suite_cases("types", 0) if case.tier == "object")
    opening = json.loads(run(case, arm).recorded.turns[0].observation or "")[0]["content"]
    assert "self.target = max(10, min(30, self.target + degrees))" in opening


def test_code_arms_are_told_nothing_of_their_surroundings(run):
    opening = json.loads(run(COUNTER, "persistent_code").recorded.turns[0].observation or "")
    assert opening[0]["role"] == "system"
    assert "surroundings" not in opening[0]["content"]


def test_only_the_factor_asks_for_parallel_calls(run):
    opening = run(COUNTER, "json").recorded.turns[0].observation or ""
    assert "in one reply" not in opening


def test_execute_python_keeps_its_names(run):
    code = [
        (Call("execute_python", {"code": "x = 2"}),),
        (Call("execute_python", {"code": "x + 1"}),),
        "No.",
        "No.",
        "No.",
    ]
    played = run(COUNTER, "json_python", Oracle(code))
    assert json.loads(played.recorded.turns[2].observation or "")[0]["content"] == "3"


def test_a_model_that_calls_for_ever_meets_its_budget(run):
    played = run(COUNTER, "json", Oracle([(Call("read_variable", {"name": "total"}),)] * 30))
    assert [turn.finish_reason for turn in played.turns] == ["max_steps"] * 3
    assert [turn.reply_count for turn in played.turns] == [10] * 3


@pytest.mark.parametrize(
    "arm", [arm if arm == "persistent_code" else pytest.param(arm, marks=pytest.mark.slow) for arm in ARMS]
)
def test_rows_pass_the_checks_of_every_warehouse(run, arm, tmp_path):
    landing = LandingZone(tmp_path / "landing")
    landing.write(run(COUNTER, arm).rows, "run")
    merge(landing, tmp_path / "warehouse.duckdb")
    with Warehouse.open(tmp_path / "warehouse.duckdb") as warehouse:
        episode_checks = [check for check in check_files() if check.name.startswith("episode_")]
        assert {check.name: rows for check in episode_checks if (rows := warehouse.sql(check.query).rows())} == {}


def test_calls_are_exported_with_their_tools_and_rewards(run, tmp_path):
    landing = LandingZone(tmp_path / "landing")
    for arm in ("json", "persistent_code"):
        landing.write(run(COUNTER, arm).rows, "run")
    merge(landing, tmp_path / "warehouse.duckdb")
    with Warehouse.open(tmp_path / "warehouse.duckdb") as warehouse:
        assert write_rewards(warehouse, tmp_path / "rewards.jsonl") == 2
    lines = [json.loads(line) for line in (tmp_path / "rewards.jsonl").read_text().splitlines()]
    by_arm = {line["arm"]: line for line in lines}
    calling = by_arm["json"]
    assert [tool["function"]["name"] for tool in calling["tools"]] == ["read_variable", "write_variable"]
    first = calling["messages"][2]
    assert [call["function"] for call in first["tool_calls"]] == [
        {"name": "read_variable", "arguments": '{"name": "total"}'}
    ]
    assert calling["messages"][3] == {"role": "tool", "content": "1", "tool_call_id": first["tool_calls"][0]["id"]}
    replies = sum(message["role"] == "assistant" for message in calling["messages"])
    assert calling["rewards"][-1] == {
        "question": 3, "last_reply": replies, "reward": 1.0, "components": {"state": 1.0, "calls": 1.0},
    }  # fmt: skip
    assert by_arm["persistent_code"]["tools"] == []
    (place,) = {(line["suite"], line["tier"], line["split"]) for line in lines}
    assert place == ("made", "counter", split_of(COUNTER.case_id))


def test_the_stated_tokenizer_counts_by_hand():
    assert count_text("total = 12345\nprint(total)") == 1 + 1 + 2 + 1 + 1 + 1 + 1 + 1
