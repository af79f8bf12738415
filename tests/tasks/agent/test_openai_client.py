import asyncio
import json
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import httpx
import openai
import pytest

from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.agent.openai_client import OpenAIClient, _BrokenOffError, _kind_of, _until_done
from carryover.tasks.agent.protocol import (
    Completion,
    CompletionRequest,
    ContextOverflowError,
    EndpointDownError,
    Message,
    ModelError,
    NoReplyError,
)
from carryover.tasks.agent.response_cache import ResponseCache
from carryover.tasks.services.errors import UserError

KEY_VARIABLE = "CARRYOVER_TEST_KEY"
KINDS = {b"{": "application/json", b"d": "text/event-stream"}
"""Content types by the first character of an answer."""
DONE = b"data: [DONE]\n\n"
"""Ends a streamed reply; the connection of one without it breaks off."""


class Endpoint:
    """A chat completion server on loopback that answers from a list and remembers what it was asked."""

    def __init__(self):
        self.answers = []
        self.bodies = []
        self.headers = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.gate = threading.Event()
        self.gate.set()
        self._lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer(200, {"object": "list", "data": [{"id": "tiny", "object": "model", "created": 0}]})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with endpoint._lock:
                    endpoint.bodies.append(body)
                    endpoint.headers.append({name.lower(): value for name, value in self.headers.items()})
                    endpoint.in_flight += 1
                    endpoint.most_in_flight = max(endpoint.most_in_flight, endpoint.in_flight)
                    status, content = endpoint.answers.pop(0) if len(endpoint.answers) > 1 else endpoint.answers[0]
                endpoint.gate.wait(10)
                with endpoint._lock:
                    endpoint.in_flight -= 1
                self.answer(status, content)

            def answer(self, status, content):
                payload = content if isinstance(content, bytes) else json.dumps(content).encode()
                is_cut = payload.startswith(b"data:") and not payload.endswith(DONE)
                self.send_response(status)
                self.send_header("content-type", KINDS.get(payload[:1], "text/html"))
                self.send_header("content-length", str(len(payload) + is_cut))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, format, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def endpoint():
    endpoint = Endpoint()
    yield endpoint
    endpoint.server.shutdown()
    endpoint.server.server_close()


def make_answer(text="Hello.", finish_reason="stop", usage=None):
    default = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    return (
        200,
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": "tiny",
            "choices": [
                {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text}}
            ],
            "usage": default if usage is None else usage,
        },
    )


def make_failure(status, message, code=None):
    return (status, {"error": {"message": message, "type": "error", "param": None, "code": code}})


def make_request(text="Hi", seed=5, **fields):
    return CompletionRequest(
        messages=(Message(role="user", content=text),), seed=seed, episode_id="episode-1", **fields
    )


def ask(endpoint, *requests, cache_folder=None, **fields):
    """Send the requests at the same time and return the completions."""
    cache = None if cache_folder is None else ResponseCache(cache_folder)

    async def ask_all():
        client = OpenAIClient(EndpointSpec(base_url=endpoint.base_url, **fields), "tiny", cache=cache)
        try:
            return await asyncio.gather(*(client.complete(request) for request in requests))
        finally:
            await client.close()

    return asyncio.run(ask_all())


def test_text_reason_and_tokens_come_from_the_server(endpoint):
    usage = {
        "prompt_tokens": 90,
        "completion_tokens": 7,
        "total_tokens": 97,
        "prompt_tokens_details": {"cached_tokens": 64},
    }
    endpoint.answers = [make_answer("Done.", "length", usage)]

    (completion,) = ask(endpoint, make_request())

    assert (completion.text, completion.finish_reason) == ("Done.", "length")
    assert (completion.prompt_tokens, completion.cached_prompt_tokens, completion.completion_tokens) == (90, 64, 7)
    assert completion.model_seconds > 0


def test_the_request_carries_seed_limits_and_the_episode(endpoint):
    endpoint.answers = [make_answer()]

    tool = {"type": "function", "function": {"name": "look"}}
    ask(endpoint, make_request(temperature=0.2, max_completion_tokens=100, tools=(tool,)))

    assert endpoint.bodies == [
        {
            "model": "tiny",
            "messages": [{"role": "user", "content": "Hi"}],
            "seed": 5,
            "temperature": 0.2,
            "max_completion_tokens": 100,
            "tools": [tool],
            "chat_template_kwargs": {"enable_thinking": False},
        }
    ]
    assert endpoint.headers[0]["x-episode-id"] == "episode-1"


