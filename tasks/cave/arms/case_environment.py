"""The host's side of a case: its world and an arm's functions."""

import functools
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import chain
from typing import Any

from carryover.tasks.cave.arms.arm import Arm
from carryover.tasks.cave.suites.case import Call, Case, Expected
from carryover.tasks.cave.suites.values import Json, as_json, from_json
from carryover.tasks.runtime.describe import describe
from carryover.tasks.runtime.inside.tools import ToolRuntimeException
from carryover.tasks.services.syntax import source_text

READ = "read_variable"
WRITE = "write_variable"
_STORED = (
    f"The task's variables are kept outside: {READ}(name) gives one as JSON, {WRITE}(name, value) replaces it. "
    f"Whatever is said above, only what is written with {WRITE} counts."
)

_TOLD = (
    f"The task's variables are kept outside: {READ}(name) gives one as JSON. Whatever is said above, only what a final "
    "answer tells counts: end it with a block tagged `json` that holds an object with the new value of each variable "
    "that changed, in the form in which it is read."
)
_FILES = (
    "The task's variables and data are files in the working directory, which stay from block to block: NAME.json "
    "holds a variable as JSON, NAME.csv a table. Whatever is said above, only what the JSON files hold at the end "
    "counts: write a variable that changed back to its file, in the form in which it was."
)
_READ_TEXT = "Return a variable of the task as JSON: arrays and sets as lists, frames by column, objects by field."
_WRITE_TEXT = "Replace a variable of the task; give its new value in the form in which it is read."
LONGEST_VALUE = 20_000
"""Characters of a value's JSON that a row keeps."""
_JSON_BLOCK = re.compile(r"^```json\s*\n(.*?)^```", re.MULTILINE | re.DOTALL)


