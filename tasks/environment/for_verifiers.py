"""The environment as a plug-in of verifiers: taskset, task and harness.

The one module here that imports its trainer's package at the top: verifiers finds its plug-ins by their classes.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import verifiers.v1 as vf  # pyright: ignore[reportMissingImports]
from pydantic import Field

from carryover.tasks.environment.block_environment import BlockEnvironment, ChatMessage
from carryover.tasks.families.choose import choose_family
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.vocabulary import PAPER_FAMILY


class BlockData(vf.TaskData):
    """Instance and conditions of an episode, in every trace."""

    family: str
    contract: str
    bucket: str
    seed: int
    is_shaped: bool
    max_turns: int


class BlockState(vf.State):
    """Result of an episode, from the state of its environment."""

    score: float = 0.0
    turn_rewards: list[float] = Field(default_factory=list)
    missed_names: int = 0


class BlockTask(vf.Task[BlockData, BlockState]):
    """Scores an episode by the state that the harness left."""

    async def validate(self, runtime: vf.Runtime) -> bool:
        """Tell whether the instance's reference solution scores 1."""
        family = choose_family(self.data.family)
        try:
            family.validate(family.sample(self.data.bucket, self.data.seed))
        except UserError:
            return False
        return True

    @vf.reward(weight=1.0)
    async def score_of_state(self, trace: vf.Trace) -> float:
        """Return the score: with shaping, the sum of the replies' rewards."""
        if self.data.is_shaped:
            return sum(trace.state.turn_rewards)
        return trace.state.score

    @vf.metric
    async def missed_names(self, trace: vf.Trace) -> float:
        """Return how often a block met a missing name."""
        return float(trace.state.missed_names)


class BlockTasksetConfig(vf.TasksetConfig):
    """Arguments under `--env.taskset.*`."""

    family: str = PAPER_FAMILY
    """A family by name, or as `MODULE:CLASS`."""
    contract: str = "persistent"
    """Contract of the runtime, which the prompt tells."""
    bucket: str | None = None
    """Difficulty; by default the one that models are trained on."""
    first_seed: int = 0
    num_tasks: int = 100
    """Instances, of consecutive seeds."""
    is_shaped: bool = False
    """Whether replies are rewarded by how much they raise the score."""
    max_turns: int = 24


class BlockTaskset(vf.Taskset[BlockTask, BlockTasksetConfig]):
    """Instances of a family under a contract, a task per seed."""

    def load(self) -> Iterator[BlockTask]:
        """Yield a task per seed."""
        config = self.config
        environment = BlockEnvironment(config.family, config.contract, bucket=config.bucket, max_turns=config.max_turns)
        try:
            for seed in range(config.first_seed, config.first_seed + config.num_tasks):
                yield BlockTask(self._data(environment, seed), config.task)
        finally:
            environment.close()

    def _data(self, environment: BlockEnvironment, seed: int) -> BlockData:
        config = self.config
        *opening, goal = environment.opening(seed)
        system = "\n\n".join(message["content"] for message in opening)
        return BlockData(
            name=f"{config.family}-{config.contract}-{seed}",
            prompt=goal["content"],
            system_prompt=system or None,
            family=config.family,
            contract=config.contract,
            bucket=environment.bucket,
            seed=seed,
            is_shaped=config.is_shaped,
            max_turns=config.max_turns,
        )


class BlockHarnessConfig(vf.HarnessConfig):
    """Nothing of its own: what is played stands in the task."""


class BlockHarness(vf.Harness[BlockHarnessConfig]):
    """Plays an episode in this process, its blocks sandboxed.

    They run in the environment's own sandbox, so verifiers' runtime stays empty: `--env.agent.runtime.type subprocess`
    costs nothing, and any other would do.
    """

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    def __init__(self, config: BlockHarnessConfig) -> None:
        super().__init__(config)
        self._sandbox: Runtime | None = None

    async def launch(  # noqa: PLR0917 - the signature is verifiers'
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: BlockData,
    ) -> vf.ProgramResult:
        """Play one episode to its end."""
        if self._sandbox is None:
            self._sandbox = open_runtime(RuntimeSpec())
        environment = BlockEnvironment(
            data.family,
            data.contract,
            bucket=data.bucket,
            is_shaped=data.is_shaped,
            max_turns=data.max_turns,
            runtime=self._sandbox,
        )
        try:
            messages = await asyncio.to_thread(environment.reset, data.seed)
            async with httpx.AsyncClient(timeout=None, headers={"Authorization": f"Bearer {secret}"}) as client:
                while not environment.is_over:
                    body = {"model": ctx.model, "messages": messages}
                    answer = await client.post(f"{endpoint}/chat/completions", json=body)
                    if answer.is_error:  # a limit of the run has ended it: verifiers reads the trace, not this
                        return vf.ProgramResult(exit_code=1, stdout="", stderr=answer.text)
                    choice = answer.json()["choices"][0]
                    messages += await _act(environment, choice, trace.state)
        finally:
            trace.state.score = environment.get_reward()
            await asyncio.to_thread(environment.close)
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


async def _act(environment: BlockEnvironment, choice: dict[str, Any], state: BlockState) -> list[ChatMessage]:
    """Let a reply act, and return the messages that it adds."""
    reply = choice["message"]["content"] or ""
    is_cut_off = choice["finish_reason"] == "length"
    step = await asyncio.to_thread(environment.step, reply, is_cut_off=is_cut_off)
    state.turn_rewards.append(step.reward)
    if step.is_over:
        state.missed_names = environment.missed_names
    messages = [{"role": "assistant", "content": reply}]
    if step.observation is not None:
        messages.append({"role": "user", "content": step.observation})
    return messages
