"""Opening messages and observations, in one of two formats.

Prompts are Markdown files: those of the protocol lie here, those of a problem with its family. Both contracts get the
same ones but for `runtime_*` and `demonstrations_*` (arXiv 2603.01209, appendix B).
"""

import hashlib
import json
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from carryover.tasks.agent.episode_spec import PromptSet
from carryover.tasks.agent.protocol import Message
from carryover.tasks.agent.variation import Variation
from carryover.tasks.runtime.results import Violation
from carryover.tasks.traces.vocabulary import ContractName

RUNTIME_WORDS: dict[str, str] = {ContractName.STATELESS: "reset"}
"""The header's word for a contract (arXiv 2603.01209, listing 1); any other contract goes by its own name."""
PLAIN = Variation(wording=None, header_form="standard")
"""The wording of the study."""
SILENT = Variation(wording="", header_form="none")
"""Neither instruction nor header: the prompt does not tell the contract."""

_FOLDER = Path(__file__).parent / "prompts"
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Feedback(NamedTuple):
    """Outcome of a turn, for the next message."""

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


class Opening(NamedTuple):
    """Facts that the first messages of an episode state."""

    goal_values: Mapping[str, object]
    """Values of the goal's `$names`."""
    contract: str
    """Contract that the prompt states."""
    tool_count: int
    tool_call_cap: int | None
    """Tool calls per turn."""
    usual_tool_call_cap: int | None
    """Cap that a compact prompt leaves out."""


@dataclass(frozen=True)
class StudyWire:
    """The study's format: five opening messages, and observations as JSON.

    Sections 3 and B of arXiv 2603.01209. A result, an error and an output are always present, `system_note` and
    `notices` only where there is something to say.
    """

    texts: Mapping[str, str]
    """Prompts by name."""
    variation: Variation = PLAIN

    def opening_messages(self, opening: Opening, header: dict[str, Any] | None) -> list[Message]:
        """Return four system messages (base, runtime, demonstrations, tools) and the task."""
        instruction = self.variation.instruction(find_prompt(self.texts, f"runtime_{opening.contract}"))
        cap = cap_sentence(opening.tool_call_cap, opening.tool_count)
        system_texts = [
            find_prompt(self.texts, "base"),
            f"{instruction}\n\n{find_prompt(self.texts, 'planning')}".strip(),
            find_prompt(self.texts, f"demonstrations_{opening.contract}"),
            fill_prompt(self.texts, "tools", cap_sentence=cap),
        ]
        task = {"task": fill_prompt(self.texts, "goal", **opening.goal_values)} | _state(header)
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
            observation["notices"] = feedback.notices
        if feedback.violations:
            observation["violations"] = [violation._asdict() for violation in feedback.violations]
        content: dict[str, Any] = {"observation": observation} | _state(header)
        if feedback.system_note is not None:
            content["system_note"] = feedback.system_note
        return _dump(content)


@dataclass(frozen=True)
class CompactWire:
    """A short format for models of a few million parameters.

    One system message of two lines, the task in one, and flat observations: the output, the last line of an error, and
    the header's mode and living names. Nothing is listed twice, and what is absent is left out. A cap is stated
    where it is not the family's usual one, under which the models were trained.
    """

    OUTPUT_LIMIT = 900
    """Characters of output shown."""
    ERROR_LIMIT = 160
    """Characters of an error's last line shown."""
    texts: Mapping[str, str]
    """Prompts by name."""
    variation: Variation = PLAIN

    def opening_messages(self, opening: Opening, header: dict[str, Any] | None) -> list[Message]:
        """Return one system message and the task."""
        instruction = self.variation.instruction(find_prompt(self.texts, f"runtime_{opening.contract}"))
        lines = [find_prompt(self.texts, "base"), instruction]
        if opening.tool_call_cap != opening.usual_tool_call_cap:
            lines.append(cap_sentence(opening.tool_call_cap, opening.tool_count))
        return [
            Message(role="system", content="\n".join(line for line in lines if line)),
            Message(role="user", content=fill_prompt(self.texts, "goal", **opening.goal_values)),
        ]

    def observation(self, feedback: Feedback, header: dict[str, Any] | None) -> str:
        """Return a flat JSON object."""
        content: dict[str, Any] = {"output": feedback.output.rstrip("\n")[: self.OUTPUT_LIMIT]}
        if feedback.result is not None:
            content["result"] = feedback.result[: self.OUTPUT_LIMIT]
        if feedback.error:
            content["error"] = feedback.error.strip().splitlines()[-1][: self.ERROR_LIMIT]
        notes = list(feedback.notices)
        if feedback.system_note:
            notes.append(feedback.system_note)
        if notes:
            content["note"] = " ".join(notes)
        names = {key: value for key, value in (header or {}).items() if key != "last_step_globals"}
        return _dump(content | names)


def open_wire(prompt_set: PromptSet, texts: Mapping[str, str], variation: Variation = PLAIN) -> StudyWire | CompactWire:
    """Return a prompt set's format in an episode's wording."""
    if prompt_set == "full":
        return StudyWire(texts, variation)
    return CompactWire(texts, variation)


def cap_sentence(tool_call_cap: int | None, tool_count: int) -> str:
    """Return the sentence that tells the per-turn cap."""
    if tool_call_cap is None:
        return "A block may call tools as often as it likes."
    counted = _COUNTS[tool_count] if tool_count < len(_COUNTS) else tool_count
    return (
        f"A block may make at most {tool_call_cap} tool calls, all {counted} tools counted. The next call fails with "
        '"Tool call limit exceeded"; the count starts again with every block.'
    )


def read_prompts(prompt_set: str, of_family: Mapping[str, str]) -> Mapping[str, str]:
    """Return a set's prompts by name; a family's replace the protocol's."""
    return {**_own_prompts(prompt_set), **of_family}


def find_prompt(texts: Mapping[str, str], name: str) -> str:
    """Return a prompt; raise `ValueError` naming the known ones."""
    if name not in texts:
        raise ValueError(f"no prompt {name!r} in the set; it has {', '.join(sorted(texts)) or 'none'}")
    return texts[name]


def fill_prompt(texts: Mapping[str, str], name: str, **values: object) -> str:
    """Return the text of a prompt with its `$names` filled in."""
    return string.Template(find_prompt(texts, name)).substitute(values)


def prompt_digest(texts: Mapping[str, str], shown_contract: str) -> str:
    """Return a digest of the prompts that a contract is shown."""
    digest = hashlib.sha256()
    for name, text in sorted((f"{name}.md", text) for name, text in texts.items()):
        part, _, contract = name.removesuffix(".md").partition("_")
        if part not in ("runtime", "demonstrations") or contract == shown_contract:
            digest.update(f"{name}\n{text}\n".encode())
    return digest.hexdigest()[:16]


@cache
def _own_prompts(prompt_set: str) -> Mapping[str, str]:
    files = (_FOLDER / prompt_set).glob("*.md")
    return {file.stem: file.read_text(encoding="utf-8").strip() for file in files}


def _state(header: dict[str, Any] | None) -> dict[str, Any]:
    if header is None:
        return {}
    return {"runtime_state": header}


def _dump(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)
