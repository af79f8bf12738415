"""Scripted teachers as model clients, by bucket and contract."""

from functools import partial

from carryover.tasks.agent.protocol import CountTokens
from carryover.tasks.agent.scripted import ScriptedModel, WriteReply
from carryover.tasks.knapsack.teachers.density import write_density_reply
from carryover.tasks.knapsack.teachers.injected import INJECTING, write_injected_reply
from carryover.tasks.knapsack.teachers.small import write_small_reply


def open_teacher(
    bucket: str,
    contract: str,
    count_tokens: CountTokens | None = None,
    *,
    inspections_per_turn: int | None = None,
    prints_table: bool = True,
) -> ScriptedModel:
    """Return a bucket's teacher; raise `ValueError` where there is none.

    `inspections_per_turn` is the density teacher's, `prints_table` the small one's.
    """
    write_reply: WriteReply
    match bucket:
        case "easy" | "hard" | "small" | "small_large" | "small_costly" if contract in INJECTING:
            write_reply = partial(write_injected_reply, contract, is_capped=bucket in ("easy", "hard"))
        case "easy" | "hard":
            write_reply = partial(write_density_reply, contract, inspections_per_turn=inspections_per_turn)
        case "small" | "small_large" | "small_costly":
            is_careful = bucket == "small_costly"
            write_reply = partial(write_small_reply, contract, prints_table=prints_table, is_careful=is_careful)
        case _:
            raise ValueError(
                f"no teacher plays bucket {bucket!r}; choose from easy, hard, small, small_large, small_costly"
            )
    return ScriptedModel("scripted", write_reply, count_tokens)
