"""A scripted model: for tests and documentation, without an endpoint."""

from collections.abc import Callable, Sequence

from carryover.tasks.agent.protocol import Message
from carryover.tasks.agent.scripted import ScriptedModel

_CHARACTERS_PER_TOKEN = 4


def scripted(*replies: str) -> ScriptedModel:
    """Return a model that gives these replies in order.

    A reply that is only code may be written without its fence: give `block("print(1)")`.
    """

    def write(messages: Sequence[Message], _seed: int) -> str:
        place = sum(message.role == "assistant" for message in messages)
        if place >= len(replies):
            raise IndexError(f"the script has {len(replies)} replies, and reply {place + 1} was asked for")
        return replies[place]

    return ScriptedModel("scripted", write, count_tokens)


def scripted_by(write: Callable[[Sequence[Message]], str]) -> ScriptedModel:
    """Return a model whose reply is a function of the conversation."""
    return ScriptedModel("scripted", lambda messages, _seed: write(messages), count_tokens)


def block(code: str, thought: str = "") -> str:
    """Return a reply that runs a block."""
    return f"{thought}\n```python\n{code}\n```".lstrip()


def count_tokens(messages: Sequence[Message]) -> int:
    """Return the tokens of messages at four characters each."""
    return sum(len(message.content) for message in messages) // _CHARACTERS_PER_TOKEN
