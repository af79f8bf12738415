"""Scripted teachers of the buckets in which mistakes cost score: never try a class that was refused before."""

import random
import re
from collections.abc import Sequence

from carryover.tasks.agent.protocol import Message
from carryover.tasks.agent.teachers import careful_blocks, small_blocks
from carryover.tasks.agent.teachers.small import SENTENCES, PlayedTurn, next_part, read_turns, taking_action
from carryover.tasks.running.contract_name import PAPER_CONTRACTS, ContractName

_REFUSED = re.compile(r"^(?:more|done) (\[[^\]]*\])")


def write_careful_reply(contract: str, messages: Sequence[Message], seed: int, *, prints_table: bool = True) -> str:
    """Return the next reply: one sentence and one block; see `write_small_reply` for the arguments."""
    turns = read_turns(messages)
    refused = _last_refused(turns)
    if contract == ContractName.PERSISTENT:
        action, code = _persistent_block(turns, refused)
    elif contract == ContractName.STATELESS:
        action, code = _stateless_block(turns, refused, "items" if prints_table else "len(items)")
    else:
        raise ValueError(f"no careful teacher plays contract {contract!r}; choose from {', '.join(PAPER_CONTRACTS)}")
    sentence = random.Random(f"sentence {seed}").choice(SENTENCES[action])
    return f"{sentence}\n```python\n{code}\n```"


def _last_refused(turns: list[PlayedTurn]) -> str:
    """Return the list of refused classes as it was last printed."""
    printed = (_REFUSED.match(turn.output) for turn in reversed(turns))
    return next((match.group(1) for match in printed if match), "[]")


def _persistent_block(turns: list[PlayedTurn], refused: str) -> tuple[str, str]:
    if not turns:
        return "list", small_blocks.PERSISTENT_SETUP + small_blocks.PERSISTENT_LOOK
    last = turns[-1]
    if last.has_failed:
        return "repair", careful_blocks.persistent_repair(refused)
    if "grab" in last.code:
        return "more", careful_blocks.PERSISTENT_TAKE
    if last.output.startswith("more"):
        return "look", small_blocks.PERSISTENT_LOOK
    return "grab", careful_blocks.persistent_grab(refused)


def _stateless_block(turns: list[PlayedTurn], refused: str, shown: str) -> tuple[str, str]:
    part = next_part(turns)
    if part is not None:
        return "look" if turns else "list", small_blocks.stateless_look(part, shown)
    return taking_action(turns[-1]), careful_blocks.stateless_take(shown, refused)
