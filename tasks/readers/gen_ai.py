"""Messages in OpenTelemetry's attributes for generative AI, and OpenLLMetry's."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from carryover.tasks.readers.spans import (
    Turn,
    call_messages,
    flattened_messages,
    held_under,
    join_turns,
    with_code,
)

_IN = "gen_ai.input.messages"
_OUT = "gen_ai.output.messages"
_TOOL = "gen_ai.tool.name"
_CALL = "gen_ai.tool.call"


def conversation_of(held: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the conversation in spans: messages, else executed tools."""
    spoken = join_turns(list(chain.from_iterable(map(_turns, held))))
    tools = [each for each in held if _TOOL in each]
    executed = list(chain.from_iterable(map(_executed, tools)))
    return with_code(spoken, executed)


def _turns(attributes: Mapping[str, Any]) -> Iterator[Turn]:
    """Yield a model call's messages, as JSON or flattened."""
    if _OUT in attributes:
        yield _messages(attributes.get(_IN)), _messages(attributes[_OUT])
    answered = flattened_messages(attributes, "gen_ai.completion")
    if answered:
        yield flattened_messages(attributes, "gen_ai.prompt"), [{**each, "role": "assistant"} for each in answered]


def _messages(held: Any) -> list[dict[str, Any]]:
    parsed = json.loads(held) if isinstance(held, str) else held
    return [{**message, "parts": message.get("parts") or []} for message in parsed or ()]


def _executed(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return call_messages(
        attributes[_TOOL],
        held_under(attributes, f"{_CALL}.arguments"),
        held_under(attributes, f"{_CALL}.result"),
        str(attributes.get(f"{_CALL}.id") or ""),
    )
