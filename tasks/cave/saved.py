"""An agent in one file: conversation, injected objects, and journal.

The file is a log of JSON lines. A line that a kill tore apart is dropped, and every line before it holds. A step
appends what it added, so saving costs the same after a thousand steps as after one.
"""

import base64
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import TypeAdapter

from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.conversation import Entry, SemanticStream
from carryover.tasks.cave.prompting import fill
from carryover.tasks.cave.speaker import LoopState
from carryover.tasks.runtime.describe import Injected
from carryover.tasks.runtime.engine import StateLostError
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.journal import Entry as Done
from carryover.tasks.runtime.journal import Journal, Ran
from carryover.tasks.runtime.lifetime import lifetime_of
from carryover.tasks.runtime.objects import Binding, SharedMemory
from carryover.tasks.runtime.results import Difference
from carryover.tasks.runtime.state import Progress
from carryover.tasks.services.whole_files import write_whole

_VERSION = 1
_FILE = "place"
"""Kind of a message that puts a file into the scratch folder; no prompt has an entry of it."""
_DONE: TypeAdapter[Done] = TypeAdapter(Done)


@dataclass(frozen=True)
class SavedAgent:
    """Everything that an agent resumes from."""

    spec: AgentSpec
    loop_state: LoopState
    entries: tuple[Entry, ...]
    question: str
    inputs: tuple[tuple[Injected, Binding], ...]
    journal: Journal

    @classmethod
    def of(cls, spec: AgentSpec, loop_state: LoopState, text: SemanticStream, interpreter: Interpreter) -> Self:
        """Return the present state of an agent's parts."""
        return cls(
            spec=spec,
            loop_state=loop_state,
            entries=tuple(text.entries),
            question=text.question,
            inputs=_inputs_of(interpreter),
            journal=interpreter.journal(has_digests=True),
        )

    def text(self) -> SemanticStream:
        """Return the saved conversation, which the next question continues.

        A block that ran when the agent was killed is told as interrupted.
        """
        text = SemanticStream(self.entries, self.question)
        if self.loop_state.is_running:
            text.add("observation", fill("interrupted"))
        return text

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the state of the last complete line.

        Raises:
            ValueError: The file is no saved agent, or of another version.
        """
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        records = [json.loads(line) for line in lines if line.endswith("\n")]
        if not records or records[0].get("version") != _VERSION:
            raise ValueError(f"{path} is not an agent saved with version {_VERSION}")
        entries: list[Entry] = []
        inputs = []
        done = []
        for record in records:
            entries[record["kept"] :] = [Entry(*entry) for entry in record["entries"]]
            inputs += [_read_input(content) for content in record["inputs"]]
            done += [_DONE.validate_python(content) for content in record["journal"]]
        last = records[-1]
        return cls(
            spec=AgentSpec.model_validate(records[0]["spec"]),
            loop_state=LoopState(**last["course"]),
            entries=tuple(entries),
            question=last["question"],
            inputs=tuple(inputs),
            journal=Journal(**last["promise"], entries=tuple(done)),
        )


class SaveFile:
    """A file that follows an agent, appending a line per write."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written: SavedAgent | None = None

    def write(self, agent: SavedAgent) -> None:
        """Write the state atomically, in a new folder if need be.

        Raises:
            OSError: The file cannot be written.
        """
        before = self._written
        if before is not None and not _goes_on(before, agent):
            before = None
        line = json.dumps(_record(before, agent)) + "\n"
        self._written = None  # a write that fails is made good by a whole one
        if before is None:
            write_whole(self._path, line)
        else:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        self._written = agent


class Restored(NamedTuple):
    """Restored and missing parts of a saved agent's interpreter."""

    differences: tuple[Difference, ...] = ()
    """Observations of the replay that are other than recorded, state hashes included."""
    lost_names: tuple[str, ...] = ()
    missing_functions: tuple[str, ...] = ()
    """Host functions and live objects that were injected once and were not given again."""
    reason: str | None = None
    """Why the whole state is lost; None if it is not."""
    seconds: float = 0.0
    """What the replay cost."""

    @property
    def is_exact(self) -> bool:
        """Whether every block repeated its observation and nothing is missing."""
        return self._replace(seconds=0.0) == Restored()

    def notes(self) -> list[str]:
        """Return the notices for the model before its next step."""
        names = ", ".join(self.lost_names) or "(none)"
        if self.reason is not None:
            notes = [fill("state_lost", reason=self.reason, names=names)]
        else:
            notes = [fill("restored")]
            steps = sorted({difference.step for difference in self.differences})
            if steps:
                changed = sorted({difference.field for difference in self.differences})
                changes = f"{', '.join(map(str, steps))} ({', '.join(changed)})"
                notes.append(fill("restored_otherwise", steps=changes))
            if self.lost_names:
                notes.append(fill("names_lost", names=names))
        if self.missing_functions:
            notes.append(fill("functions_missing", names=", ".join(self.missing_functions)))
        return notes


