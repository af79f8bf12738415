from dataclasses import replace

import pytest

from carryover.tasks.serving.cpu import sampling
from carryover.tasks.serving.cpu.cache import CachePool
from carryover.tasks.serving.cpu.model_engine import GenerationRequest, ModelEngine
from carryover.tasks.serving.cpu.sampling import SamplingParameters
from tests.flattening import flat
from tests.tasks.serving.tiny import prompt_of


def build_engine(loaded, **settings):
    return ModelEngine(loaded, CachePool(2**26), **({"max_running": 16} | settings))


def run(engine, requests):
    for request in requests:
        engine.submit(request)
    while engine.has_work:
        engine.step()
    return [request.generated for request in requests]


def count_steps(engine, requests):
    for request in requests:
        engine.submit(request)
    steps = 0
    while engine.has_work:
        engine.step()
        steps += 1
    return steps


def request_of(prompt, *, max_tokens=30, episode_id=None, **settings):
    parameters = SamplingParameters(max_tokens, ignores_end=True)._replace(**settings)
    return GenerationRequest(prompt, parameters, episode_id)


def sampled_requests():
    return [request_of(prompt_of(9 + 11 * number, number), temperature=0.7, seed=number) for number in range(8)]


def generate(reference, prompt, count):
    import torch

    output = reference.generate(
        torch.tensor([prompt]), max_new_tokens=count, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    return output[0, len(prompt) :].tolist()


def test_a_greedy_batch_writes_what_generate_writes_one_by_one(loaded, reference):
    prompts = [prompt_of(3), prompt_of(40, 10), prompt_of(90, 50), prompt_of(200, 7)]
    replies = run(build_engine(loaded), [request_of(prompt, temperature=0.0) for prompt in prompts])
    assert replies == [generate(reference, prompt, 30) for prompt in prompts]


def test_a_prompt_longer_than_a_pass_is_computed_over_several(loaded, reference):
    prompt = prompt_of(300)
    (reply,) = run(build_engine(loaded, max_batch_tokens=64), [request_of(prompt, temperature=0.0)])
    assert reply == generate(reference, prompt, 30)


def test_a_seed_gives_one_reply_alone_and_batched(loaded):
    together = run(build_engine(loaded), sampled_requests())
    alone = [run(build_engine(loaded), [request])[0] for request in sampled_requests()]
    assert together == alone
    assert len({tuple(reply) for reply in together}) == len(together)


def test_logits_that_round_otherwise_in_a_batch_change_no_reply(loaded, monkeypatch):
    """Noise stands for the last bits that move with a batch, a thousand times as large, and so do the margins."""
    import torch

    monkeypatch.setattr(sampling, "SHARE_MARGIN", 0.02)
    noise = torch.Generator().manual_seed(0)

    def rounds_by_the_batch(rows):
        is_alone = len(rows) == 1 and not rows[0].cache.token_ids
        logits = loaded.forward(rows)
        return logits if is_alone else logits + 4e-3 * torch.rand(logits.shape, generator=noise)

    noisy = replace(loaded, forward=rounds_by_the_batch)
    together = run(build_engine(noisy), sampled_requests())
    assert together == [run(build_engine(loaded), [request])[0] for request in sampled_requests()]
    monkeypatch.setattr(sampling, "SHARE_MARGIN", 0.0)
    assert run(build_engine(noisy), sampled_requests()) != together


def test_guesses_do_not_change_a_reply(loaded):
    plain = run(build_engine(loaded, max_draft_tokens=0), sampled_requests())
    engine = build_engine(loaded)
    assert run(engine, sampled_requests()) == plain
    # What the first run taught is guessed in the second one, and right.
    assert run(engine, sampled_requests()) == plain


def test_guesses_that_hold_save_passes(loaded):
    engine = build_engine(loaded)
    first, second = (count_steps(engine, [request_of(prompt_of(10), max_tokens=60, temperature=0.0)]) for _ in "ab")
    assert second < first / 3


def test_another_seed_gives_another_reply(loaded):
    first, second = run(build_engine(loaded), [request_of(prompt_of(9), temperature=1.0, seed=seed) for seed in (1, 2)])
    assert first != second


def test_the_next_turn_computes_only_what_is_new(loaded):
    engine = build_engine(loaded)
    first = request_of(prompt_of(50), temperature=0.0, episode_id="episode")
    run(engine, [first])
    second = request_of([*prompt_of(50), *first.generated, 100, 101], temperature=0.0, episode_id="episode")
    (warm,) = run(engine, [second])
    assert second.reply is not None
    # The last token of a reply is written but never read, so the cache lacks it.
    assert second.reply.cached_tokens == 50 + 30 - 1
    (cold,) = run(build_engine(loaded), [request_of(second.prompt_ids, temperature=0.0)])
    assert warm == cold


def test_a_reply_ends_at_its_longest(loaded):
    request = request_of(prompt_of(9), max_tokens=7)
    run(build_engine(loaded), [request])
    assert request.reply is not None
    assert (request.reply.finish_reason, request.reply.completion_tokens) == ("length", 7)


def test_an_end_token_is_counted_but_not_written(loaded, reference):
    written = generate(reference, prompt_of(9), 30)
    end = written[4]
    ending = type(loaded)(**{**vars(loaded), "end_ids": frozenset([end])})
    request = request_of(prompt_of(9), temperature=0.0, ignores_end=False)
    run(build_engine(ending), [request])
    length = written.index(end) + 1
    assert request.reply is not None
    assert request.reply.finish_reason == "stop"
    assert request.reply.completion_tokens == length
    assert request.reply.text == loaded.tokenizer.decode(written[: length - 1], skip_special_tokens=True)


def test_a_stop_text_ends_the_reply_before_it(loaded, reference):
    text = loaded.tokenizer.decode(generate(reference, prompt_of(9), 30), skip_special_tokens=True)
    stop = text[10:13]
    request = request_of(prompt_of(9), temperature=0.0, stop=("never written", stop))
    run(build_engine(loaded), [request])
    assert request.reply is not None
    assert request.reply.finish_reason == "stop"
    assert request.reply.text == text[: text.index(stop)]


def test_a_stop_text_is_found_across_hidden_tokens(loaded):
    hidden, *_ = loaded.tokenizer.all_special_ids
    letters = [loaded.tokenizer.encode(letter, add_special_tokens=False) for letter in "END"]
    request = request_of(prompt_of(9), stop=("END",))
    request.generated.extend(flat((*letter, *[hidden] * 3) for letter in letters))
    run(build_engine(loaded), [request])
    assert request.reply is not None
    assert (request.reply.finish_reason, request.reply.text) == ("stop", "")


@pytest.mark.parametrize("max_running", [1, 3])
def test_more_requests_than_places_are_answered_in_turn(loaded, max_running):
    replies = run(build_engine(loaded, max_running=max_running), sampled_requests())
    assert replies == run(build_engine(loaded), sampled_requests())


def test_short_memory_slows_requests_down_but_answers_them(loaded):
    engine = ModelEngine(loaded, CachePool(byte_limit=1), max_running=16)
    assert run(engine, sampled_requests()) == run(build_engine(loaded), sampled_requests())
    assert engine.pool.byte_count == 0  # what is answered holds no memory that others want


def test_requests_are_answered_side_by_side(loaded):
    in_turn, together = (count_steps(build_engine(loaded, max_running=most), sampled_requests()) for most in (1, 16))
    assert together < in_turn / 3


def test_a_cancelled_request_leaves_the_batch_and_its_place(loaded):
    engine = build_engine(loaded, max_running=1)
    abandoned, queued, waiting = (request_of(prompt_of(9), max_tokens=200) for _ in range(3))
    for request in (abandoned, queued, waiting):
        engine.submit(request)
    engine.step()
    assert abandoned.answer.cancel()
    assert queued.answer.cancel()
    engine.step()
    while engine.has_work:
        engine.step()
    assert abandoned.reply is None
    assert queued.generated == []
    assert waiting.reply is not None
