"""Tokens per processor second of the CPU server's engine with drafts and without, on a study's own conversations."""

import json
import statistics
import time
from pathlib import Path

import polars as pl

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.serving.cpu.cache import CachePool
from carryover.tasks.serving.cpu.model_engine import GenerationRequest, ModelEngine
from carryover.tasks.serving.cpu.models import LoadedModel, load_models
from carryover.tasks.serving.cpu.sampling import SamplingParameters
from carryover.tasks.serving.serving_spec import ServedModels

EPISODES, ROUNDS = 8, 3
REPLY_TOKENS, CACHE_BYTES = 512, 1 << 30


def gain_of_drafting(home: Path, contract: str) -> float:
    """Return how many times the tokens drafts give, of a contract's model that writes its replies again."""
    played = _conversations(home, contract)
    (model,) = (home / "models").glob(f"*-{contract}-*")
    (loaded,) = load_models(ServedModels(base=str(model), base_name=contract))
    gains = []
    for _ in range(ROUNDS):
        drafted, plain = (_tokens_per_second(loaded, played, max_draft_tokens=count) for count in (16, 0))
        gains.append(drafted / plain)
    return statistics.median(gains)


def _conversations(home: Path, contract: str) -> list[list[tuple[list[dict[str, str]], int]]]:
    """Return the messages before each reply of some episodes that share a cell, and the seed of the reply."""
    zone = LandingZone(home / "landing")
    cell = zone.scan("episodes").filter(train_contract=contract, runtime_contract="stateless", purpose="evaluation")
    ids = cell.sort("instance_id").head(EPISODES).select("episode_id")
    turns = zone.scan("turns").join(ids.lazy(), on="episode_id").sort("episode_id", "turn").collect()
    return [_requests(rows) for _, rows in turns.group_by("episode_id", maintain_order=True)]


def _requests(turns: pl.DataFrame) -> list[tuple[list[dict[str, str]], int]]:
    opening, *others = turns.to_dicts()
    messages, requests = json.loads(opening["observation"]), []
    for turn in others:
        requests.append((list(messages), turn["decoding_seed"]))
        messages.append({"role": "assistant", "content": turn["assistant_text"]})
        messages.append({"role": "user", "content": turn["observation"] or ""})
    return requests


def _tokens_per_second(loaded: LoadedModel, played: list, *, max_draft_tokens: int) -> float:
    """Write every reply, turn by turn, all episodes at once."""
    engine = ModelEngine(loaded, CachePool(CACHE_BYTES), max_running=EPISODES, max_draft_tokens=max_draft_tokens)
    count, started = 0, time.process_time()
    for turn in range(max(map(len, played))):
        requests = []
        for number, asked in enumerate(played):
            if turn < len(asked):
                messages, seed = asked[turn]
                sampling = SamplingParameters(REPLY_TOKENS, temperature=0.2, seed=seed)
                requests.append(GenerationRequest(_prompt_ids(loaded, messages), sampling, f"episode-{number}"))
        for request in requests:
            engine.submit(request)
        while engine.has_work:
            engine.step()
        count += sum(len(request.generated) for request in requests)
    return count / (time.process_time() - started)


def _prompt_ids(loaded: LoadedModel, messages: list[dict[str, str]]) -> list[int]:
    text = loaded.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert isinstance(text, str)
    return loaded.tokenizer.encode(text, add_special_tokens=False)
