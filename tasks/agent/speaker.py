"""The part of a loop that differs: prompts, actions and observations."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

from carryover.tasks.agent.events import Acted, Asked, Compacted
from carryover.tasks.agent.protocol import Completion, CompletionRequest
from carryover.tasks.agent.reply import Reply

Complete = Callable[[CompletionRequest], Awaitable[Completion]]
"""Asks the model within the episode's budgets; raises `Stopped` without a reply."""


class Speaker(ABC):
    """Speaks to the model for an environment.

    `EpisodeMachine` calls the methods in their order.
    """

    goes_on: bool
    """Whether the conversation may go on after its end, so that its last observation is kept for then."""
    idle_ends: bool
    """Whether a reply without a block or a call is the answer; else it is refused."""

    @abstractmethod
    def ask(self) -> Asked | None:
        """Add the question to the conversation; None if it stands there already."""

    @abstractmethod
    def request(self) -> CompletionRequest:
        """Return the conversation as the model is sent it."""

    @abstractmethod
    def read(self, completion: Completion) -> Reply:
        """Take a reply apart."""

    @abstractmethod
    def keep(self, reply: Reply, completion: Completion) -> None:
        """Add a reply to the conversation."""

    @abstractmethod
    async def act(self, reply: Reply) -> Acted:
        """Run what a reply holds."""

    def take_tokens(self) -> tuple[int, int]:
        """Return the tokens that actions spent on models since last asked."""
        return 0, 0

    async def review(self) -> str | None:
        """Return why an answer is refused; None to accept it.

        Raise `Stopped` to give up.
        """
        return None

    def is_over(self) -> bool:
        """Tell whether what the reply did ended the episode."""
        return False

    @abstractmethod
    def observe(self, reply: Reply, acted: Acted) -> str:
        """Add what a reply did to the conversation, and return the text."""

    @abstractmethod
    def refuse(self, text: str) -> str:
        """Append and return a message on why nothing ran."""

    @abstractmethod
    def fill(self, name: str, /, **values: object) -> str:
        """Return one of the speaker's texts: `cut_off`, `unclosed`, `no_block`, or `stopped_REASON`."""

    def token_count(self) -> int:
        """Return the conversation's estimated tokens; 0 without a limit."""
        return 0

    def can_shorten(self) -> bool:
        """Tell whether the conversation can become shorter."""
        return False

    async def shorten(self, complete: Complete) -> Compacted:
        """Shorten the conversation, asking for summaries with `complete`."""
        raise NotImplementedError("this conversation cannot be shortened")
