"""A reply's first fenced block."""

import re
from typing import NamedTuple

FENCED_BLOCK = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
"""An opening fence, perhaps with a language tag, the body, the nearest closing fence (arXiv 2603.01209, appendix B)."""


class Reply(NamedTuple):
    """A reply taken apart."""

    code: str | None
    """Body of the first block, stripped; None if there is no block."""
    block_count: int
    """Fenced blocks in the reply; only the first runs."""
    kept_text: str
    """Text kept in the history: the text up to the end of the first block, or all of it without a block."""


def parse_reply(text: str) -> Reply:
    """Return the first block of a reply and what of the reply the model is shown later."""
    blocks = list(FENCED_BLOCK.finditer(text))
    if not blocks:
        return Reply(code=None, block_count=0, kept_text=text)
    first = blocks[0]
    return Reply(code=first.group(1).strip(), block_count=len(blocks), kept_text=text[: first.end()])