class CaseEnvironment:
    """A case's world while an arm plays it."""

    def __init__(self, case: Case, arm: Arm) -> None:
        self.case = case
        self.arm = arm
        self.world = deepcopy(case.world)
        self._first = dict(case.world.variables)
        self._unreadable: list[str] = []
        """What is wrong with the last answer's JSON block as a whole."""

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return the first turn's functions, with a store for variables if needed."""
        later = set(chain.from_iterable(turn.added for turn in self.case.turns[1:]))
        first = {name: function for name, function in self.world.functions.items() if name not in later}
        has_store = self.world.variables and not self.arm.keeps_variables and not self.arm.has_files
        if has_store:
            first[READ] = self._reader()
        if has_store and not self.arm.tells_results:
            first[WRITE] = self._writer()
        return first

    def files(self) -> dict[str, bytes]:
        """Return the variables and data as files: JSON, and frames of data as CSV."""
        files = {f"{name}.csv": frame.to_csv(index=False).encode() for name, frame in self.world.data.items()}
        for name, value in self._first.items():
            files[f"{name}.json"] = json.dumps(as_json(value)).encode()
        return files

    def instructions(self) -> str:
        """Return the further lines of the system message."""
        parts = [self.case.instructions]
        if self.world.variables and not self.arm.keeps_variables:
            parts.append(self._access())
        if self.world.variables and not self.arm.is_injected:
            entries = [*map(source_of, self.world.types), *self._told_of(self._first)]
            parts.append("Variables of the task:\n" + "\n".join(entries))
        if self.arm.has_files and self.world.data:
            parts.append("Data of the task:\n" + "\n".join(self._told_of(self.world.data)))
        return "\n".join(part for part in parts if part)

    def _told_of(self, values: Mapping[str, Any]) -> list[str]:
        """Return what the model is told of each value."""
        described = self.world.descriptions
        return [describe(name, value, described.get(name, "")).text for name, value in values.items()]

    def take_told(self, answer: str) -> None:
        """Take variables' values from an answer's last JSON block, if any.

        A block that is not JSON changes no variable, and makes the turn a wrong one. Without variables any answer goes.
        """
        self._unreadable = []
        blocks = _JSON_BLOCK.findall(answer)
        if not self._first:
            return
        try:
            values = json.loads(blocks[-1]) if blocks else {}
        except (ValueError, RecursionError) as error:  # also an integer of thousands of digits, or absurd nesting
            self._unreadable = [f"unreadable JSON block: {type(error).__name__}: {error}"]
            return
        if not isinstance(values, dict):
            return
        for name in self._first.keys() & values.keys():
            self._take(name, functools.partial(values.get, name))

    def take_files(self, read: Callable[[str], bytes]) -> None:
        """Take variables' values from their files, as `read` returns them."""
        for name in self._first:
            self._take(name, lambda name=name: json.loads(read(f"{name}.json")))

    def _take(self, name: str, read: Callable[[], Any]) -> None:
        """Write a retrieved value; a missing or odd one is wrong, and says why."""
        try:
            self._write(name, read())
        except Exception as error:  # noqa: BLE001 - what a model hands back may be anything; the value names it
            self.world.variables[name] = {"not retrieved": f"{type(error).__name__}: {error}"}

    def wrong_names(self, expected: Expected) -> list[str]:
        """Return the names whose state is wrong, or why it is unreadable."""
        try:
            return [*self._unreadable, *self.case.differing(expected.state, self.world.state())]
        except Exception as error:  # noqa: BLE001 - an answer of an odd type is a wrong one
            return [*self._unreadable, f"unreadable state: {type(error).__name__}: {error}"]

    def state_json(self, expected: Expected) -> str:
        """Return the checked state as JSON, expected beside found.

        An unreadable state is found as null, with the reason.
        """
        try:
            state = self.world.state()
        except Exception as error:  # noqa: BLE001 - an answer of an odd type is a wrong one
            reason = f"{type(error).__name__}: {error}"
            return json.dumps({"expected": expected.state, "found": None, "unreadable": reason})
        found = {name: _shortened(value) for name, value in state.items()}
        return json.dumps({"expected": expected.state, "found": found})

    def missing_calls(self, expected: Expected, calls: list[Call]) -> list[str]:
        """Return the required calls that were not made, as text."""
        made = list(calls)
        missing = []
        for call in expected.required(self.world.acting):
            if call in made:
                made.remove(call)
            else:
                missing.append(f"{call.function}({call.arguments})")
        return missing

    def _access(self) -> str:
        """Return how the variables are read and given back."""
        if self.arm.has_files:
            return _FILES
        if self.arm.tells_results:
            return _TOLD
        return _STORED

    def _reader(self) -> Callable[[str], Json]:
        def read(name: str) -> Json:
            return as_json(self.world.variables[self._known(name)])

        read.__doc__ = _READ_TEXT  # models read it
        return read

    def _writer(self) -> Callable[[str, Any], None]:
        def write(name: str, value: Any) -> None:
            self._write(name, value)

        write.__doc__ = _WRITE_TEXT
        return write

    def _write(self, name: str, value: Any) -> None:
        self.world.variables[self._known(name)] = from_json(value, self._first[self._known(name)])

    def _known(self, name: str) -> str:
        if name not in self._first:
            raise ToolRuntimeException(f"no variable {name!r}; choose from {', '.join(self._first)}")
        return name


def _shortened(value: Json) -> Json:
    """Return a value, or its length where a model made it huge."""
    try:
        length = len(json.dumps(value))
    except ValueError as error:  # an integer of thousands of digits
        return f"<not shown: {error}>"
    if length <= LONGEST_VALUE:
        return value
    return f"<{length:,} characters of JSON>"


def source_of(kind: type) -> str:
    """Return a class's source, for arms that are not given the class."""
    return f"import dataclasses\n\n{textwrap.dedent(source_text(kind))}"


def namespaces(dotted: dict[str, str]) -> dict[str, str]:
    """Return classes as source, whose attributes call functions by dotted names."""
    trees: dict[str, Any] = {}
    for path, function in dotted.items():
        *parents, last = path.split(".")
        tree = trees
        for parent in parents:
            tree = tree.setdefault(parent, {})
        tree[last] = function
    return {root: "\n".join([f"class {root}:", *_members(tree)]) for root, tree in trees.items()}


def _members(tree: dict[str, Any], depth: int = 1) -> list[str]:
    lines = []
    for name, inner in tree.items():
        indent = "    " * depth
        if isinstance(inner, dict):
            lines += [f"{indent}class {name}:", *_members(inner, depth + 1)]
        else:
            lines.append(f"{indent}{name} = staticmethod(lambda *a, **k: {inner}(*a, **k))")
    return lines
