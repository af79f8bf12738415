"""Reading of a reply: run its first Python block, or nothing more (arXiv 2601.01569, algorithm 1)."""

import re
from typing import NamedTuple

from carryover.tasks.agent.reply import Reply

_BLOCK = re.compile(
    r"^[ \t]*```(?:python|py|python3)[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE
)
"""Fences stand on lines of their own, so that backticks inside a string of the block do not end it."""
_OPENING = re.compile(r"^[ \t]*```(?:python|py|python3)[ \t]*$", re.MULTILINE | re.IGNORECASE)


class ReadReply(NamedTuple):
    """A reply taken apart."""

    reply: Reply
    """Its first block, the number of blocks, and what of it stays in the conversation."""
    is_unclosed: bool
    """Whether a block begins that never ends; nothing of it is run."""


def read_reply(text: str) -> ReadReply:
    """Return the first Python block of a reply; fences of other languages belong to an answer's text."""
    blocks = list(_BLOCK.finditer(text))
    if not blocks:
        return ReadReply(Reply(None, 0, text), is_unclosed=_OPENING.search(text) is not None)
    first = blocks[0]
    return ReadReply(Reply(first.group(1).strip("\n"), len(blocks), text[: first.end()]), is_unclosed=False)
