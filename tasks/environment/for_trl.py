"""The environment in TRL's two interfaces.

`environment_factory` is for tool calls, `rollout_func` for fenced blocks.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from carryover.tasks.environment.block_environment import BlockEnvironment, ChatMessage
from carryover.tasks.environment.tokens import bridge_ids, prompt_ids
from carryover.tasks.services.source_digest import canonical_json

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

OpenEnvironment = Callable[[], BlockEnvironment]
"""Opens one environment of a family under a contract."""


class Generated(NamedTuple):
    """Tokens of one reply."""

    ids: list[int]
    log_probabilities: list[float]
    is_cut_off: bool = False
    """Whether the limit of tokens has ended the reply."""


Generate = Callable[[list[int]], Generated]
"""Continues the tokens of a conversation by one reply."""


class TrlEnvironment:
    """One rollout for `GRPOTrainer(environment_factory=...)`.

    TRL offers every other public method as a tool, so there is one.
    """

    def __init__(self, environment: BlockEnvironment) -> None:
        self._environment = environment

    def reset(self, seed: int = 0, **_: Any) -> str:
        """Begin an episode, and return the goal, which TRL appends to the row's last message."""
        return self._environment.reset(seed=seed)[-1]["content"]

    def run_block(self, code: str) -> str:
        """Run a block of Python in the episode's interpreter and return what it printed.

        Args:
            code: The block. The tools of the problem are functions in it.

        Returns:
            The observation: output, result, error, and the state of the runtime.
        """
        return self._environment.run_block(code)

    def get_reward(self) -> float:
        """Return the score of the environment's state."""
        return self._environment.get_reward()

    def _close(self) -> None:
        self._environment.close()


def environment_factory(open_environment: OpenEnvironment) -> Callable[[], TrlEnvironment]:
    """Return the factory that `GRPOTrainer` takes."""
    return lambda: TrlEnvironment(open_environment())


def training_rows(open_environment: OpenEnvironment, seeds: Iterable[int], *, has_goal: bool) -> list[dict[str, Any]]:
    """Return a row per seed: prompt, seed and contract.

    `has_goal` writes the goal into the prompt, as `rollout_func` needs; `environment_factory` appends it on reset.
    """
    environment = open_environment()
    rows = []
    for seed in seeds:
        *opening, last = environment.opening(seed)
        goal = last["content"] if has_goal else ""
        prompt = [*opening, {"role": "user", "content": goal}]
        rows.append({"prompt": prompt, "seed": seed, "contract": environment.contract})
    environment.close()
    return rows


def rollout_func(
    open_environment: OpenEnvironment, rows: Sequence[dict[str, Any]], max_new_tokens: int
) -> Callable[[list[list[ChatMessage]], Any], dict[str, list[Any]]]:
    """Return a `rollout_func` of whole episodes, the environment's tokens masked.

    `rows` are those of `training_rows`: TRL hands over a prompt without its seed. The reward comes along as `reward`,
    which `environment_reward` reads.
    """
    seeds = {canonical_json(row["prompt"]): row["seed"] for row in rows}
    pool: list[BlockEnvironment] = []

    def roll_out(prompts: list[list[ChatMessage]], trainer: Any) -> dict[str, list[Any]]:
        if not pool:
            pool.append(open_environment())
        tokenizer = trainer.processing_class
        generate = _sampler(trainer.model, tokenizer, trainer.temperature, max_new_tokens)
        rolled = [play_tokens(pool[0], seeds[canonical_json(prompt)], tokenizer, generate) for prompt in prompts]
        return {field: [getattr(each, field) for each in rolled] for field in TokenEpisode._fields}

    return roll_out


def environment_reward(completions: Sequence[Any], reward: Sequence[float], **_: Any) -> list[float]:
    """Return the rewards that `rollout_func` brought along: the function for `reward_funcs`."""
    return list(reward)


class TokenEpisode(NamedTuple):
    """An episode as a trainer of tokens takes it."""

    prompt_ids: list[int]
    completion_ids: list[int]
    """Replies as they were generated, and the observations between them."""
    logprobs: list[float]
    """Of the replies' tokens; 0 for an observation's."""
    env_mask: list[int]
    """1 for a reply's token, 0 for an observation's."""
    reward: float


def play_tokens(
    environment: BlockEnvironment,
    seed: int,
    tokenizer: "PreTrainedTokenizerBase",
    generate: Generate,
    *,
    max_tokens: int | None = None,
) -> TokenEpisode:
    """Play an episode token-in, token-out: no reply is tokenized again.

    A conversation of `max_tokens` or more ends the episode as it stands.
    """
    prompt = prompt_ids(tokenizer, environment.reset(seed=seed))
    completion: list[int] = []
    log_probabilities: list[float] = []
    mask: list[int] = []
    while True:
        reply = generate(prompt + completion)
        # The ids as they were drawn: the text, encoded again, could have others, which nobody chose.
        completion += reply.ids
        log_probabilities += reply.log_probabilities
        mask += [1] * len(reply.ids)
        text = tokenizer.decode(reply.ids, skip_special_tokens=True)
        step = environment.step(str(text), is_cut_off=reply.is_cut_off)
        if step.is_over or step.observation is None:
            return TokenEpisode(prompt, completion, log_probabilities, mask, environment.get_reward())
        between = bridge_ids(tokenizer, step.observation, last_id=completion[-1] if completion else None)
        if max_tokens is not None and len(prompt) + len(completion) + len(between) >= max_tokens:
            environment.stop()
            return TokenEpisode(prompt, completion, log_probabilities, mask, environment.get_reward())
        # An observation conditions the next reply and was not chosen: no gradient flows from its tokens.
        completion += between
        log_probabilities += [0.0] * len(between)
        mask += [0] * len(between)


def _sampler(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", temperature: float, max_new_tokens: int
) -> Generate:
    """Return what samples a reply from a model of transformers."""
    import torch

    def generate(ids: list[int]) -> Generated:
        asked = torch.tensor([ids], device=model.device)  # (1, time)
        with torch.no_grad():
            made = model.generate(  # pyright: ignore[reportCallIssue]
                input_ids=asked,
                attention_mask=torch.ones_like(asked),
                do_sample=True,
                temperature=temperature,
                max_new_tokens=max_new_tokens,
                pad_token_id=tokenizer.pad_token_id,
                return_dict_in_generate=True,
                output_logits=True,
            )
        new = made.sequences[0, len(ids) :].tolist()
        # Of the distribution that was drawn from, so after the temperature.
        logits = torch.stack(made.logits)[:, 0, :].float() / temperature  # (new tokens, vocabulary)
        chosen = torch.log_softmax(logits, dim=-1)[range(len(new)), new]  # (new tokens,)
        is_cut_off = len(new) == max_new_tokens and new[-1] != tokenizer.eos_token_id
        return Generated(new, chosen.tolist(), is_cut_off)

    return generate
