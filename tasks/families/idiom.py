"""Blocks of a scripted teacher, laid out by contract."""

from textwrap import indent
from typing import NamedTuple

from carryover.tasks.families.family import Lesson
from carryover.tasks.traces.vocabulary import ContractName


class Work(NamedTuple):
    """A teacher's work in every block, without literals but counts."""

    setup: str
    """Lines that bring the state about from nothing."""
    function: str
    """Name of the helper function."""
    body: str
    """Lines that do `n` rounds and bind `state`."""
    ending: str
    """Lines that show what came of it, and end the episode."""


def action_of(lesson: Lesson) -> str:
    """Return what a sentence tells of the next block: start, repair or go_on."""
    if not lesson.turns:
        return "start"
    if lesson.turns[-1].has_failed:
        return "repair"
    return "go_on"


def lay_out(work: Work, lesson: Lesson, *, count: int, has_helper: bool) -> str:
    """Return a block that does `count` rounds.

    Under the persistent contract it reads the state of earlier blocks, and calls a helper that was defined once where
    `has_helper`. Under the stateless one it brings everything about again, and so does a block that starts anew.
    """
    is_stateless = lesson.contract == ContractName.STATELESS
    start = work.setup if lesson.starts_anew else ""
    if is_stateless or not has_helper:
        return f"{start}n = {count}\n{work.body}{work.ending}"
    definition = ""
    if lesson.starts_anew:
        definition = f"def {work.function}(n):\n{indent(work.body, '    ')}    return state\n"
    return f"{start}{definition}state = {work.function}({count})\n{work.ending}"
