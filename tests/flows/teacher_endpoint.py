"""A teacher behind an OpenAI-compatible endpoint on loopback, which remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from carryover.tasks.agent.protocol import Message
from carryover.tasks.knapsack.teachers.small import write_small_reply

MODEL = "careful-teacher"
PROMPT_TOKENS, COMPLETION_TOKENS = 10, 5
"""What every reply costs, whatever it says."""


class Asked(NamedTuple):
    """A request that reached the endpoint."""

    episode_id: str
    body: str
    """Its JSON, with the keys in order."""
    authorization: str | None = None

    @property
    def seed(self) -> int:
        """Its decoding seed."""
        return json.loads(self.body)["seed"]


class TeacherEndpoint:
    """Plays the small buckets by the stateless policy: whoever sets up everything anew is right under either contract.

    A request with a refused decoding seed is answered with HTTP 400, however often it comes.
    """

    def __init__(self, refused_seeds: frozenset[int] = frozenset()) -> None:
        self.base_url = ""
        self.asked: list[Asked] = []
        self._refused_seeds = refused_seeds

    def answer(
        self, episode_id: str, body: dict[str, Any], authorization: str | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Return the status and the content of the answer to a request."""
        self.asked.append(Asked(episode_id, json.dumps(body, sort_keys=True), authorization))
        if body["seed"] in self._refused_seeds:
            return 400, {"error": {"message": "this text is refused", "type": "error", "param": None, "code": None}}
        text = write_small_reply("stateless", [Message(**message) for message in body["messages"]], body["seed"])
        usage = {
            "prompt_tokens": PROMPT_TOKENS,
            "completion_tokens": COMPLETION_TOKENS,
            "total_tokens": PROMPT_TOKENS + COMPLETION_TOKENS,
        }
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        completion = {"id": "1", "object": "chat.completion", "created": 0, "model": MODEL}
        return 200, {**completion, "choices": [choice], "usage": usage}


@contextmanager
def serve_teacher(endpoint: TeacherEndpoint) -> Iterator[None]:
    """Serve an endpoint on a free port for as long as the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(endpoint.answer))
    endpoint.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def _handler(
    answer: Callable[[str, dict[str, Any], str | None], tuple[int, dict[str, Any]]],
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200, {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self._send(*answer(self.headers["x-episode-id"], body, self.headers["authorization"]))

        def _send(self, status: int, content: dict[str, Any]) -> None:
            payload = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