def bring_about(
    saved: SavedAgent,
    interpreter: Interpreter,
    functions: Mapping[str, Any],
    types: Mapping[str, type],
    progress: Progress | None = None,
) -> Restored:
    """Inject again and run the journal again; return the outcome."""
    missing = [
        entry.name
        for entry, binding in saved.inputs
        if not _inject_again(entry, binding, interpreter, functions=functions, types=types)
    ]
    expected = _names_at_the_end(saved.journal)
    differences: tuple[Difference, ...] = ()
    reason = None
    started = time.perf_counter()
    try:
        differences = interpreter.replay(saved.journal, progress)
    except StateLostError as error:
        reason = str(error)
    lost = expected - set(interpreter.variables())
    seconds = time.perf_counter() - started
    return Restored(differences, tuple(sorted(lost)), tuple(missing), reason, seconds)


def _inputs_of(interpreter: Interpreter) -> tuple[tuple[Injected, Binding], ...]:
    """Return what the host gave: injected objects with their entries, and files."""
    entries = iter(interpreter.injected)
    inputs = []
    for binding in interpreter.bindings:
        kind, name, *_ = binding.message
        entry = Injected(name, "variable", "", "") if kind == _FILE else next(entries)
        inputs.append((entry, binding))
    return tuple(inputs)


def _inject_again(
    entry: Injected,
    binding: Binding,
    interpreter: Interpreter,
    *,
    functions: Mapping[str, Any],
    types: Mapping[str, type],
) -> bool:
    """Inject an object again; False for missing functions or live objects."""
    kind = binding.message[0]
    if kind == _FILE:
        _, path, size = binding.message
        interpreter.put(path, bytes(_content_of(binding)[:size]))
        return True
    is_hosts = kind in ("tool", "refer")
    given = functions.get(entry.name) if is_hosts else types.get(entry.name)
    if given is not None and kind == "refer":
        interpreter.inject(entry.name, given, description=entry.description, by="reference", allow=binding.message[-1])
        return True
    if given is not None and entry.kind != "variable":
        interpreter.inject(entry.name, given, description=entry.description)
        return True
    interpreter.install(binding, entry, "host" if is_hosts else "sandbox")
    return not is_hosts


def _names_at_the_end(journal: Journal) -> set[str]:
    """Return the names after the last block, where any are kept."""
    ran = [done for done in journal.entries if isinstance(done, Ran)]
    keeps_names = lifetime_of(journal.contract).keeps != "nothing"
    if ran and keeps_names:
        return set(ran[-1].observed.names)
    return set()


def _goes_on(before: SavedAgent, agent: SavedAgent) -> bool:
    """Tell whether a state only adds to a former one."""
    count = len(before.journal.entries)
    input_count = len(before.inputs)
    is_same_start = len(agent.journal.entries) >= count and len(agent.inputs) >= input_count
    return is_same_start and (not count or agent.journal.entries[count - 1] is before.journal.entries[-1])


def _record(before: SavedAgent | None, agent: SavedAgent) -> dict[str, Any]:
    """Return the line that makes one state of another.

    Of none, the first line.
    """
    former = () if before is None else before.entries
    pairs = zip(former, agent.entries, strict=False)
    kept = next((place for place, (old, new) in enumerate(pairs) if old != new), min(len(former), len(agent.entries)))
    done_count, input_count = (0, 0) if before is None else (len(before.journal.entries), len(before.inputs))
    return {
        **({"version": _VERSION, "spec": agent.spec.model_dump(mode="json")} if before is None else {}),
        "course": asdict(agent.loop_state),
        "question": agent.question,
        "kept": kept,
        "entries": agent.entries[kept:],
        "inputs": [_write_input(*pair) for pair in agent.inputs[input_count:]],
        "promise": agent.journal.model_copy(update={"entries": ()}).model_dump(mode="json", exclude={"entries"}),
        "journal": [_DONE.dump_python(done, mode="json") for done in agent.journal.entries[done_count:]],
    }


def _content_of(binding: Binding) -> memoryview:
    content = binding.content
    if isinstance(content, SharedMemory):
        return content.view()
    return memoryview(content or b"")


def _write_input(entry: Injected, binding: Binding) -> dict[str, Any]:
    encoded = None if binding.content is None else base64.b64encode(_content_of(binding)).decode()
    return {"entry": entry, "message": binding.message, "content": encoded}


def _read_input(record: dict[str, Any]) -> tuple[Injected, Binding]:
    content = None if record["content"] is None else bytearray(base64.b64decode(record["content"]))
    return Injected(*record["entry"]), Binding(tuple(record["message"]), content)
