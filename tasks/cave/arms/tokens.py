"""The scripted endpoint's tokenizer, in full, for reproducible counts."""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from carryover.tasks.agent.protocol import FunctionCall, Message

TOKENIZER = (
    "split-1: a run of letters costs one token per six letters begun, a run of digits one per three digits begun, "
    "every other visible character and every line break one; spaces are free; a message costs four more"
)
_PIECES = re.compile(r"[^\W\d_]+|\d+|\n|\S")
_MESSAGE_TOKENS = 4


@lru_cache(maxsize=4096)
def count_text(text: str) -> int:
    """Return the tokens of a text."""
    return sum(_piece(piece) for piece in _PIECES.findall(text))


def count_messages(messages: Sequence[Message], tools: Sequence[dict[str, Any]] = ()) -> int:
    """Return the tokens of a conversation with its functions."""
    offered = sum(count_text(json.dumps(tool)) for tool in tools)
    return offered + sum(count_reply(message.content, message.tool_calls) + _MESSAGE_TOKENS for message in messages)


def count_reply(text: str, calls: Sequence[FunctionCall] = ()) -> int:
    """Return a reply's tokens: its text and calls with ids."""
    return count_text(text) + sum(count_text(" ".join(call)) for call in calls)


def _piece(piece: str) -> int:
    if piece[0].isalpha():
        return -(-len(piece) // 6)
    if piece[0].isdigit():
        return -(-len(piece) // 3)
    return 1
