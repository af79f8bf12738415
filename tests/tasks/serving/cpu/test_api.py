"""The CPU server over HTTP, asked by the official client."""

import concurrent.futures
import contextlib
import http.client
import json
import threading
import time
import urllib.request
from importlib import resources
from typing import Any

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carryover.tasks.datasets.conversations import Conversation, TrainingMessage
from carryover.tasks.serving.cpu.api import reply_choice
from carryover.tasks.serving.cpu.cache import CachePool
from carryover.tasks.serving.cpu.chat_request import parse_request
from carryover.tasks.serving.cpu.model_engine import GenerationReply, ModelEngine
from carryover.tasks.sft.prepare import IGNORED, tokenize
from carryover.tasks.sft.tokenizer import chat_template

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say something."}]
CONTEXT_TOKENS = 600
TOOL: Any = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
CONVERSATION = Conversation(
    messages=(
        TrainingMessage(role="system", content="You write code.\n"),
        TrainingMessage(role="user", content="Take é."),
        TrainingMessage(role="assistant", content="\n  I look.\n```python\nprint(1)\n```"),
        TrainingMessage(role="user", content='{"output": "1\\n<think>"}'),
        TrainingMessage(role="assistant", content="Done."),
    )
)


class HeldEngine(ModelEngine):
    """An engine that can be held while requests are in its batch, and remembers all that it was given."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.submitted = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def submit(self, request):
        self.submitted.append(request)
        super().submit(request)

    def step(self):
        if self.submitted[-1].cache is not None:
            self.may_go_on.wait()
        return super().step()


@pytest.fixture(scope="module")
def engines(torch, base_path, adapter_path, other_path):
    """An engine per served model, by name."""
    from carryover.tasks.serving.cpu.models import load_models
    from carryover.tasks.serving.serving_spec import ServedModels

    models = load_models(
        ServedModels(base=str(base_path), adapters={"adapter": adapter_path}, checkpoints={"checkpoint": other_path})
    )
    pool = CachePool(2**26)
    return {model.name: HeldEngine(model, pool, max_running=32) for model in models}


@pytest.fixture(scope="module")
def server(engines):
    """A server in a thread of the test process, as the command line builds it; yields its address."""
    import uvicorn

    from carryover.tasks.serving.cpu.api import ChatApi
    from carryover.tasks.serving.cpu.scheduler import Scheduler

    models = [engine.loaded for engine in engines.values()]
    api = ChatApi(models, Scheduler(engines.values()), max_tokens=CONTEXT_TOKENS, template_kwargs={})
    server = uvicorn.Server(uvicorn.Config(api.build_app(), port=0, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=f"{server}/v1", api_key="none", max_retries=0, timeout=60) as client:
        yield client


def ask(client, messages=MESSAGES, *, model="base", max_completion_tokens=20, **settings):
    return client.chat.completions.create(
        model=model, messages=messages, max_completion_tokens=max_completion_tokens, **settings
    )


def text_of(completion):
    return completion.choices[0].message.content


def test_the_server_is_healthy_and_lists_its_models(server, client):
    with urllib.request.urlopen(f"{server}/health") as answer:
        assert answer.status == 200
    assert [model.id for model in client.models.list()] == ["base", "adapter", "checkpoint"]


def test_usage_adds_up(client):
    completion = ask(client, extra_body={"ignore_eos": True})
    usage = completion.usage
    assert usage.completion_tokens == 20
    assert usage.total_tokens == usage.prompt_tokens + 20
    assert completion.choices[0].finish_reason == "length"
    # ChatML around two messages of 9 and 14 bytes, byte tokens, roles spelt out, and the opened reply.
    rendered = "system\nBe brief.\nuser\nSay something.\nassistant\n"
    assert usage.prompt_tokens == len(rendered) + 5


def test_max_tokens_of_the_older_name_works_too(client):
    completion = client.chat.completions.create(
        model="base", messages=MESSAGES, max_tokens=3, extra_body={"ignore_eos": True}
    )
    assert completion.usage.completion_tokens == 3


def test_a_seed_repeats_a_reply_and_another_one_changes_it(client):
    first, again, other = (ask(client, seed=seed, temperature=1.0) for seed in (7, 7, 8))
    assert text_of(first) == text_of(again) != text_of(other)


def test_concurrent_requests_get_the_replies_of_sequential_ones(client):
    def reply(seed):
        return text_of(ask(client, seed=seed, temperature=0.8, model=["base", "adapter", "checkpoint"][seed % 3]))

    alone = [reply(seed) for seed in range(12)]
    with concurrent.futures.ThreadPoolExecutor(12) as threads:
        assert list(threads.map(reply, range(12))) == alone


def test_every_model_writes_its_own_text(client):
    texts = {text_of(ask(client, model=model, temperature=0)) for model in ("base", "adapter", "checkpoint")}
    assert len(texts) == 3


def test_the_next_turn_of_an_episode_is_cached(client):
    headers = {"x-episode-id": "episode-1"}
    first = ask(client, extra_headers=headers, temperature=0)
    history = [*MESSAGES, {"role": "assistant", "content": text_of(first)}, {"role": "user", "content": "Go on."}]
    second = ask(client, history, extra_headers=headers, temperature=0)
    assert second.usage.prompt_tokens_details.cached_tokens >= first.usage.prompt_tokens
    assert text_of(second) == text_of(ask(client, history, extra_headers={"x-episode-id": "fresh"}, temperature=0))


def test_the_next_turn_is_found_without_an_episode_id(client):
    opening = [{"role": "user", "content": "A conversation of its own."}]
    first = ask(client, opening, temperature=0)
    history = [*opening, {"role": "assistant", "content": text_of(first)}, {"role": "user", "content": "Go on."}]
    second = ask(client, history, temperature=0)
    assert second.usage.prompt_tokens_details.cached_tokens >= first.usage.prompt_tokens


def test_a_stop_text_ends_the_reply(client):
    text = text_of(ask(client, temperature=0, extra_body={"ignore_eos": True}))
    stopped = ask(client, temperature=0, stop=[text[5:8]], extra_body={"ignore_eos": True})
    assert text_of(stopped) == text[: text.index(text[5:8])]
    assert stopped.choices[0].finish_reason == "stop"


def test_chat_template_arguments_reach_the_template(client):
    plain = ask(client).usage.prompt_tokens
    without_thinking = ask(client, extra_body={"chat_template_kwargs": {"enable_thinking": False}}).usage.prompt_tokens
    assert without_thinking == plain + len("<think></think>")


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


def test_the_server_reads_the_tokens_of_the_training(client, engines, monkeypatch):
    engine = engines["base"]
    tokenizer = engine.loaded.tokenizer
    monkeypatch.setattr(tokenizer, "chat_template", chat_template("qwen3"))
    ((ids, labels),) = tokenize([CONVERSATION], tokenizer)
    for place in (2, 4):
        history = [{"role": each.role, "content": each.content} for each in CONVERSATION.messages[:place]]
        ask(client, history, extra_body={"chat_template_kwargs": {"enable_thinking": False}})
        read = list(engine.submitted[-1].prompt_ids)
        assert read == ids[: len(read)]
        assert tokenizer.decode(read).endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")
        # what is learned begins where the server's model begins to write
        assert labels[len(read) - 1] == IGNORED != labels[len(read)] == ids[len(read)]


def test_content_in_parts_is_the_same_as_one_string(client):
    parts = [{"role": "user", "content": [{"type": "text", "text": "Say "}, {"type": "text", "text": "it."}]}]
    whole = [{"role": "user", "content": "Say it."}]
    assert text_of(ask(client, parts, temperature=0)) == text_of(ask(client, whole, temperature=0))


def test_an_unknown_model_is_not_found(client):
    with pytest.raises(openai.NotFoundError, match=r"The model `nobody` does not exist"):
        ask(client, model="nobody")


def test_a_prompt_without_room_for_a_reply_is_refused(client):
    long = [{"role": "user", "content": "x" * 590}]
    with pytest.raises(openai.BadRequestError, match=r"maximum context length is 600 tokens.*you requested 20 output"):
        ask(client, long)


def test_a_reply_without_limit_ends_with_the_context(client):
    prompt = [{"role": "user", "content": "x" * 500}]
    completion = client.chat.completions.create(model="base", messages=prompt, extra_body={"ignore_eos": True})
    assert completion.usage.total_tokens == CONTEXT_TOKENS
    assert completion.choices[0].finish_reason == "length"


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
        ({"extra_body": {"chat_template_kwargs": {"add_generation_prompt": False}}}, "may not set add_generation"),
    ],
)
def test_what_the_server_cannot_do_is_refused_by_name(client, settings, complaint):
    with pytest.raises(openai.BadRequestError, match=complaint):
        ask(client, **settings)


def test_offered_tools_and_their_results_are_part_of_the_prompt(client, engines, monkeypatch):
    template = (resources.files("trl") / "chat_templates" / "qwen2_5.jinja").read_text()
    monkeypatch.setattr(engines["base"].loaded.tokenizer, "chat_template", template)
    asked = [{"role": "user", "content": "Add."}]
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    answered = [
        *asked,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
    ]
    none = ask(client, asked, model="base", max_completion_tokens=4)
    assert none.usage.prompt_tokens < CONTEXT_TOKENS // 2
    with pytest.raises(openai.BadRequestError, match="maximum context length"):  # the offer takes more than it has
        ask(client, answered, tools=[TOOL], max_completion_tokens=4)
    told = ask(client, answered, max_completion_tokens=4)
    # <tool_call> with the call, <tool_response> with its result, and their headers
    assert told.usage.prompt_tokens > none.usage.prompt_tokens + len('{"name": "add", "arguments": {}}')
    hidden = ask(client, asked, tools=[TOOL], tool_choice="none", max_completion_tokens=4)
    assert hidden.usage.prompt_tokens == none.usage.prompt_tokens


def test_a_reply_that_calls_ends_with_tool_calls():
    request = parse_request(json.dumps({"model": "m", "messages": [MESSAGES[1]], "tools": [TOOL]}).encode())
    reply = GenerationReply('<tool_call>{"name": "add"}</tool_call>', "stop", 1, 0, 1)
    choice = reply_choice(request, reply)
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", None)
    assert choice["message"]["tool_calls"][0]["function"] == {"name": "add", "arguments": "{}"}
    without = parse_request(json.dumps({"model": "m", "messages": [MESSAGES[1]]}).encode())
    assert reply_choice(without, reply)["message"]["content"] == reply.text


def test_an_empty_template_is_refused_and_the_server_lives(client, engines, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(engines["base"].loaded.tokenizer, "chat_template", "{{ '' }}")
        with pytest.raises(openai.BadRequestError, match="writes an empty prompt"):
            ask(client)
    assert text_of(ask(client)) is not None


def test_what_openai_s_clients_send_passes(client):
    plain = ask(client, temperature=0)
    messages = [
        {"role": "developer", "content": "Be brief.", "name": "boss"},
        {"role": "user", "content": "Say something.", "refusal": None},
    ]
    sent = ask(
        client, messages, temperature=0, presence_penalty=0, frequency_penalty=0.0, store=False, n=1, logprobs=False,
        metadata={"run": "1"}, tool_choice="none", response_format={"type": "text"}, logit_bias={}, stop=None, seed=-1,
        extra_body={"user": None, "tools": None, "stream_options": None, "chat_template_kwargs": None},
    )  # fmt: skip
    assert text_of(sent) == text_of(plain)
    assert sent.usage.prompt_tokens == plain.usage.prompt_tokens
    assert ask(client, [*MESSAGES, {"role": "assistant", "content": None}]).usage.completion_tokens


@pytest.mark.parametrize("options", [{}, {"stop": ["\n", "zz"]}, {"extra_body": {"ignore_eos": True}}])
def test_a_stream_gives_the_same_reply_piece_by_piece(client, options):
    whole = ask(client, seed=5, max_completion_tokens=80, **options)
    stream = ask(
        client, seed=5, max_completion_tokens=80, stream=True, stream_options={"include_usage": True}, **options
    )
    *chunks, last = list(stream)
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks]
    assert "".join(pieces) == text_of(whole)
    assert [chunk.choices[0].finish_reason for chunk in chunks][-1] == whole.choices[0].finish_reason
    assert (last.choices, last.usage.completion_tokens) == ([], whole.usage.completion_tokens)


def test_one_model_is_shown_and_another_is_not_found(client):
    assert client.models.retrieve("adapter").id == "adapter"
    with pytest.raises(openai.NotFoundError, match=r"The model `some/body` does not exist"):
        client.models.retrieve("some/body")


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
