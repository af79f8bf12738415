"""The blocks of the small teachers: one policy, written for each contract.

Models of a million parameters do not copy literals, so the blocks hold none but step counts. The persistent blocks
reuse names; the stateless ones list and inspect again, which costs no budget. Both let the tools' errors tell what
fits: some new items a turn are inspected until the budget or the list ends, then some items a turn are taken by value
per weight.

Where taking a disallowed class costs capacity, a careful block carries `refused`, the classes refused so far: in a
binding under the persistent contract, and under the stateless one as a literal that each block copies from what the
last one printed. `None` stands for a block that is not careful.
"""

from dataclasses import dataclass
from textwrap import indent

from carryover.tasks.knapsack.teachers.habits import FIXED, LISTING, Count, Habits, TeacherBlocks

NAMES: dict[str, dict[str, str]] = {
    "usual": {},
    "plain": {
        "ids": "names",
        "items": "table",
        "i": "name",
        "d": "row",
        "n": "limit",
        "state": "result",
        "look": "scan",
        "grab": "fill",
        "part": "portion",
        "took": "new",
        "old": "before",
    },
    "long": {
        "ids": "item_ids",
        "items": "known_items",
        "i": "item_id",
        "d": "facts",
        "n": "count",
        "state": "status",
        "look": "inspect_more",
        "grab": "take_more",
        "part": "portion_count",
        "took": "newly_taken",
        "old": "known_count",
    },
}
"""Identifiers of each set, by those of the templates."""
FINISH = "finish()"

_BY_DENSITY = "sorted(items, key=lambda i: -items[i][1] / items[i][0])"
_SKIP = "    if items[i][2] in refused: continue\n"
_INSPECT = """    try: d = json.loads(inspect(i))
    except Exception: break
    items[i] = (d['weight'], d['value'], d['class'])
"""
_LOOK_FUNCTION = f"""\
def look(n):
    for i in ids:
        if i in items: continue
        if n == 0: return 'more'
{indent(_INSPECT, "    ")}        n -= 1
    return 'full'
"""
_LOOK_INLINE = f"""\
state = 'full'
for i in ids:
    if i in items: continue
    if n == 0:
        state = 'more'
        break
{_INSPECT}    n -= 1
"""
_STOP = """    if n == 0:
        state = 'more'
        break
"""


