"""What the lint reads: the replies of one code agent and the blocks in them."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from carryover.tasks.agent.reply import parse_reply

PERSISTENT = "persistent"
STATELESS = "stateless"
_STATELESS_WORDS = (STATELESS, "reset", "ephemeral")


class ExecutedBlock(NamedTuple):
    """A block and what came back."""

    code: str
    observation: str = ""
    """What the agent was told after it, as far as the dataset says."""


class CodeTrace(NamedTuple):
    """One trace, from whatever dataset."""

    trace_id: str
    declared_contract: str | None
    """What the dataset says about the interpreter; null where it says nothing."""
    replies: tuple[str, ...]
    """Assistant messages, oldest first."""
    blocks: tuple[ExecutedBlock, ...]
    """Executed blocks, oldest first."""


def trace_of_replies(
    trace_id: str, declared_contract: str | None, replies: Sequence[str], observations: Sequence[str] = ()
) -> CodeTrace:
    """Return a trace from bare replies, each with the observation after it: its first fenced block is what ran."""
    blocks = tuple(
        ExecutedBlock(code, observation)
        for reply, observation in zip_longest(replies, observations, fillvalue="")
        if (code := parse_reply(reply).code) is not None
    )
    return CodeTrace(trace_id, contract_name(declared_contract), tuple(replies), blocks)


def contract_name(declared: str | None) -> str | None:
    """Return our name of a declared contract: `stateless` for what others call `reset`, else the word itself."""
    if declared is None:
        return None
    word = declared.strip().lower()
    return STATELESS if word in _STATELESS_WORDS else word
