"""The lint's findings on an episode and each step."""

from collections.abc import Mapping, Sequence
from typing import Any

from carryover.tasks.lint.lint import BlockLint, lint_in_detail
from carryover.tasks.readers.trace import Block, Reply, Trace

Row = Mapping[str, Any]


def episode_lint(head: Row, turns: Sequence[Row], steps: Sequence[Row]) -> dict[str, Any]:
    """Return an episode's verdict, and each step's debts by number.

    A name that no block binds counts as the harness's own: foreign traces do not name their tools.
    """
    blocks: dict[int, list[Block]] = {}
    for step in steps:
        block = Block(step["code"], output=step["output"], error=step["error"], result=step["result"])
        blocks.setdefault(step["turn"], []).append(block)
    replies = tuple(
        Reply(turn["assistant_text"], tuple(blocks.get(turn["turn"], ())), turn["observation"] or "") for turn in turns
    )
    linted = lint_in_detail(Trace(trace_id=head["episode_id"], replies=replies))
    found = zip(steps, linted.blocks, strict=True)
    return {
        "verdict": linted.trace.verdict,
        "steps": {step["step"]: lint._asdict() for step, lint in found if _is_told(lint)},
    }


def _is_told(lint: BlockLint) -> bool:
    return bool(lint.carried or lint.early_names) or not lint.is_judged
