"""An episode that a trainer steps: reset, replies, reward."""

import asyncio
import queue
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from functools import cache
from typing import Any, NamedTuple

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode import EpisodeContext, PlannedEpisode, open_speaker, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.family import Environment
from carryover.tasks.agent.protocol import Completion, CompletionRequest, Message, ModelError
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.families.choose import StudyFamily, choose_family, open_own_family
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.contract import Contract, as_contract, is_described
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.traces.vocabulary import PAPER_FAMILY, ContractName, TokenSource

PATIENCE_SECONDS = 1e8
"""A trainer may take as long as it likes between two replies: turns and tokens end an episode."""

ChatMessage = dict[str, str]
"""A message as chat templates take it: `role` and `content`."""


class Step(NamedTuple):
    """Outcome of a reply."""

    observation: str | None
    """The user message that follows; None at the end of the episode."""
    is_over: bool
    reward: float
    """Final score at the end and else 0; with shaping, by how much the reply has raised the score."""


class BlockEnvironment:
    """An episode under a contract, one reply at a time.

    Only what follows a reply is handed out, never the conversation anew, so a trainer appends its tokens to those that
    it has generated and retokenizes nothing.
    """

    def __init__(
        self,
        family: str = PAPER_FAMILY,
        contract: str | Contract = ContractName.PERSISTENT,
        *,
        bucket: str | None = None,
        is_shaped: bool = False,
        max_turns: int = 24,
        prompt_set: str = "compact",
        runtime: Runtime | None = None,
    ) -> None:
        """Name what is played.

        Args:
            family: A family by name, or as `MODULE:CLASS`.
            contract: The runtime's contract, which the prompt tells: `persistent`, `recent-3`, ... or a definition.
            bucket: Difficulty; by default the one that models are trained on.
            is_shaped: Whether each reply is rewarded by how much it has raised the score.
            max_turns: Replies before the episode ends.
            prompt_set: `compact`, or `full` as the paper's.
            runtime: Runtime shared with other environments; one of its own without it, ended by `close`.
        """
        definition = as_contract(contract)
        self._own_contracts = () if is_described(definition) else (definition,)
        self.contract = definition.name
        """Contract in force, for a trainer's metadata."""
        self.family_name = family
        """The family, for a trainer's metadata."""
        self._family: Any = _Watched(choose_family(family))
        self.bucket = bucket or _first_bucket(family)
        """Difficulty of the instances."""
        self._is_shaped = is_shaped
        self._max_turns = max_turns
        self._prompt_set = prompt_set
        self._shared = runtime
        self._own: Runtime | None = None
        self._played: _Played | None = None
        self._score = 0.0

    def opening(self, seed: int = 0) -> list[ChatMessage]:
        """Return a seed's opening messages, without beginning an episode; `close` afterwards."""
        instance = self._family.sample(self.bucket, seed)
        context = self._context(_Player(), instance)
        speaker = open_speaker(context, PlannedEpisode(instance), self._family.open(instance))
        return _chat(speaker.messages)

    def reset(self, seed: int = 0) -> list[ChatMessage]:
        """Begin an episode on a seed's instance, and return its opening messages."""
        self._end()
        instance = self._family.sample(self.bucket, seed)
        player = _Player()
        self._played = _Played(self._context(player, instance), PlannedEpisode(instance), player)
        self._score = 0.0
        request = self._played.next_request()
        assert request is not None, "the machine asks for a first reply"
        return _chat(request.messages)

    def step(self, reply: str, *, is_cut_off: bool = False) -> Step:
        """Let a model's reply act; its first fenced Python block runs.

        `is_cut_off` tells that a limit of tokens has ended the reply: nothing of it runs, and the model is told so.
        Raise `RuntimeError` where no episode is under way.
        """
        if self._played is None or self._played.is_over:
            raise RuntimeError("no episode is under way; call reset()")
        before = self._score
        request = self._played.answer(_Reply(reply, "length" if is_cut_off else "stop"))
        self._score = self._family.environment.score().score
        if request is None:
            return Step(None, is_over=True, reward=self._score - before if self._is_shaped else self._score)
        gained = self._score - before if self._is_shaped else 0.0
        return Step(request.messages[-1].content, is_over=False, reward=gained)

    def run_block(self, code: str) -> str:
        """Run a block of Python and return the observation.

        The tool of trainers that call functions.
        """
        observation = self.step(f"```python\n{code}\n```").observation
        return observation or "The episode is over."

    def get_reward(self) -> float:
        """Return the score of the present state, in [0, 1]."""
        if self._played is None:
            return 0.0
        return self._family.environment.score().score

    def stop(self) -> None:
        """End the episode as it stands; its score and its rows stay."""
        if self._played is not None:
            self._played.end()

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended, or none has begun."""
        return self._played is None or self._played.is_over

    @property
    def recorded(self) -> RecordedEpisode:
        """The rows of the episode that has ended."""
        assert self._played is not None, "no episode has been played"
        return self._played.recorded()

    @property
    def missed_names(self) -> int:
        """Count of missing names that the ended episode's blocks met."""
        return sum(error.is_missing_name for error in self.recorded.errors)

    def close(self) -> None:
        """End the episode, and the runtime if it is not shared."""
        self._end()
        if self._own is not None:
            self._own.close()
            self._own = None

    def _context(self, player: "_Player", instance: Any) -> EpisodeContext:
        return EpisodeContext(
            family=self._family,
            condition=Condition(
                purpose="evaluation",
                model_name="trained",
                runtime_contract=self.contract,
                bucket=self.bucket,
                split="train",
                own_contracts=self._own_contracts,
            ),
            client=player,
            runtime=self._runtime(),
            spec=EpisodeSpec.model_validate(
                {
                    "prompt_set": self._prompt_set,
                    "max_turns": self._max_turns,
                    "timeout_seconds": PATIENCE_SECONDS,
                    "tool_call_cap": self._family.usual_tool_call_cap(instance),
                }
            ),
            run_id="environment",
            plan_digest="environment",
            stage_digest="environment",
            scale="laptop",
        )

    def _end(self) -> None:
        if self._played is not None:
            self._played.end()
            self._played = None

    def _runtime(self) -> Runtime:
        if self._shared is not None:
            return self._shared
        if self._own is None:
            self._own = open_runtime(RuntimeSpec().for_contracts(self._own_contracts))
        return self._own


