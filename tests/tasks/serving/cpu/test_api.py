"""The CPU server's replies over HTTP, asked by the official client."""

import concurrent.futures
import json
import urllib.request
from importlib import resources

import openai
import pytest

from carryover.tasks.datasets.conversations import Conversation, TrainingMessage
from carryover.tasks.serving.cpu.api import reply_choice
from carryover.tasks.serving.cpu.chat_request import parse_request
from carryover.tasks.serving.cpu.model_engine import GenerationReply
from carryover.tasks.sft.prepare import IGNORED, tokenize
from carryover.tasks.sft.tokenizer import chat_template
from tests.tasks.serving.cpu.asking import CONTEXT_TOKENS, MESSAGES, TOOL, ask, text_of

CONVERSATION = Conversation(
    messages=(
        TrainingMessage(role="system", content="You write code.\n"),
        TrainingMessage(role="user", content="Take é."),
        TrainingMessage(role="assistant", content="\n  I look.\n```python\nprint(1)\n```"),
        TrainingMessage(role="user", content='{"output": "1\\n<think>"}'),
        TrainingMessage(role="assistant", content="Done."),
    )
)


def test_the_server_is_healthy_and_lists_its_models(server, client):
    with urllib.request.urlopen(f"{server}/health") as answer:
        assert answer.status == 200
    assert [model.id for model in client.models.list()] == ["base", "adapter", "checkpoint"]
    assert client.models.list().object == "list"
    shown = client.models.retrieve("adapter")
    assert (shown.id, shown.max_model_len) == ("adapter", CONTEXT_TOKENS)


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


def test_a_reply_without_a_limit_may_fill_the_context(client, engines):
    usage = client.chat.completions.create(model="base", messages=MESSAGES).usage
    limit = engines["base"].submitted[-1].parameters.max_tokens
    assert limit == CONTEXT_TOKENS - usage.prompt_tokens >= usage.completion_tokens


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


def test_a_reply_without_limit_ends_with_the_context(client):
    prompt = [{"role": "user", "content": "x" * 500}]
    completion = client.chat.completions.create(model="base", messages=prompt, extra_body={"ignore_eos": True})
    assert completion.usage.total_tokens == CONTEXT_TOKENS
    assert completion.choices[0].finish_reason == "length"


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
