"""A scripted model: a function of the conversation."""

from collections.abc import Callable, Mapping, Sequence

from carryover.tasks.agent.protocol import Completion, CompletionRequest, CountTokens, Message
from carryover.tasks.traces.vocabulary import TokenSource

WriteReply = Callable[[Sequence[Message], int], str]
"""Writes the next reply, from the conversation and the decoding seed."""


class ScriptedModel:
    """A deterministic policy as a model client, without an endpoint.

    It keeps nothing between calls: its reply is a function of the conversation and the seed. Tokens are those that a
    model would have been charged: the whole conversation as prompt, the reply as completion.
    """

    token_source: TokenSource = "training_tokenizer"

    def __init__(
        self,
        model_name: str,
        write_reply: WriteReply,
        count_tokens: CountTokens | None = None,
        habits: Mapping[str, str | int] | None = None,
    ) -> None:
        self.model_name = model_name
        self.habits = habits
        """Drawn habits of the policy by name; None for fixed ones."""
        self._write_reply = write_reply
        self._count_tokens = count_tokens

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the policy's next reply; without a counter its tokens are 0."""
        text = self._write_reply(request.messages, request.seed)
        if request.on_text is not None:
            request.on_text(text)
        return Completion(
            text=text,
            finish_reason="stop",
            prompt_tokens=self._count(request.messages),
            cached_prompt_tokens=0,
            completion_tokens=self._count([Message(role="assistant", content=text)]),
            model_seconds=0.0,
        )

    def _count(self, messages: Sequence[Message]) -> int:
        if self._count_tokens is None:
            return 0
        return self._count_tokens(messages)


class VariedModel:
    """Scripted models whose habits differ from instance to instance."""

    token_source: TokenSource = "training_tokenizer"

    def __init__(self, model_name: str, open_for: Callable[[str], ScriptedModel]) -> None:
        self.model_name = model_name
        self.open_for = open_for
        """Returns the model that plays an instance, by the instance's id."""
