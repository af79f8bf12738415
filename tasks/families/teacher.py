"""A family's scripted teacher as a model client."""

import itertools
import json
import random
from collections.abc import Sequence

from carryover.tasks.agent.protocol import CountTokens, Message
from carryover.tasks.agent.scripted import ScriptedModel, VariedModel
from carryover.tasks.families.family import Family, Habits, Lesson
from carryover.tasks.knapsack.teachers.small import read_turns


def family_teacher(
    family: Family, contract: str, count_tokens: CountTokens | None = None, *, kept_blocks: int | None = None
) -> VariedModel:
    """Return a family's teacher, with habits drawn per instance."""

    def open_for(instance_id: str) -> ScriptedModel:
        habits = Habits(instance_id)

        def write(messages: Sequence[Message], seed: int) -> str:
            chance = random.Random(f"turn {seed}")
            lesson = Lesson(contract, _goal(messages), read_turns(messages), habits, chance, kept_blocks)
            return _written(family.teach(lesson))

        return ScriptedModel("scripted", write, count_tokens, habits.drawn)

    return VariedModel("scripted", open_for)


def _written(taught: object) -> str:
    """Return a reply of `teach`; raise `TypeError` for another form."""
    match taught:
        case (str(sentence), str(code)):
            return f"{sentence}\n```python\n{code.strip()}\n```"
    raise TypeError(f"teach() must return a sentence and a block, not {taught!r:.100}")


def _goal(messages: Sequence[Message]) -> str:
    """Return the goal's text, in either prompt format."""
    *_, last = itertools.takewhile(lambda message: message.role != "assistant", messages)
    if not last.content.startswith("{"):
        return last.content
    return json.loads(last.content)["task"]
