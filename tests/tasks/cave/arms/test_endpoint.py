"""Native calls against an OpenAI-compatible endpoint over HTTP: what is sent, what is read, what is counted."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.agent.openai_client import OpenAIClient
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.play import CaseEpisode, Setting, play
from carryover.tasks.cave.suites.case import Case, Turn, World
from carryover.tasks.services import background

CASE = Case("made", "one", 0, World(variables={"total": 1}), (Turn("Add 2 to `total`.", "total += 2"),))
CALL = {
    "id": "a",
    "type": "function",
    "function": {"name": "write_variable", "arguments": '{"name":"total","value":3}'},
}


@pytest.fixture
def endpoint():
    """An endpoint that calls a function once and then answers; it keeps what it was sent."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append(body)
            is_first = body["messages"][-1]["role"] == "user"
            message = {"role": "assistant", "content": None, "tool_calls": [CALL]} if is_first else {"content": "Done."}
            choice = {"index": 0, "finish_reason": "tool_calls" if is_first else "stop", "message": message}
            usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
            data = json.dumps({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    server.shutdown()
    server.server_close()


def test_an_endpoints_calls_are_run_and_its_tokens_counted(endpoint, fork_tree):
    url, asked = endpoint
    client = OpenAIClient(EndpointSpec(base_url=url, extra_body={}), "a model")
    setting = Setting(AgentSpec(), fork_tree, "run", "plan", "paper")

    async def play_and_close():
        played = await play(CaseEpisode(CASE, "json", 0), client, setting)
        await client.close()
        return played

    (turn,) = background.wait_for(play_and_close()).turns
    assert (turn.is_passed, turn.is_oracle, turn.reply_count) == (True, False, 2)
    assert (turn.prompt_tokens, turn.completion_tokens) == (200, 14)
    offered = {tool["function"]["name"]: tool["function"]["parameters"] for tool in asked[0]["tools"]}
    assert offered["write_variable"]["required"] == ["name", "value"]
    assert offered["read_variable"]["properties"] == {"name": {"type": "string"}}
    assert asked[1]["messages"][-2]["tool_calls"] == [CALL]
    assert asked[1]["messages"][-1] == {"role": "tool", "content": "null", "tool_call_id": "a"}
    assert asked[0]["seed"] != asked[1]["seed"]
