"""The agent's prompts, filled from files (arXiv 2601.01569, appendix B; own words).

Nothing here reads a clock, a random source or an address: the same inputs give the same bytes.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from string import Template

from carryover.tasks.runtime.describe import Injected
from carryover.tasks.runtime.results import BlockResult

_FOLDER = Path(__file__).parent / "prompts"
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""An object's address in a default value's text: another one in every process."""


@cache
def _templates() -> dict[str, Template]:
    parts = re.split(r"^## (\w+)\n", (_FOLDER / "feedback.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    texts = dict(zip(parts[1::2], parts[2::2], strict=True))
    texts |= {name: (_FOLDER / f"{name}.md").read_text(encoding="utf-8") for name in ("system", "summary_request")}
    return {name: Template(text.strip()) for name, text in texts.items()}


def fill(name: str, /, **values: object) -> str:
    """Return a filled prompt; raise `KeyError` for an unknown prompt or name."""
    return _templates()[name].substitute(values)


def system_prompt(
    injected: Iterable[Injected],
    skills: Mapping[str, str],
    instructions: str,
    *,
    keeps_names: bool = True,
    surroundings: str = "",
) -> str:
    """Return the system message: injected objects, surroundings, skills and rules."""
    entries = list(injected)
    sections = {kind: _entries(entry for entry in entries if entry.kind == kind) or "(none)" for kind in _KINDS}
    listed = "\n".join(f"- {name}: {description}" for name, description in skills.items())
    text = fill(
        "system",
        **{f"{kind}s": section for kind, section in sections.items()},
        skills=f"{fill('skills', entries=listed)}\n" if skills else "",
        surroundings=f"{fill('surroundings', text=surroundings)}\n" if surroundings else "",
        instructions=instructions,
        session=fill(_name("session", keeps_names=keeps_names)),
        names=fill(_name("names", keeps_names=keeps_names)),
    )
    return text.strip()


_KINDS = ("function", "variable", "type")


def _entries(injected: Iterable[Injected]) -> str:
    return _ADDRESS.sub("", "\n\n".join(entry.text for entry in injected))


def new_objects(injected: Iterable[Injected]) -> str:
    """Return entries of objects injected later; empty for none."""
    entries = _entries(injected)
    if entries:
        return fill("new_objects", entries=entries)
    return ""


def _name(prompt: str, *, keeps_names: bool) -> str:
    if keeps_names:
        return prompt
    return f"{prompt}_stateless"


def observation(result: BlockResult, block_count: int, extra: Iterable[str] = (), *, keeps_names: bool = True) -> str:
    """Return the user message that answers a block."""
    parts = []
    if result.output.strip():
        parts.append(fill("output", output=result.output.rstrip()))
    if result.result is not None:
        parts.append(fill("value", value=result.result))
    if result.error is not None and result.error.violations:
        parts.append(fill("violation", violations=result.error.message))
    elif result.error is not None:
        parts.append(fill(_name("error", keeps_names=keeps_names), error=result.error.message.rstrip()))
    elif not parts:
        parts.append(fill("no_output"))
    parts += [fill("notice", text=text) for text in result.notices]
    if block_count > 1:
        parts.append(fill("notice", text=fill("more_blocks", count=block_count)))
    return "\n".join([*parts, *extra, fill(_name("reminder", keeps_names=keeps_names))])
