"""Recorded replies, played again, give the rows that were recorded with them: drift of the machine shows here.

`recorded_episodes.json` holds thirteen episodes: faults, caps, every ending, replies without a block, cut off, unclosed
and with several, a killed interpreter, all four contracts. Times, ids, source digests and the sandbox's level are left
out; of turn 0, a digest of the opening messages stands for them. Python 3.13 and later mark the place of an error
otherwise: there the marks and the tokens that they take are left out too.
"""

import asyncio
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from carryover.tasks.agent import protocol
from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.protocol import Completion, CompletionRequest
from carryover.tasks.cave.arms.tokens import count_messages
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.traces.vocabulary import TokenSource
from tests.tasks.agent.playing import make_context

RECORDED = json.loads(Path(__file__).with_name("recorded_episodes.json").read_text(encoding="utf-8"))
HAS_RECORDED_MARKS = sys.version_info < (3, 13)
IMPORTS_PANDAS = ("injected", "injected_persistent_costly")


class RecordedModel:
    """Gives recorded replies in order; some are errors."""

    def __init__(self, replies: list[dict[str, Any]], *, is_teacher: bool) -> None:
        self.model_name = "model"
        self.token_source: TokenSource = "training_tokenizer" if is_teacher else "server"
        self._replies: Iterator[dict[str, Any]] = iter(replies)

    async def complete(self, request: CompletionRequest) -> Completion:
        reply = next(self._replies)
        if "error" not in reply:
            return completion_of(reply)
        kind = getattr(protocol, reply["error"])
        if "completion" in reply:
            raise kind(reply["message"], completion_of(reply["completion"]))
        raise kind(reply["message"])


def completion_of(reply: dict[str, Any]) -> Completion:
    return Completion(**{"model_seconds": 0.0, **reply})


def play(runtime: Runtime, recorded: dict[str, Any]):
    condition = Condition(**recorded["condition"])
    context = make_context(
        runtime,
        RecordedModel(recorded["replies"], is_teacher=condition.purpose == "teacher"),
        condition,
        spec=EpisodeSpec(**recorded["spec"]),
        count_tokens=count_messages,
    )
    instance = sample_instance(KNAPSACK[recorded["bucket"]], recorded["seed"])
    return asyncio.run(run_episode(context, PlannedEpisode(instance)))


def comparable(table: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as the recording holds it."""
    if table == "episodes":
        row["contract_json"] = json.loads(row["contract_json"])
        for column in ("code_digest", "sandbox_level"):
            del row["contract_json"][column]
    if table == "turns" and row["turn"] == 0:
        row["observation"] = hashlib.sha256(row["observation"].encode()).hexdigest()
    return row


def readable(rows: list[dict[str, Any]], columns: list[str]) -> list[dict[str, Any]]:
    """Return rows by column, of tracebacks what every Python writes."""
    shown = [{column: row[column] for column in columns} for row in rows]
    if HAS_RECORDED_MARKS:
        return shown
    for row in shown:
        row.pop("training_tokens", None)
    return json.loads(re.sub(r"\\+n[ ~^]+(?=\\+n)", "", json.dumps(shown)))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in IMPORTS_PANDAS else name for name in RECORDED]
)
def test_recorded_replies_give_the_recorded_rows(runtime, name):
    recorded = RECORDED[name]
    played = play(runtime, recorded)
    assert (None if played.stop is None else str(played.stop)) == recorded["stop"]
    assert played.rows.keys() == recorded["rows"].keys()
    for table, expected in recorded["rows"].items():
        rows = [comparable(table, row.model_dump(mode="json")) for row in played.rows[table]]
        wanted = [dict(zip(expected["columns"], values, strict=True)) for values in expected["rows"]]
        assert readable(rows, expected["columns"]) == readable(wanted, expected["columns"]), table
