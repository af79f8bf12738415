"""Conversations without either contract's idiom, for the common base.

No name of one block is read in a later one (the persistent idiom), and no block binds, imports or inspects again what
an earlier one had (the stateless idiom): a conversation is one block that does everything, or single tool calls with
literal arguments, or a snippet that needs no tool, or words to repeat. Runtime instruction and header are left out.

The words to repeat are those of the teachers, in random order, so that no token of theirs is new to the base. That is
not enough for an adapter on the layers alone: the rows of the tied embedding must move with it (`LoraSpec`).
"""

import random
import re
from collections.abc import Callable
from functools import cache, partial

from carryover.tasks.agent.prompt_format import SILENT, CompactWire, Feedback, Opening, read_prompts
from carryover.tasks.agent.protocol import Message
from carryover.tasks.agent.variation import wordings
from carryover.tasks.knapsack.environment import KNOWN_NAMES, TOOL_NAMES, KnapsackEnvironment
from carryover.tasks.knapsack.goal import goal_values, knapsack_prompts
from carryover.tasks.knapsack.instance import Instance
from carryover.tasks.knapsack.teachers.habits import FIXED
from carryover.tasks.knapsack.teachers.injected import INJECTING, injected_block
from carryover.tasks.knapsack.teachers.small import SENTENCES
from carryover.tasks.knapsack.teachers.small_blocks import SmallBlocks
from carryover.tasks.runtime.inside.tools import ToolError
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS, ContractName

WHOLE_SHARE = 0.4
"""Share of conversations that are one block with everything."""
SNIPPET_SHARE = 0.15
"""Share that are a snippet without tools."""
REPEAT_SHARE = 0.25
"""Share that repeat words; the rest are single tool calls."""
REPEATED_PIECES = 24
"""Words and signs in a text to repeat."""

_SILENT_WIRE = CompactWire(read_prompts("compact", knapsack_prompts("compact")), SILENT)

_NAMES: dict[str, tuple[str, ...]] = {
    "ids": ("ids", "names", "keys"),
    "items": ("items", "table", "known"),
    "i": ("i", "name", "key"),
    "d": ("d", "row", "found"),
    "n": ("n", "count", "limit"),
    "state": ("state", "result"),
    "look": ("look", "scan"),
    "grab": ("grab", "fill"),
}
_INLINE = """import json
{items} = {{}}
for {i} in json.loads(list_items()):
    try: {d} = json.loads(inspect({i}))
    except Exception: break
    {items}[{i}] = ({d}['weight'], {d}['value'], {d}['class'])
for {i} in sorted({items}, key=lambda {i}: -{items}[{i}][1] / {items}[{i}][0]):
    try: take_item({i})
    except Exception: continue
{show}finish()"""
_FUNCTIONS = """import json
def {look}({ids}):
    {items} = {{}}
    for {i} in {ids}:
        try: {d} = json.loads(inspect({i}))
        except Exception: return {items}
        {items}[{i}] = ({d}['weight'], {d}['value'], {d}['class'])
    return {items}
def {grab}({items}):
    {n} = 0
    for {i} in sorted({items}, key=lambda {i}: -{items}[{i}][1] / {items}[{i}][0]):
        try: take_item({i})
        except Exception: continue
        {n} += 1
    return {n}
{state} = {grab}({look}(json.loads(list_items())))
{show}finish()"""
_SNIPPETS: tuple[tuple[str, str], ...] = (
    ("Sum the numbers {a}, {b}, {c}.", "print(sum([{a}, {b}, {c}]))"),
    ("Which is larger, {a} or {b}?", "print(max({a}, {b}))"),
    ("Write a function that doubles {a}.", "def double(n):\n    return 2 * n\nprint(double({a}))"),
    ("Sort {a}, {b}, {c}.", "print(sorted([{a}, {b}, {c}]))"),
    ("Count down from {a} to {b}.", "n = {a}\nwhile n > {b}:\n    print(n)\n    n -= 1"),
    ("Is {a} even?", "if {a} % 2 == 0: print('even')\nelse: print('odd')"),
    (
        "Parse the text.",
        "import json\nd = json.loads('{{\"value\": {a}, \"weight\": {b}}}')\nprint(d['value'], d['weight'])",
    ),
    (
        "Stop at {a}.",
        "for n in range({b}):\n    if n == {a}:\n        state = 'done'\n        break\n"
        "    if n < {c}: continue\n    print(n)",
    ),
    ("Catch the error.", "try: print({a} / 0)\nexcept Exception: print('failed')"),
)
_PIECE = re.compile(r" ?[A-Za-z_]+| ?[^\sA-Za-z0-9_]+")
_PERSISTENT_BLOCKS = SmallBlocks(ContractName.PERSISTENT)
_STATELESS_BLOCKS = SmallBlocks(ContractName.STATELESS)
_SIZED_BLOCKS = SmallBlocks(ContractName.STATELESS, FIXED.model_copy(update={"shown": "size"}))
_TEACHER_BLOCKS: dict[str, tuple[str, ...]] = {
    ContractName.PERSISTENT: (
        _PERSISTENT_BLOCKS.repair(),
        _PERSISTENT_BLOCKS.look(2),
        _PERSISTENT_BLOCKS.repair("[]"),
    ),
    ContractName.STATELESS: (
        _SIZED_BLOCKS.look(1),
        _STATELESS_BLOCKS.take(),
        _STATELESS_BLOCKS.take("[]"),
    ),
    **{
        contract: tuple(injected_block(contract, 1, is_taking=is_taking) for is_taking in (False, True))
        for contract in INJECTING
    },
}
_WHOLE_SENTENCES = ("I do it in one block.", "This needs one block.", "I solve it now.", "I do all of it at once.")
_CALL_SENTENCES = ("I call a tool.", "I use one tool.", "I look at this.", "I go on.")


