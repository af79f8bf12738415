"""Continuations of one state, side by side."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from carryover.tasks.agent.events import Answer
from carryover.tasks.cave.agent import Agent
from carryover.tasks.runtime.journal import Ran
from carryover.tasks.services.background import wait_for


class Continuation(NamedTuple):
    """Outcome of a question in one branch."""

    agent: Agent
    answer: Answer
    """With the stop reason and the tokens."""
    changed: dict[str, str | None]
    """Variables that it bound or changed, also in place, by name with the type; None for one that is gone."""
    state_hash: str | None
    """Of the state after its last block: equal ones ended in the same state. None if it is unknown."""


def compare(question: str, branches: Sequence[Agent]) -> list[Continuation]:
    """Ask every branch the same question, all at once.

    for one in compare("Clean the orders.", agent.branch(4)):
        print(one.answer.text, one.answer.completion_tokens, one.changed)
    """
    before = [_contents(branch) for branch in branches]

    async def ask_all() -> list[Answer]:
        return await asyncio.gather(*(branch.ask_async(question) for branch in branches))

    answers = wait_for(ask_all())
    return [_continuation(*parts) for parts in zip(branches, answers, before, strict=True)]


def _continuation(branch: Agent, answer: Answer, before: dict[str, str]) -> Continuation:
    after = _contents(branch)
    types = branch.runtime.idle.variables()
    changed = {name: types.get(name) for name in sorted({*before, *after}) if before.get(name) != after.get(name)}
    ran = [entry for entry in branch.runtime.interpreter.journal().entries if isinstance(entry, Ran)]
    return Continuation(branch, answer, changed, ran[-1].observed.state_hash if ran else None)


def _contents(branch: Agent) -> dict[str, str]:
    """Return a digest of each variable's content, injected ones included."""
    return branch.runtime.idle.fingerprints()