@dataclass(frozen=True)
class SmallBlocks(TeacherBlocks):
    """Blocks of one contract in one set of habits.

    `refused` is what a careful block carries, else None.
    """

    identifiers = NAMES
    habits: Habits = FIXED

    def look(self, part: int) -> str:
        """Return the block that inspects the next items, the `part`-th of its kind."""
        if self._keeps_names:
            setup = _when(part == 1, self._setup())
            return self._named(f"{setup}{self._kept_look()}")
        if self._uses_functions:
            return self._named(f"{self._setup()}{self._rebuilding_call(part)}{self._shown_look()}")
        return self._named(self._rebuilding_look(part))

    def relook(self, part: int) -> str:
        """Return the persistent block that sets up again and inspects on.

        It is the `part`-th of its kind.
        """
        if self._uses_functions:
            inspected = self._rebuilding_call(part)
        else:
            inspected = f"part = {part}\nn = {self.habits.inspected_per_turn} * part\n{_LOOK_INLINE}"
        seen = _when(self._shown == "changes", f"old = {self._portions_before()}\n")
        return self._named(f"{self._setup()}{inspected}{seen}{self._shown_look()}")

    def take(self, refused: str | None = None, *, is_first: bool = False) -> str:
        """Return the block that takes the next items.

        The first one defines what later ones read.
        """
        if not self._keeps_names:
            return self.repair(refused)
        start = ""
        if is_first and self._uses_functions:
            start = self._grab(refused)
        elif is_first:
            start = _start(refused)
        return self._named(f"{start}{self._kept_take(refused)}")

    def repair(self, refused: str | None = None) -> str:
        """Return the block that sets up everything again and takes the next items."""
        if self._uses_functions:
            grab = self._grab(refused)
            look = "look(len(ids))\n"
            rebuilt = f"{grab}{look}"
            if refused is not None:
                rebuilt = f"{look}{grab}"
            return self._named(f"{self._setup()}{rebuilt}{self._kept_take(refused)}")
        if self._keeps_names:
            inspected = f"for i in ids:\n{_INSPECT}"
            return self._named(f"{self._setup()}{inspected}{_start(refused)}{self._kept_take(refused)}")
        return self._named(self._rebuilding_take(refused))

    def is_taking(self, code: str) -> bool:
        """Tell whether a block takes items."""
        return "take_item" in code or f"{self._named('grab')}(" in code

    @property
    def _looks_at_all(self) -> bool:
        return self.habits.inspected_per_turn == "all"

    @property
    def _shown(self) -> str:
        """Printed part of the state; levels that depend on the contract are resolved."""
        if self.habits.shown != "by_contract":
            return self.habits.shown
        if self._keeps_names:
            return "size"
        return "table"

    def _setup(self) -> str:
        """Return the lines that list the ids, with any inspecting function."""
        function = _when(self._uses_functions, _LOOK_FUNCTION)
        return f"import json\nids = {LISTING[self.habits.order]}\nitems = {{}}\n{function}"

    def _kept_look(self) -> str:
        """Return the lines that inspect on, by names of earlier lines."""
        count = _count(self.habits.inspected_per_turn, "len(ids)")
        marked = _when(self._shown == "changes", "old = len(items)\n")
        if self._uses_functions:
            return f"{marked}state = look({count})\n{self._shown_look()}"
        return f"{marked}n = {count}\n{_LOOK_INLINE}{self._shown_look()}"

    def _shown_look(self) -> str:
        """Return the line that prints what an inspecting block found."""
        match self._shown:
            case "size":
                return "print(state, len(items))"
            case "changes":
                return f"print(state, {{i: items[i] for i in list(items)[{self._first_new()}:]}})"
            case _:
                return "print(state, items)"

    def _first_new(self) -> str:
        """Return the expression of the place of a block's first new item."""
        if self._keeps_names:
            return "old"
        if self._looks_at_all:
            return ""
        return self._portions_before()

    def _portions_before(self) -> str:
        """Return the expression of the number of items that earlier portions hold."""
        count = self.habits.inspected_per_turn
        return f"{count} * part - {count}"

    def _rebuilding_call(self, part: int) -> str:
        """Return the lines that inspect the first `part` portions again."""
        if self._looks_at_all:
            return "state = look(len(ids))\n"
        return f"part = {part}\nstate = look({self.habits.inspected_per_turn} * part)\n"

    def _rebuilding_look(self, part: int) -> str:
        """Return the inline block that inspects the first `part` portions of the list again."""
        limit = ""
        start = ""
        if not self._looks_at_all:
            start = f"part = {part}\n"
            count = self.habits.inspected_per_turn
            limit = f"    if len(items) == {count} * part:\n        state = 'more'\n        break\n"
        loop = f"items = {{}}\nstate = 'full'\nfor i in {LISTING[self.habits.order]}:\n{limit}{_INSPECT}"
        return f"import json\n{start}{loop}{self._shown_look()}"

    def _rebuilding_take(self, refused: str | None) -> str:
        """Return the inline block that inspects everything again and takes the next items."""
        inspected = f"items = {{}}\nfor i in {LISTING[self.habits.order]}:\n{_INSPECT}"
        return f"import json\n{_start(refused)}{inspected}{self._inline_take(refused)}"

    def _grab(self, refused: str | None) -> str:
        """Return the definition of taking.

        A careful one starts from a literal list of refused classes.
        """
        skip = _when(refused is not None, _SKIP)
        taking = indent(f"{skip}    if n == 0: return 'more'\n{self._try(refused)}", "    ")
        return f"{_start(refused)}def grab(n):\n    for i in {_BY_DENSITY}:\n{taking}    return 'done'\n"

    def _kept_take(self, refused: str | None) -> str:
        """Return the lines that take on, by names of earlier lines."""
        if not self._uses_functions:
            return self._inline_take(refused)
        count = _count(self.habits.taken_per_turn, "len(ids)")
        marked = _when(self._shown == "changes", "took = []\n")
        return f"{marked}state = grab({count})\n{self._shown_take(refused)}"

    def _inline_take(self, refused: str | None) -> str:
        count = _count(self.habits.taken_per_turn, "len(items)")
        marked = _when(self._shown == "changes", "took = []\n")
        skip = _when(refused is not None, _SKIP)
        loop = f"for i in {_BY_DENSITY}:\n{skip}{_STOP}{self._try(refused)}"
        return f"{marked}n = {count}\nstate = 'done'\n{loop}{self._shown_take(refused)}"

    def _try(self, refused: str | None) -> str:
        """Return the lines that try to take one item."""
        caught = "    except Exception: continue\n"
        if refused is not None:
            caught = (
                "    except Exception as e:\n"
                "        if 'class' in str(e): refused.append(items[i][2])\n"
                "        continue\n"
            )
        noted = _when(self._shown == "changes", "    took.append(i)\n")
        return f"    try: take_item(i)\n{caught}{noted}    n -= 1\n"

    def _shown_take(self, refused: str | None) -> str:
        """Return the lines that end a taking block."""
        shown = ["state"]
        if refused is not None:
            shown.append("refused")
        match self._shown:
            case "table":
                shown.append("items")
            case "changes":
                shown.append("took")
            case "size" if not self._keeps_names:
                shown.append("len(items)")
        show = f"print({', '.join(shown)})"
        if self.habits.ending == "own_block":
            return show
        return f"{show}\nif state == 'done': {FINISH}"


def _when(is_wanted: bool, text: str) -> str:
    """Return the text where it is wanted, else nothing."""
    if is_wanted:
        return text
    return ""


def _count(habit: Count, of_all: str) -> str:
    """Return the expression of a number of items."""
    if habit == "all":
        return of_all
    return str(habit)


def _start(refused: str | None) -> str:
    """Return the line that a careful block starts with."""
    if refused is None:
        return ""
    return f"refused = {refused}\n"