def test_what_is_not_set_is_not_sent(endpoint):
    endpoint.answers = [make_answer()]

    ask(endpoint, make_request(), extra_body={})

    assert sorted(endpoint.bodies[0]) == ["messages", "model", "seed"]


def test_a_busy_server_is_asked_again(endpoint):
    endpoint.answers = [make_failure(503, "busy"), make_answer()]

    (completion,) = ask(endpoint, make_request())

    assert completion.text == "Hello."
    assert len(endpoint.bodies) == 2


def test_the_client_gives_up_after_its_retries(endpoint):
    endpoint.answers = [make_failure(500, "out of order")]

    with pytest.raises(NoReplyError, match=r"HTTP 500: .*out of order"):
        ask(endpoint, make_request(), max_retries=1)
    assert len(endpoint.bodies) == 2


def test_an_unreachable_endpoint_is_a_model_error():
    class Nowhere:
        base_url = "http://127.0.0.1:9/v1"

    with pytest.raises(EndpointDownError, match=r"endpoint http://127.0.0.1:9/v1, model 'tiny': Connection error"):
        ask(Nowhere, make_request(), max_retries=0)


def test_an_endpoint_whose_connection_takes_too_long_is_down():
    request: Any = None
    for kind, told in (("ConnectTimeout", EndpointDownError), ("ReadTimeout", NoReplyError)):
        error = openai.APITimeoutError(request=request)
        error.__cause__ = type(kind, (Exception,), {})()
        assert _kind_of(error) is told


def test_a_request_that_takes_too_long_is_a_model_error(endpoint):
    endpoint.answers = [make_answer()]
    endpoint.gate.clear()

    with pytest.raises(NoReplyError, match="timed out"):
        ask(endpoint, make_request(), max_retries=0, request_timeout_seconds=0.2)
    endpoint.gate.set()


@pytest.mark.parametrize("status", [401, 402, 403, 404, 429, 502, 503, 504])
def test_an_endpoint_that_answers_nobody_is_down(endpoint, status):
    endpoint.answers = [make_failure(status, "no")]

    with pytest.raises(EndpointDownError, match=f"HTTP {status}"):
        ask(endpoint, make_request(), max_retries=0)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.", None),
        ("You passed 1015 input tokens. However, the model's context length is only 1024 tokens.", 400),
        ("Your input is too large.", "context_length_exceeded"),
    ],
)
def test_too_long_conversation_is_an_overflow_without_retry(endpoint, message, code):
    endpoint.answers = [make_failure(400, message, code)]

    with pytest.raises(ContextOverflowError):
        ask(endpoint, make_request())
    assert len(endpoint.bodies) == 1


def test_any_other_bad_request_is_a_plain_model_error(endpoint):
    endpoint.answers = [make_failure(400, "temperature must be positive")]

    with pytest.raises(ModelError, match="temperature must be positive") as raised:
        ask(endpoint, make_request())
    assert not isinstance(raised.value, ContextOverflowError)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"<html>Sign in to go on</html>", "with invalid JSON: '<html>Sign in"), ({}, "without choices")],
)
def test_malformed_answer_is_an_explained_model_error_and_not_kept(endpoint, tmp_path, content, complaint):
    endpoint.answers = [(200, content), make_answer("Whole.")]

    with pytest.raises(ModelError, match=rf"model 'tiny' answered {complaint}"):
        ask(endpoint, make_request(), cache_folder=tmp_path)
    (completion,) = ask(endpoint, make_request(), cache_folder=tmp_path)
    assert completion.text == "Whole."


def test_lone_surrogate_is_kept_as_a_question_mark(endpoint, tmp_path):
    endpoint.answers = [make_answer("a\ud800b")]

    first, again = (ask(endpoint, make_request(), cache_folder=tmp_path)[0] for _ in range(2))

    assert (first.text, again) == ("a?b", first)
    assert len(endpoint.bodies) == 1


def test_requests_in_flight_reach_the_limit_and_no_more(endpoint):
    endpoint.answers = [make_answer()]
    endpoint.gate = threading.Barrier(3)  # each is answered when two others are there

    completions = ask(endpoint, *(make_request(seed=seed) for seed in range(12)), concurrency=3)

    assert len(completions) == 12
    assert endpoint.most_in_flight == 3