def write_plain_conversation(instance: Instance, contracts: tuple[str, ...] = PAPER_CONTRACTS) -> tuple[Message, ...]:
    """Return an instance's conversation; words to repeat are those of `contracts`."""
    draw = random.Random(f"plain {instance.seed}")
    system, task = _SILENT_WIRE.opening_messages(_opening(instance), None)
    kind = draw.random()
    if kind < WHOLE_SHARE:
        names = {name: draw.choice(choices) for name, choices in _NAMES.items()}
        code = draw.choice((_INLINE, _FUNCTIONS)).format(show=draw.choice(("", "print('done')\n")), **names)
        return system, task, _reply(draw.choice(_WHOLE_SENTENCES), code)
    if kind < WHOLE_SHARE + SNIPPET_SHARE:
        question, code = draw.choice(_SNIPPETS)
        numbers = {letter: draw.randint(2, 99) for letter in "abc"}
        asked = Message(role="user", content=question.format(**numbers))
        return system, asked, _reply(draw.choice(_WHOLE_SENTENCES), code.format(**numbers))
    if kind < WHOLE_SHARE + SNIPPET_SHARE + REPEAT_SHARE:
        text = _random_text(draw, _pieces(contracts))
        asked = Message(role="user", content=f"Repeat: {text}")
        return system, asked, Message(role="assistant", content=text)
    return (system, task, *_single_calls(instance, draw))


def _opening(instance: Instance) -> Opening:
    cap = instance.spec.tool_call_cap
    return Opening(goal_values(instance), ContractName.PERSISTENT, len(TOOL_NAMES), cap, cap)


@cache
def _pieces(contracts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words and signs of what the teachers of the contracts write, sorted."""
    texts: list[str] = []
    for said in SENTENCES.values():
        texts += said
    for contract in contracts:
        texts += wordings(contract, KNOWN_NAMES)
        texts += _TEACHER_BLOCKS[contract]
    pieces: set[str] = set()
    for text in texts:
        pieces.update(_PIECE.findall(text))
    return tuple(sorted(pieces - {"```"}))


def _random_text(draw: random.Random, pieces: tuple[str, ...]) -> str:
    """Return words and signs in random order, with words set apart."""
    text = ""
    for piece in draw.choices(pieces, k=REPEATED_PIECES):
        runs_together = text[-1:].isalpha() == piece[0].isalpha() and piece[0] != " "
        text += f" {piece}" if runs_together else piece
    return text.strip()


def _single_calls(instance: Instance, draw: random.Random) -> list[Message]:
    """Return turns of one tool call each, with what the tools answer."""
    environment = KnapsackEnvironment(instance)
    item_ids = [item.item_id for item in instance.items]
    inspected = draw.sample(item_ids, draw.randint(2, 5))
    taken = draw.sample(item_ids, draw.randint(1, 2))
    calls: list[tuple[str, Callable[[], object]]] = [
        ("print(list_items())", environment.list_items),
        *((f"print(inspect('{item_id}'))", partial(environment.inspect, item_id)) for item_id in inspected),
        *((f"take_item('{item_id}')", partial(environment.take_item, item_id)) for item_id in taken),
    ]
    messages: list[Message] = []
    for code, call in calls:
        messages.append(_reply(draw.choice(_CALL_SENTENCES), code))
        try:
            answer = call()
            feedback = Feedback(is_success=True, output="" if answer is None else f"{answer}\n")
        except ToolError as error:
            feedback = Feedback(is_success=False, error=f"{type(error).__name__}: {error}")
        messages.append(Message(role="user", content=_SILENT_WIRE.observation(feedback, None)))
    return [*messages, _reply(draw.choice(_CALL_SENTENCES), "finish()")]


def _reply(sentence: str, code: str) -> Message:
    return Message(role="assistant", content=f"{sentence}\n```python\n{code}\n```")
