"""Scripted teachers as model clients, by bucket and contract."""

from collections.abc import Mapping
from functools import partial

from carryover.tasks.agent.protocol import CountTokens
from carryover.tasks.agent.scripted import ScriptedModel, VariedModel, WriteReply
from carryover.tasks.knapsack.teachers.density import write_density_reply
from carryover.tasks.knapsack.teachers.habits import FIXED, FIXED_ON_EASY, Habits, draw_habits
from carryover.tasks.knapsack.teachers.injected import INJECTING, write_injected_reply
from carryover.tasks.knapsack.teachers.small import write_small_reply
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS, ContractName

CAPPED = ("easy", "hard")
SMALL = ("small", "small_large", "small_costly")
NAME = "scripted"


def open_teacher(
    bucket: str,
    contract: str,
    count_tokens: CountTokens | None = None,
    *,
    habits: Habits | None = None,
    kept_blocks: int | None = None,
) -> ScriptedModel:
    """Return a bucket's teacher; raise `ValueError` where there is none.

    Without `habits` it has the bucket's fixed ones; contracts with injection have no others. With `kept_blocks` the
    persistent one of a small bucket counts on a name for that many blocks; on Easy and Hard the stateless one plays.
    """
    if bucket not in (*CAPPED, *SMALL):
        raise ValueError(f"no teacher plays bucket {bucket!r}; choose from {', '.join((*CAPPED, *SMALL))}")
    writer = _writer(bucket, contract, habits or fixed_habits(bucket), kept_blocks)
    return ScriptedModel(NAME, writer, count_tokens)


def open_varied_teacher(
    bucket: str,
    contract: str,
    levels: Mapping[str, tuple[str | int, ...]],
    count_tokens: CountTokens | None = None,
    *,
    kept_blocks: int | None = None,
) -> VariedModel:
    """Return a bucket's teacher with habits drawn per instance; raise `ValueError` as `open_teacher`."""
    if contract in INJECTING:
        raise ValueError(f"no teacher of contract {contract!r} varies; choose from {', '.join(PAPER_CONTRACTS)}")
    fixed = fixed_habits(bucket)
    draw_habits(levels, "", fixed)  # unknown levels are refused before an episode starts

    def open_for(instance_id: str) -> ScriptedModel:
        habits = draw_habits(levels, instance_id, fixed)
        writer = _writer(bucket, contract, habits, kept_blocks)
        return ScriptedModel(NAME, writer, count_tokens, habits.model_dump())

    return VariedModel(NAME, open_for)


def fixed_habits(bucket: str) -> Habits:
    """Return the habits of a bucket's fixed teacher."""
    if bucket in CAPPED:
        return FIXED_ON_EASY
    return FIXED


def _writer(bucket: str, contract: str, habits: Habits, kept_blocks: int | None) -> WriteReply:
    if contract in INJECTING:
        return partial(write_injected_reply, contract, is_capped=bucket in CAPPED)
    if bucket in CAPPED:
        played = contract if kept_blocks is None else ContractName.STATELESS
        return partial(write_density_reply, played, habits=habits)
    is_careful = bucket == "small_costly"
    return partial(write_small_reply, contract, habits=habits, is_careful=is_careful, kept_blocks=kept_blocks)