def _chat(messages: Iterable[Message]) -> list[ChatMessage]:
    return [{"role": message.role, "content": message.content} for message in messages]


def _first_bucket(family: str) -> str:
    """Return the difficulty that a family's models are trained on."""
    if family == PAPER_FAMILY:
        return "small"
    return open_own_family(family).family.buckets[0]


class _Watched:
    """A family whose environment of the present episode stays in sight."""

    def __init__(self, family: StudyFamily) -> None:
        self._family = family
        self._environment: Environment | None = None

    @property
    def environment(self) -> Environment:
        assert self._environment is not None, "no episode has been opened"
        return self._environment

    def open(self, instance: Any) -> Environment:
        self._environment = self._family.open(instance)
        return self._environment

    def __getattr__(self, name: str) -> Any:
        return getattr(self._family, name)


class _Reply(NamedTuple):
    """A reply of the trainer's model."""

    text: str
    finish_reason: str


class _Player:
    """A client whose replies come from outside the machine."""

    model_name = "trained"
    token_source: TokenSource = "server"

    def __init__(self) -> None:
        self.requests: queue.Queue[CompletionRequest | None] = queue.Queue()
        self.replies: asyncio.Queue[_Reply | None] = asyncio.Queue()

    async def complete(self, request: CompletionRequest) -> Completion:
        """Hand out a request and wait for its reply.

        The trainer counts its tokens itself.
        """
        self.requests.put(request)
        reply = await self.replies.get()
        if reply is None:
            raise ModelError("the trainer has left the episode")
        return Completion(reply.text, reply.finish_reason, 0, 0, 0, 0.0)


class _Played:
    """An episode that the machine plays on the shared loop."""

    def __init__(self, context: EpisodeContext, episode: PlannedEpisode, player: _Player) -> None:
        self._player = player
        self._loop = _shared_loop()
        self._episode: Future[RecordedEpisode] = asyncio.run_coroutine_threadsafe(
            run_episode(context, episode), self._loop
        )
        self._episode.add_done_callback(lambda _: player.requests.put(None))
        self.is_over = False

    def next_request(self) -> CompletionRequest | None:
        """Return the machine's next request; None at the end.

        Raise what ended the machine out of order.
        """
        request = self._player.requests.get()
        if request is None:
            self.is_over = True
            self._episode.result()
        return request

    def answer(self, reply: _Reply) -> CompletionRequest | None:
        """Give the reply to the last request, and return the next one."""
        self._loop.call_soon_threadsafe(self._player.replies.put_nowait, reply)
        return self.next_request()

    def recorded(self) -> RecordedEpisode:
        """Return the episode's rows."""
        return self._episode.result()

    def end(self) -> None:
        """Stop the episode, and wait until its interpreter has ended."""
        if not self._episode.done():
            self._loop.call_soon_threadsafe(self._player.replies.put_nowait, None)
            self._episode.result()
        self.is_over = True


@cache
def _shared_loop() -> asyncio.AbstractEventLoop:
    """Return this process's event loop of environments, in a thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="carryover-environments", daemon=True).start()
    return loop
