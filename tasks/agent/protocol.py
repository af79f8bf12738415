"""Protocol between the agent and a model: one completion."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol, Self

from pydantic import Field

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.vocabulary import TokenSource


class FunctionCall(NamedTuple):
    """A native tool call of a reply."""

    call_id: str
    name: str
    arguments_json: str


class Message(FrozenModel):
    """A chat message."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[FunctionCall, ...] = Field(default=(), exclude_if=lambda calls: not calls)
    """Of an assistant's message, where the endpoint was offered functions."""
    tool_call_id: str | None = Field(default=None, exclude_if=lambda call: call is None)
    """Of a tool's message: the call that it answers."""

    def wire(self) -> dict[str, Any]:
        """Return the message as an OpenAI-compatible endpoint reads it."""
        if not self.tool_calls:
            return self.model_dump()
        calls = [
            {"id": name, "type": "function", "function": {"name": function, "arguments": arguments}}
            for name, function, arguments in self.tool_calls
        ]
        return {**self.model_dump(), "tool_calls": calls}


CountTokens = Callable[[Sequence[Message]], int]
"""Counts the tokens of a conversation."""


class CompletionRequest(NamedTuple):
    """A conversation to be continued."""

    messages: tuple[Message, ...]
    seed: int
    """Decoding seed, a function of (instance, turn, replicate) and equal across cells."""
    episode_id: str
    """Lets a server keep the key-value cache of an episode."""
    temperature: float | None = None
    """Sampling temperature; None leaves it to the endpoint."""
    max_completion_tokens: int | None = None
    """Most tokens of the reply; None leaves it to the endpoint."""
    tools: tuple[dict[str, Any], ...] = ()
    """Functions that the endpoint may call, as it reads them."""
    on_text: Callable[[str], None] | None = None
    """Hears the reply's text as it is written."""


class Completion(NamedTuple):
    """A model's reply with what it cost."""

    text: str
    finish_reason: str
    """`stop`, `length`, or another word of the server's."""
    prompt_tokens: int
    cached_prompt_tokens: int
    completion_tokens: int
    model_seconds: float
    is_replayed: bool = False
    """Whether it was kept from another episode, which paid for it."""
    tool_calls: tuple[FunctionCall, ...] = ()


class ModelError(Exception):
    """The client gave up after its retries; the episode ends with `error`."""


class EndpointDownError(ModelError):
    """The endpoint answers nobody: down, key refused, or quota spent."""


class NoReplyError(ModelError):
    """The endpoint took a conversation and gave no reply."""


class ContextOverflowError(ModelError):
    """The conversation is too long for the server; ends with `context_length`."""


class ReplyNotKeptError(UserError):
    """A paid reply could not be kept, so the run stops."""

    def __init__(self, message: str, completion: Completion) -> None:
        super().__init__(message)
        self.completion = completion
        """The reply, to be recorded with what it cost."""

    def __reduce__(self) -> tuple[type[Self], tuple[str, Completion]]:
        """Let a copy in another process be made of both."""
        return type(self), (str(self), self.completion)


class ModelClient(Protocol):
    """A source of completions: an OpenAI-compatible endpoint, or a scripted teacher."""

    model_name: str
    token_source: TokenSource

    async def complete(self, request: CompletionRequest) -> Completion:
        """Continue the conversation.

        Raise `ModelError` without an answer, `ReplyNotKeptError` if it cannot be kept.
        """
        ...
