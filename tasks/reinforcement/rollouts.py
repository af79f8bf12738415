"""Episodes of one update, played side by side on the CPU engine."""

import copy
import hashlib
import statistics
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.environment.for_trl import Generated, TokenEpisode, play_tokens
from carryover.tasks.reinforcement.reinforcement_spec import CACHE_BYTES, ReinforcementSpec
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.contract import Contract
from carryover.tasks.services.errors import UserError
from carryover.tasks.serving.cpu.cache import CachePool
from carryover.tasks.serving.cpu.model_engine import GenerationRequest, ModelEngine
from carryover.tasks.serving.cpu.models import LoadedModel, loaded_model
from carryover.tasks.serving.cpu.qwen3 import Qwen3Forward
from carryover.tasks.serving.cpu.sampling import SamplingParameters
from carryover.tasks.traces.training_rows import PolicyUpdate
from carryover.tasks.traces.vocabulary import FinishReason

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class World(NamedTuple):
    """Family, contract and runtime of an update's episodes."""

    family: str
    bucket: str
    contract: Contract
    runtime: Runtime
    """Shared by all of them."""


class Rolled(NamedTuple):
    """A played episode."""

    tokens: TokenEpisode
    """With the reward that it is trained by."""
    score: float
    turn_count: int
    has_missed: bool
    is_finished: bool


def play_update(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    spec: ReinforcementSpec,
    world: World,
    *,
    seeds: Sequence[int],
    update: int,
) -> list[Rolled]:
    """Play an episode per seed with the present weights.

    Equal seeds draw other tokens.
    """
    engine = ModelEngine(_served(model, tokenizer), CachePool(CACHE_BYTES), max_running=len(seeds))
    steps = _Steps(engine)

    def play(place: int) -> Rolled:
        name = f"{update}/{seeds[place]}/{place}"
        generate = _sampler(steps, spec, name)
        return _play(world, spec, seeds[place], tokenizer, generate)

    with ThreadPoolExecutor(len(seeds)) as pool:
        played = [pool.submit(play, place) for place in range(len(seeds))]
        steps.run_until_done(played)
        return [each.result() for each in played]


def summary(update: int, rolled: Sequence[Rolled], seconds: float) -> PolicyUpdate:
    """Return an update's row."""
    return PolicyUpdate(
        policy_update=update,
        episode_count=len(rolled),
        missed_share=statistics.fmean(each.has_missed for each in rolled),
        unfinished_share=statistics.fmean(not each.is_finished for each in rolled),
        mean_score=statistics.fmean(each.score for each in rolled),
        mean_reward=statistics.fmean(each.tokens.reward for each in rolled),
        mean_reply_count=statistics.fmean(each.turn_count for each in rolled),
        mean_completion_tokens=statistics.fmean(sum(each.tokens.env_mask) for each in rolled),
        mean_tokens=statistics.fmean(len(each.tokens.prompt_ids + each.tokens.completion_ids) for each in rolled),
        wall_seconds=seconds,
    )


class _Steps:
    """Drives the engine in one thread, while episodes wait in theirs."""

    def __init__(self, engine: ModelEngine) -> None:
        self._engine = engine
        self._has_news = threading.Event()

    def complete(self, request: GenerationRequest) -> str:
        """Wait for a reply, and return why it ended."""
        self._engine.submit(request)
        self._has_news.set()
        return request.answer.result().finish_reason

    def run_until_done(self, played: Sequence[Future[Rolled]]) -> None:
        import torch

        for each in played:
            each.add_done_callback(lambda _: self._has_news.set())
        while not all(each.done() for each in played):
            self._has_news.wait()
            self._has_news.clear()
            while self._engine.has_work:
                with torch.inference_mode():
                    self._engine.step()


def _play(
    world: World,
    spec: ReinforcementSpec,
    seed: int,
    tokenizer: "PreTrainedTokenizerBase",
    generate: Callable[[list[int]], Generated],
) -> Rolled:
    environment = BlockEnvironment(
        world.family, world.contract, bucket=world.bucket, max_turns=spec.max_turns, runtime=world.runtime
    )
    try:
        tokens = play_tokens(environment, seed, tokenizer, generate, max_tokens=spec.max_episode_tokens)
        episode = environment.recorded.episode
        price = spec.turn_price * episode.turn_count
        return Rolled(
            tokens._replace(reward=tokens.reward - price),
            score=tokens.reward,
            turn_count=episode.turn_count,
            has_missed=environment.missed_names > 0,
            is_finished=episode.finish_reason == FinishReason.FINISH_TOOL,
        )
    finally:
        environment.close()


def _sampler(steps: _Steps, spec: ReinforcementSpec, name: str) -> Callable[[list[int]], Generated]:
    """Return the sampler of an episode; each reply has a seed."""

    def generate(ids: list[int]) -> Generated:
        digest = hashlib.sha256(f"{name}/{len(ids)}".encode()).digest()
        drawn = SamplingParameters(
            max_tokens=spec.max_completion_tokens,
            temperature=spec.temperature,
            seed=int.from_bytes(digest[:4], "big"),
        )
        request = GenerationRequest(ids, drawn, episode_id=name)
        reason = steps.complete(request)
        # The update uses the weights that sampled the reply, so TRL computes the log-probabilities itself.
        return Generated(request.generated, [0.0] * len(request.generated), is_cut_off=reason == "length")

    return generate


def _served(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> LoadedModel:
    """Return a copy of the present weights for the engine."""
    if not Qwen3Forward.fits(model):
        raise UserError(f"reinforcement plays plain Qwen3 models alone, not {model.config.model_type}")
    with_own_weights = copy.deepcopy(model).eval().requires_grad_(requires_grad=False)
    return loaded_model("policy", with_own_weights, tokenizer)
