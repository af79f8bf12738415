"""What the CPU server refuses over HTTP, and what it outlives."""

import contextlib
import http.client
import json
import time
import urllib.request

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tasks.serving.cpu.asking import MESSAGES, TOOL, ask, text_of


def test_an_unknown_model_is_not_found(client):
    with pytest.raises(openai.NotFoundError, match=r"The model `nobody` does not exist"):
        ask(client, model="nobody")


def test_one_model_is_shown_and_another_is_not_found(client):
    assert client.models.retrieve("adapter").id == "adapter"
    with pytest.raises(openai.NotFoundError, match=r"The model `some/body` does not exist"):
        client.models.retrieve("some/body")


def test_a_prompt_without_room_for_a_reply_is_refused(client):
    long = [{"role": "user", "content": "x" * 590}]
    with pytest.raises(openai.BadRequestError, match=r"maximum context length is 600 tokens.*you requested 20 output"):
        ask(client, long)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"n": 2}, "n: "),
        ({"logprobs": True}, "logprobs: "),
        ({"temperature": -1}, "temperature: "),
        ({"max_completion_tokens": 0}, "max_completion_tokens: "),
        ({"messages": []}, "messages: "),
        ({"temperature": "1"}, "temperature: "),
        ({"presence_penalty": 1}, "presence_penalty: "),
        ({"messages": [{"role": "critic", "content": "x"}]}, "messages.0.role: "),
        ({"tools": [TOOL]}, "The chat template of `base` shows no tools"),
        ({"tools": [{"type": "web"}]}, "tools.0.type: "),
        ({"extra_body": {"chat_template_kwargs": {"chat_template": ""}}}, "may not set chat_template"),
        ({"extra_body": {"chat_template_kwargs": {"messages": []}}}, "may not set messages"),
        ({"extra_body": {"chat_template_kwargs": {"conversations": []}}}, "may not set conversations"),
        ({"extra_body": {"chat_template_kwargs": {"add_generation_prompt": False}}}, "may not set add_generation"),
    ],
)
def test_what_the_server_cannot_do_is_refused_by_name(client, settings, complaint):
    with pytest.raises(openai.BadRequestError, match=complaint):
        ask(client, **settings)


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{ raise_exception('Roles must alternate, got system') }}", "Roles must alternate, got system"),
        ("{{ messages[7].content }}", "has no element 7"),
        ("{{ messages[0].content + effort }}", "can only concatenate str"),
    ],
)
def test_a_template_refusal_is_told_in_its_words(client, engines, monkeypatch, template, words):
    with monkeypatch.context() as patch:
        patch.setattr(engines["base"].loaded.tokenizer, "chat_template", template)
        with pytest.raises(openai.BadRequestError, match=rf"chat template of `base` refuses the request: .*{words}"):
            ask(client, extra_body={"chat_template_kwargs": {"effort": 3}})
    assert ask(client, extra_body={"ignore_eos": True}).usage.completion_tokens == 20


def test_an_empty_template_is_refused_and_the_server_lives(client, engines, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(engines["base"].loaded.tokenizer, "chat_template", "{{ '' }}")
        with pytest.raises(openai.BadRequestError, match="writes an empty prompt"):
            ask(client)
    assert text_of(ask(client)) is not None


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/nothing", None, 404),
        ("GET", "/v1/chat/completions", None, 405),
        ("POST", "/v1/models", b"{}", 405),
        ("POST", "/v1/chat/completions", b"", 400),
        ("POST", "/v1/chat/completions", b"[]", 400),
        ("POST", "/v1/chat/completions", b"\xff", 400),
        ("POST", "/v1/chat/completions", b'{"model": "\\ud800", "messages": []}', 400),
        ("POST", "/v1/chat/completions", b"[" * 100_000, 400),
        pytest.param("POST", "/v1/chat/completions", b" " * (8 * 2**20 + 1), 413, id="too_large"),
        pytest.param("POST", "/v1/chat/completions", b" " * (40 * 2**20), 413, id="far_too_large"),
    ],
)
def test_every_refusal_has_openai_s_shape(server, method, path, body, status):
    with contextlib.closing(http.client.HTTPConnection(server.removeprefix("http://"))) as connection:
        connection.request(method, path, body)
        answer = connection.getresponse()
        error = json.loads(answer.read())["error"]
    assert (answer.status, error["code"], set(error)) == (status, status, {"message", "type", "param", "code"})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "developer", "tool"]), "content": st.text(max_size=30)},
    optional={"name": JSON, "tool_calls": JSON},
)
VARIABLES = st.dictionaries(
    st.sampled_from(["enable_thinking", "tools", "tokenize", "chat_template", "bos_token"]), JSON
)
REQUEST = st.fixed_dictionaries(
    {"model": st.sampled_from(["base", "adapter", "nobody"]), "messages": st.lists(MESSAGE, max_size=3) | JSON},
    optional={
        **dict.fromkeys(("temperature", "top_p", "seed", "stop", "stream", "n", "tools", "logit_bias", "x"), JSON),
        "temperature": st.floats(0, 2), "top_p": st.floats(0, 1), "stop": st.lists(st.text(max_size=3), max_size=3),
        "seed": st.integers(), "stream": st.booleans(), "chat_template_kwargs": VARIABLES | JSON,
        "max_tokens": st.integers(-1, 2**40), "max_completion_tokens": st.integers(0, 8),
    },
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=600, deadline=None, derandomize=True)
@given(body=REQUEST | JSON, headers=st.sampled_from([{}, {"x-episode-id": "one"}, {"Content-Type": "text/plain"}]))
def test_no_request_gets_a_failure_or_ends_the_server(server, body, headers):
    with contextlib.closing(http.client.HTTPConnection(server.removeprefix("http://"), timeout=60)) as connection:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer = connection.getresponse()
        told = answer.read()
    assert answer.status < 500, (body, told)
    assert b"InternalServerError" not in told
    urllib.request.urlopen(f"{server}/health").close()


def test_a_megabyte_of_text_stalls_nobody(server):
    body = json.dumps({"model": "base", "messages": [{"role": "user", "content": "word " * 200_000}]})
    with contextlib.closing(http.client.HTTPConnection(server.removeprefix("http://"))) as connection:
        connection.request("POST", "/v1/chat/completions", body)
        slowest = 0.0
        for _ in range(20):
            started = time.monotonic()
            urllib.request.urlopen(f"{server}/health").close()
            slowest = max(slowest, time.monotonic() - started)
        assert connection.getresponse().status == 400  # longer than the context
    assert slowest < 1.0


def test_a_client_that_disconnects_leaves_the_batch(server, client, engines):
    body = {"model": "base", "messages": MESSAGES, "ignore_eos": True}
    engine = engines["base"]
    count = len(engine.submitted)
    engine.may_go_on.clear()
    try:
        with contextlib.closing(http.client.HTTPConnection(server.removeprefix("http://"))) as connection:
            connection.request("POST", "/v1/chat/completions", json.dumps(body))
            wait_until(lambda: len(engine.submitted) > count)
        given_up = engine.submitted[-1]
        wait_until(given_up.answer.cancelled)
    finally:
        engine.may_go_on.set()
    assert ask(client, extra_body={"ignore_eos": True}).usage.completion_tokens == 20
    assert given_up.reply is None
    assert not engine.has_work


def wait_until(is_so):
    """Return once something is so, and fail after a minute."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)
