"""Traces of our own episodes, from the rows of the warehouse."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from carryover.tasks.readers.trace import Block, Reply, Trace, contract_name
from carryover.tasks.traces.frames import Frame, lazy

_TURN_COLUMNS = ("assistant_text", "observation")
_STEP_COLUMNS = ("code", "output", "result", "error")


def traces_of_rows(episodes: Frame, turns: Frame, steps: Frame) -> Iterator[Trace]:
    """Yield our own episodes as traces, ordered by id.

    The declared contract is the one that the model was shown.
    """
    chosen = lazy(episodes).select("episode_id", "shown_contract").sort("episode_id").collect()
    kept_turns = lazy(turns).join(chosen.lazy(), on="episode_id", how="semi").sort("turn")
    kept_steps = lazy(steps).join(chosen.lazy(), on="episode_id", how="semi").sort("step")
    declared = _by_episode(kept_turns, _TURN_COLUMNS)
    ran = _by_episode(kept_steps, _STEP_COLUMNS)
    for episode_id, contract in chosen.rows():
        blocks: dict[int, list[Block]] = {}
        for row in ran.get(episode_id, ()):
            block = Block(row["code"], output=row["output"], error=row["error"], result=row["result"])
            blocks.setdefault(row["turn"], []).append(block)
        replies = tuple(
            Reply(row["assistant_text"], tuple(blocks.get(row["turn"], ())), row["observation"] or "")
            for row in declared.get(episode_id, ())
            if row["turn"] > 0
        )
        yield Trace(
            trace_id=episode_id, replies=replies, declared_contract=contract_name(contract), layout="our warehouse"
        )


def _by_episode(rows: pl.LazyFrame, columns: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    return rows.select("episode_id", "turn", *columns).collect().rows_by_key("episode_id", named=True)
