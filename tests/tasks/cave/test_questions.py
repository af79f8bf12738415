"""Questions at once, cancelled, continued, and who hears what."""

import asyncio
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pandas as pd
import pytest

from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.agent_spec import POLICY, AgentSpec
from carryover.tasks.cave.comparing import compare
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.cave.society import answer_in_turns
from carryover.tasks.runtime.engine import BusyError
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.policy import StaticPolicy
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.shaping import SizeError, WholeOutput

LONG = "import time\ntime.sleep(0.5)\nfound = 7\nprint('found it')"
DRAW = "import random\ndrawn = random.random()"


def test_second_question_at_once_is_refused(open_agent):
    agent = open_agent(block(LONG), "First.", "Second.")

    async def ask_both():
        first = asyncio.create_task(agent.ask_async("One."))
        await asyncio.sleep(0.1)
        with pytest.raises(BusyError, match="agent is answering another question; wait for its end, or ask a branch"):
            await agent.ask_async("Two.")
        return await first

    assert str(asyncio.run(ask_both())) == "First."
    assert str(agent.ask("Two.")) == "Second."


def test_cancelled_question_keeps_its_observation_and_goes_on(open_agent, watched, either_runtime):
    model = watched(scripted(block(LONG), "It is 7."))
    agent = open_agent(model, on=either_runtime)

    async def ask_and_cancel():
        asked = asyncio.create_task(agent.ask_async("Find it."))
        while not agent.loop_state.is_running:
            await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    asyncio.run(ask_and_cancel())
    assert str(agent.go_on()) == "It is 7."
    assert "found it" in model.shown()
    assert agent.retrieve("found") == 7


def test_question_after_a_cancelled_one_follows_its_observation(open_agent, watched):
    model = watched(scripted(block(LONG), "Seven."))
    agent = open_agent(model)

    async def ask_and_cancel():
        asked = asyncio.create_task(agent.ask_async("Find it."))
        while not agent.loop_state.is_running:
            await asyncio.sleep(0.01)
        asked.cancel()
        await asyncio.wait([asked])

    asyncio.run(ask_and_cancel())
    agent.ask("And now?")
    shown = model.shown()
    assert shown.index("found it") < shown.index("And now?")


def test_one_agent_with_two_questions_answers_both_in_order(open_agent):
    agent = open_agent(block("a = 1"), "One.", block("b = a + 1"), "Two.")
    other = agent.peer("other", model=scripted(block("c = 3"), "Three."))
    answers = answer_in_turns([(agent, "First?"), (other, "Between?"), (agent, "Second?")])
    assert [str(answer) for answer in answers] == ["One.", "Three.", "Two."]
    assert agent.retrieve("b") == 2


def test_peers_are_told_which_names_the_others_bound(open_agent, watched):
    agent = open_agent(block("weather = 'storm'\ndel_me = 1\ndel del_me"), "Done.", name="station")
    model = watched(scripted("I stay.", "I still stay."))
    peer = agent.peer("Lin", model=model)
    agent.ask("Announce.")
    peer.ask("Plan.")
    assert "station has bound these names: weather." in model.shown(0)
    peer.ask("And now?")
    assert "has bound" not in model.shown(1)


def test_branches_and_unnamed_agents_draw_for_themselves(open_agent, fork_tree):
    agent = open_agent("Ready.", name="one")
    agent.ask("Ready?")
    branches = [*agent.branch(2), *agent.branch(1)]
    for branch in branches:
        branch.client = scripted("", block(DRAW), "Drawn.")
        branch.ask("Draw.")
    drawn = {branch.retrieve("drawn") for branch in branches}
    assert len(drawn) == 3
    assert len({branch.loop_state.name for branch in branches}) == 3
    salts = [branch.runtime.interpreter.events[0].detail["salt"] for branch in branches]
    assert salts == ["/1", "/2", "/3"]
    unnamed = set()
    for _ in range(2):
        other = open_agent(block(DRAW), "Drawn.")
        other.ask("Draw.")
        unnamed.add(other.retrieve("drawn"))
        assert other.runtime.interpreter.journal().salt
    assert len(unnamed) == 2


def test_named_agents_repeat_their_draws(open_agent):
    drawn = set()
    for _ in range(2):
        agent = open_agent(block(DRAW), "Drawn.", name="same")
        agent.ask("Draw.")
        drawn.add(agent.retrieve("drawn"))
    assert len(drawn) == 1


