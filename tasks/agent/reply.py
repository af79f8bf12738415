"""The one reply reader: a reply's first block, or its native calls."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from carryover.tasks.agent.protocol import FunctionCall


class Fences(NamedTuple):
    """Fences whose blocks run; text in other fences belongs to an answer."""

    opening: re.Pattern[str]
    closing: re.Pattern[str]
    dedents: bool
    """Whether an indented fence, as in a list, takes its indentation from the code."""


ANY_FENCE = Fences(opening=re.compile(r"```[^\n`]*\n"), closing=re.compile(r"```"), dedents=False)
"""The study's protocol: any tag, the nearest closing fence, the body stripped (arXiv 2603.01209, appendix B)."""
PYTHON_FENCE = Fences(
    opening=re.compile(
        r"^[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)?```(?:python|py|python3)[ \t]*\r?\n", re.MULTILINE | re.IGNORECASE
    ),
    closing=re.compile(r"^[ \t]*```[ \t]*(?=\r?$)", re.MULTILINE),
    dedents=True,
)
"""An agent's: tagged as Python, on lines of their own, so that backticks inside a string do not end a block."""

_BEFORE_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)?")
_OPENED_THOUGHT = re.compile(r"^[ \t]*<think>.*?(?:</think>|\Z)", re.DOTALL | re.MULTILINE)
_CLOSED_THOUGHT = re.compile(r"^[ \t]*</think>[ \t]*\r?$", re.MULTILINE)
"""Ends a thought whose opening tag stands in the chat template, so that the reply lacks it."""


class Reply(NamedTuple):
    """A reply taken apart."""

    code: str | None
    """The first block's code; None without a block."""
    block_count: int
    """Whole blocks, or native calls; of the blocks, only the first runs."""
    kept_text: str
    """Text kept in the history: up to the end of the first block, or all of it without a block."""
    is_unclosed: bool = False
    """Whether the only block begins and never ends; nothing of it runs."""
    calls: tuple[FunctionCall, ...] = ()
    """Native calls, where functions were offered."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing of the reply runs."""
        return self.code is None and not self.calls


def read_reply(text: str, fences: Fences = ANY_FENCE) -> Reply:
    """Return a reply's first block, with the number of blocks.

    A block inside a thought (`<think>`) does not count. The history keeps the text as the model wrote it; the code has
    plain line ends.
    """
    blocks = list(_find_blocks(text, fences))
    whole = [block for block in blocks if block.end is not None]
    if not whole:
        return Reply(code=None, block_count=0, kept_text=text, is_unclosed=bool(blocks))
    first = whole[0]
    return Reply(code=first.code, block_count=len(whole), kept_text=text[: first.end])


def without_thought(text: str) -> str:
    """Return a reply's text without its thoughts, stripped."""
    spoken = text[_start_of_speech(text) :]
    return _OPENED_THOUGHT.sub("", spoken).strip()


class _Block(NamedTuple):
    code: str
    end: int | None
    """Place after the closing fence; None without one."""


def _find_blocks(text: str, fences: Fences) -> Iterator[_Block]:
    """Yield the blocks in order; one that never ends is the last."""
    place = _start_of_speech(text)
    while (opening := fences.opening.search(text, place)) is not None:
        thought = _OPENED_THOUGHT.search(text, place)
        if thought is not None and thought.start() < opening.start():
            place = thought.end()
            continue
        closing = fences.closing.search(text, opening.end())
        if closing is None:
            yield _Block("", end=None)
            return
        body = text[opening.end() : closing.start()]
        indentation = 0
        if fences.dedents:
            indentation = _indentation(text, opening)
        yield _Block(_plain_code(body, indentation), end=closing.end())
        place = closing.end()


def _start_of_speech(text: str) -> int:
    """Return the end of a thought that the template opened, or 0."""
    closed = _CLOSED_THOUGHT.search(text)
    if closed is None or "<think>" in text[: closed.start()]:
        return 0
    return closed.end()


def _plain_code(body: str, indentation: int) -> str:
    """Return code with plain line ends, without its fence's indentation."""
    code = body.replace("\r\n", "\n")
    if indentation:
        code = re.sub(rf"^[ \t]{{0,{indentation}}}", "", code, flags=re.MULTILINE)
    return code.strip()


def _indentation(text: str, opening: re.Match[str]) -> int:
    """Return a fence's column; in a list item, that of its text."""
    fence = text.index("```", opening.start())
    start = text.rfind("\n", 0, fence) + 1
    is_alone = _BEFORE_FENCE.fullmatch(text, start, fence) is not None
    if is_alone:
        return fence - start
    return 0