def test_a_kept_response_is_not_asked_for_again(endpoint, tmp_path):
    endpoint.answers = [make_answer("first"), make_answer("second")]

    (first,) = ask(endpoint, make_request(), cache_folder=tmp_path)
    (again,) = ask(endpoint, make_request(), cache_folder=tmp_path)
    (other,) = ask(endpoint, make_request(seed=6), cache_folder=tmp_path)

    assert again == first
    assert other.text == "second"
    assert len(endpoint.bodies) == 2


def streamed(*chunks, ending=DONE):
    """Return an answer that comes in chunks."""
    plain = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "tiny", "choices": []}
    return 200, b"".join(f"data: {json.dumps(plain | chunk)}\n\n".encode() for chunk in chunks) + ending


def piece(text, reason=None):
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}


BOTH = {"choices": [*piece("lo.", "length")["choices"], *piece("Other.")["choices"]]}


def test_a_watched_reply_is_told_as_it_comes(endpoint, tmp_path):
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    endpoint.answers = [streamed(piece("Hel"), BOTH, piece(None), {"usage": usage})]
    heard = []
    request = make_request(on_text=heard.append)

    (completion,) = ask(endpoint, request, cache_folder=tmp_path)
    assert heard == ["Hel", "lo."]
    assert completion._replace(model_seconds=0.0) == Completion("Hello.", "length", 9, 0, 2, 0.0)
    (body,) = endpoint.bodies
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert endpoint.headers[0]["x-episode-id"] == "episode-1"

    assert ask(endpoint, request, cache_folder=tmp_path) == [completion]
    assert heard == ["Hel", "lo.", "Hello."]
    assert len(endpoint.bodies) == 1


def test_a_watched_reply_that_breaks_off_is_told(endpoint):
    endpoint.answers = [streamed(piece("Hel"), ending=b"")]

    with pytest.raises(NoReplyError, match=r"model 'tiny': the reply broke off \(RemoteProtocolError: peer closed"):
        ask(endpoint, make_request(on_text=print))


def test_a_stream_that_broke_off_names_its_cause():
    async def broken():
        raise httpx.ReadError("reset")
        yield  # pyright: ignore[reportUnreachable]

    async def read():
        return [chunk async for chunk in _until_done(broken())]

    with pytest.raises(_BrokenOffError, match=r"^ReadError: reset$"):
        asyncio.run(read())


def test_a_failure_is_not_kept(endpoint, tmp_path):
    endpoint.answers = [make_failure(400, "no"), make_answer()]

    with pytest.raises(ModelError):
        ask(endpoint, make_request(), cache_folder=tmp_path)
    (completion,) = ask(endpoint, make_request(), cache_folder=tmp_path)

    assert completion.text == "Hello."


def test_the_key_goes_to_the_endpoint_and_nowhere_else(endpoint, tmp_path, monkeypatch):
    key = "sk-a-very-secret-key"
    monkeypatch.setenv(KEY_VARIABLE, key)
    endpoint.answers = [make_answer(), make_failure(401, f"Incorrect API key provided: {key}.")]

    ask(endpoint, make_request(), cache_folder=tmp_path, api_key_variable=KEY_VARIABLE)
    with pytest.raises(ModelError, match=r"HTTP 401: .*\[key\]") as raised:
        ask(endpoint, make_request(seed=6), api_key_variable=KEY_VARIABLE)

    assert [headers["authorization"] for headers in endpoint.headers] == [f"Bearer {key}"] * 2
    assert key not in "".join(traceback.format_exception(raised.value))
    assert not [file for file in tmp_path.rglob("*.json") if key in file.read_text()]


def test_a_key_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)

    with pytest.raises(UserError, match=f"missing API key: the environment variable {KEY_VARIABLE} is not set"):
        OpenAIClient(EndpointSpec(base_url="http://127.0.0.1:9/v1", api_key_variable=KEY_VARIABLE), "tiny")


def test_no_proxy_of_the_network_is_asked_for_this_machine(endpoint, monkeypatch):
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name)
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nobody listens
    endpoint.answers = [make_answer("Done.")]
    (completion,) = ask(endpoint, make_request(), max_retries=0)
    assert completion.text == "Done."


def test_a_proxy_of_the_network_is_asked_for_other_machines(endpoint, monkeypatch):
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("http_proxy", endpoint.base_url.removesuffix("/v1"))
    endpoint.answers = [make_answer("Done.")]
    elsewhere = SimpleNamespace(base_url="http://elsewhere.invalid/v1")
    (completion,) = ask(elsewhere, make_request(), max_retries=0)
    assert completion.text == "Done."