def test_comparison_sees_what_changed_in_place(open_agent):
    agent = open_agent(block("numbers = [1]\nnested = {'a': {'b': 1}}\nkept = [2]"), "Made.", name="comparing")
    agent.inject("frame", pd.DataFrame({"a": [1, 2]}))
    agent.ask("Make.")
    (branch,) = agent.branch(1)
    branch.client = scripted("", "", block("numbers.append(2)\nnested['a']['b'] = 2\nframe.loc[0, 'a'] = 9"), "Done.")
    (found,) = compare("Change.", [branch])
    assert found.changed == {"frame": "pandas.DataFrame", "nested": "dict", "numbers": "list"}


def test_agents_policy_and_output_limit_hold_whatever_else_is_set():
    spec = AgentSpec(runtime=RuntimeSpec(block_timeout_seconds=60))
    assert (spec.runtime.policy, spec.runtime.shaping) == (POLICY, SizeError())
    assert AgentSpec.model_validate_json(spec.model_dump_json()) == spec
    own = AgentSpec(runtime=RuntimeSpec(policy=StaticPolicy(), shaping=WholeOutput()))
    assert (own.runtime.policy, own.runtime.shaping) == (StaticPolicy(), WholeOutput())


def test_agent_on_a_shared_runtime_keeps_its_own_rules():
    runtime = open_runtime(RuntimeSpec())
    try:
        with Agent(
            scripted(block("import subprocess"), block("print('x' * 300_000)"), "Done."), runtime=runtime
        ) as agent:
            agent.ask("Go.")
            shown = [entry.text for entry in agent.text.entries if entry.kind == "observation"]
    finally:
        runtime.close()
    assert "PolicyViolation" in shown[0]
    assert len(shown[1]) < 10_000


def test_interrupted_block_is_left_out_at_resume(open_agent, save_file, fork_tree):
    spec = AgentSpec(runtime=RuntimeSpec(block_timeout_seconds=1.5))
    runtime = open_runtime(spec.runtime)
    try:
        slow = block("a = 1\nwhile True: pass")
        with Agent(scripted(block("b = 2"), slow, "Late."), spec=spec, runtime=runtime, save_to=save_file) as agent:
            agent.ask("Go.")
        heard = []
        started = time.perf_counter()
        with Agent.resume(
            save_file, scripted("Done."), runtime=fork_tree, progress=lambda *counts: heard.append(counts)
        ) as resumed:
            assert time.perf_counter() - started < 20
            assert resumed.retrieve("b") == 2
            restored = resumed.restored
            assert restored is not None
    finally:
        runtime.close()
    assert heard == [(1, 2), (2, 2)]
    assert [(one.step, one.field) for one in restored.differences] == [(2, "interrupted")]
    assert restored.lost_names == ("a",)
    assert restored.seconds > 0


class Streaming(BaseHTTPRequestHandler):
    """An endpoint that writes its reply in pieces."""

    asked: ClassVar[list] = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        Streaming.asked.append((body, dict(self.headers)))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "tiny"}
        for piece in ("It ", "is ", "7."):
            delta = {"index": 0, "delta": {"content": piece}, "finish_reason": None}
            self.write({**chunk, "choices": [delta]})
        self.write({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
        self.write({**chunk, "choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def write(self, content):
        self.wfile.write(f"data: {json.dumps(content)}\n\n".encode())

    def log_message(self, format, *args):
        pass


@pytest.fixture
def streaming_endpoint():
    Streaming.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Streaming)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


def test_text_streams_and_connection_settings_reach_the_endpoint(streaming_endpoint, fork_tree):
    heard = []
    options = {"api_key": "hunter2", "headers": {"x-team": "blue"}, "extra_body": {"top_k": 3}}
    with Agent("tiny", endpoint=streaming_endpoint, runtime=fork_tree, **options) as agent:
        answer = agent.ask("What is it?", on_text=heard.append)
    assert (heard, str(answer)) == (["It ", "is ", "7."], "It is 7.")
    assert (answer.prompt_tokens, answer.completion_tokens) == (11, 3)
    ((body, headers),) = Streaming.asked
    assert (body["stream"], body["top_k"]) == (True, 3)
    sent = {name.lower(): value for name, value in headers.items()}
    assert (sent["authorization"], sent["x-team"]) == ("Bearer hunter2", "blue")
