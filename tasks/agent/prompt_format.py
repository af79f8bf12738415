"""What the model is shown: the opening messages, and the observation after each turn, in one of two formats.

Prompts are Markdown files, read by name. Both contracts get the same files but for `runtime_*` and `demonstrations_*`
(arXiv 2603.01209, appendix B).
"""

import hashlib
import json
import string
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from carryover.tasks.agent.episode_spec import PromptSet
from carryover.tasks.agent.protocol import Message
from carryover.tasks.agent.variation import Variation
from carryover.tasks.knapsack.instance import Instance
from carryover.tasks.runtime.results import Violation
from carryover.tasks.traces.vocabulary import ContractName

FOLDER = Path(__file__).parent / "prompts"
RUNTIME_WORDS: dict[str, str] = {ContractName.STATELESS: "reset"}
"""The header's word for a contract (arXiv 2603.01209, listing 1); any other contract goes by its own name."""
PLAIN = Variation(wording=None, header_form="standard")
"""The wording of the study."""


class Feedback(NamedTuple):
    """What a turn came to."""

    is_success: bool
    output: str = ""
    """Everything that the block printed."""
    result: str | None = None
    """Value of its last expression, as text."""
    error: str | None = None
    """Why the block ended early, or why none ran."""
    notices: tuple[str, ...] = ()
    """Unusual events of the interpreter, such as a rollback."""
    violations: tuple[Violation, ...] = ()
    """What the static policy forbids in a block that was not run."""
    system_note: str | None = None
    """What the loop has to say about the reply."""


@dataclass(frozen=True)
class StudyWire:
    """The format of the study: five opening messages, and observations as a JSON object with the runtime header.

    Sections 3 and B of arXiv 2603.01209. A result, an error and an output are always present, `system_note` and
    `notices` only where there is something to say.
    """

    variation: Variation = PLAIN

    def opening_messages(
        self, instance: Instance, contract: str, tool_call_cap: int | None, header: dict[str, Any] | None
    ) -> list[Message]:
        """Return base, runtime instruction, demonstrations and tools as system messages, and the task as user."""
        instruction = self.variation.instruction(read_prompt("full", f"runtime_{contract}"))
        system_texts = [
            read_prompt("full", "base"),
            f"{instruction}\n\n{read_prompt('full', 'planning')}".strip(),
            read_prompt("full", f"demonstrations_{contract}"),
            fill_prompt("full", "tools", cap_sentence=cap_sentence(tool_call_cap)),
        ]
        task = {"task": fill_prompt("full", "goal", **_visible_values(instance))} | _state(header)
        messages = [Message(role="system", content=text) for text in system_texts]
        return [*messages, Message(role="user", content=_dump(task))]

    def observation(self, feedback: Feedback, header: dict[str, Any] | None) -> str:
        """Return `{observation, runtime_state, system_note?}` as JSON text."""
        observation: dict[str, Any] = {
            "success": feedback.is_success,
            "result": feedback.result,
            "output": feedback.output,
            "error": feedback.error,
        }
        if feedback.notices:
            observation["notices"] = list(feedback.notices)
        if feedback.violations:
            observation["violations"] = [violation._asdict() for violation in feedback.violations]
        content: dict[str, Any] = {"observation": observation} | _state(header)
        if feedback.system_note is not None:
            content["system_note"] = feedback.system_note
        return _dump(content)


@dataclass(frozen=True)
class CompactWire:
    """A short format for models of a few million parameters, for which every token counts.

    One system message of two lines, the task in one, and flat observations: the output, the last line of an error, and
    the header's mode and living names. Nothing is listed twice, and what is absent is left out. A cap is told where it
    is another than the instance's bucket has, under which the models were trained.
    """

    OUTPUT_LIMIT = 900
    """Characters of output shown."""
    ERROR_LIMIT = 160
    """Characters of an error's last line shown."""
    variation: Variation = PLAIN

    def opening_messages(
        self, instance: Instance, contract: str, tool_call_cap: int | None, header: dict[str, Any] | None
    ) -> list[Message]:
        """Return one system message and the task."""
        instruction = self.variation.instruction(read_prompt("compact", f"runtime_{contract}"))
        cap = "" if tool_call_cap == instance.spec.tool_call_cap else cap_sentence(tool_call_cap)
        lines = (read_prompt("compact", "base"), instruction, cap)
        return [
            Message(role="system", content="\n".join(line for line in lines if line)),
            Message(role="user", content=fill_prompt("compact", "goal", **_visible_values(instance))),
        ]

    def observation(self, feedback: Feedback, header: dict[str, Any] | None) -> str:
        """Return a flat JSON object."""
        content: dict[str, Any] = {"output": feedback.output.rstrip("\n")[: self.OUTPUT_LIMIT]}
        if feedback.result is not None:
            content["result"] = feedback.result[: self.OUTPUT_LIMIT]
        if feedback.error:
            content["error"] = feedback.error.strip().splitlines()[-1][: self.ERROR_LIMIT]
        notes = [*feedback.notices, *([feedback.system_note] if feedback.system_note else [])]
        if notes:
            content["note"] = " ".join(notes)
        names = {key: value for key, value in (header or {}).items() if key != "last_step_globals"}
        return _dump(content | names)


def open_wire(prompt_set: PromptSet, variation: Variation = PLAIN) -> StudyWire | CompactWire:
    """Return the format of a prompt set in the wording of an episode."""
    return StudyWire(variation) if prompt_set == "full" else CompactWire(variation)


def cap_sentence(tool_call_cap: int | None) -> str:
    """Return the sentence that tells the per-turn cap."""
    if tool_call_cap is None:
        return "A block may call tools as often as it likes."
    return (
        f"A block may make at most {tool_call_cap} tool calls, all four tools counted. The next call fails with "
        '"Tool call limit exceeded"; the count starts again with every block.'
    )


@cache
def read_prompt(prompt_set: str, name: str) -> str:
    """Return the text of a prompt; raise `ValueError` naming the prompts there are for one that is missing."""
    file = FOLDER / prompt_set / f"{name}.md"
    if not file.is_file():
        there = ", ".join(sorted(path.stem for path in file.parent.glob("*.md")))
        raise ValueError(f"no prompt {name!r} in the set {prompt_set!r}; it has {there or 'none'}")
    return file.read_text(encoding="utf-8").strip()


def fill_prompt(prompt_set: str, name: str, **values: object) -> str:
    """Return the text of a prompt with its `$names` filled in."""
    return string.Template(read_prompt(prompt_set, name)).substitute(values)


@cache
def prompt_digest(prompt_set: str, shown_contract: str) -> str:
    """Return a digest of the prompt files that a contract is shown."""
    digest = hashlib.sha256()
    for file in sorted((FOLDER / prompt_set).glob("*.md")):
        part, _, contract = file.stem.partition("_")
        if part not in ("runtime", "demonstrations") or contract == shown_contract:
            digest.update(f"{file.name}\n{read_prompt(prompt_set, file.stem)}\n".encode())
    return digest.hexdigest()[:16]


def _visible_values(instance: Instance) -> dict[str, object]:
    """Return what the model may know before its first step."""
    return {
        "capacity": instance.capacity,
        "budget": instance.inspection_budget,
        "classes": ", ".join(instance.classes),
    }


def _state(header: dict[str, Any] | None) -> dict[str, Any]:
    return {} if header is None else {"runtime_state": header}


def _dump(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)
