"""Agent Skills: folders with a `SKILL.md`, injected on request."""

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from carryover.tasks.agent.runtime_stream import RuntimeStream
from carryover.tasks.cave.prompting import fill
from carryover.tasks.cave.speaker import DEFERRED
from carryover.tasks.runtime.describe import Injected
from carryover.tasks.runtime.inside.tools import ToolInvocationException, ToolRuntimeException
from carryover.tasks.runtime.objects import Binding, InjectionError
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.syntax import parse_python

SKILL_FILE = "SKILL.md"


class Skill(NamedTuple):
    """A folder of instructions with functions."""

    name: str
    description: str
    instructions: str
    """The text below the front matter."""
    folder: Path

    def read(self, file: str) -> str:
        """Return a file's text; raise `ToolRuntimeException` for a missing one."""
        path = (self.folder / file).resolve()
        if not path.is_relative_to(self.folder.resolve()) or not path.is_file():
            there = sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())
            raise ToolRuntimeException(f"skill {self.name} has no file {file!r}; it has {', '.join(there)}")
        return path.read_text(encoding="utf-8", errors="replace")

    async def inject(self, runtime: RuntimeStream) -> str:
        """Define the folder's functions in the sandbox, and return the instructions.

        The host reads the files and runs nothing of them. What was injected before is not injected again.
        """
        text = fill("skill", name=self.name, instructions=self.instructions)
        known = {entry.name for entry in runtime.idle.injected}
        for file in sorted(self.folder.glob("*.py")):
            source = file.read_text(encoding="utf-8")
            try:
                functions = [node for node in parse_python(source).body if isinstance(node, ast.FunctionDef)]
                for function in functions:
                    if not function.name.startswith("_") and function.name not in known:
                        runtime.idle.install(Binding(("define", function.name, source)), _describe(function))
            except (SyntaxError, InjectionError) as error:
                text = f"{text}\n{fill('notice', text=f'{file.name} could not be loaded: {error}')}"
        return text


def find_skills(folder: Path) -> dict[str, Skill]:
    """Return a folder's skills by name, in order.

    Raises:
        UserError: The folder does not exist, or a `SKILL.md` lacks its name or its description.
    """
    if not folder.is_dir():
        raise UserError(f"no folder of skills at {folder}; create it, or leave skills out")
    skills = [_read_skill(file) for file in folder.glob(f"*/{SKILL_FILE}")]
    return {skill.name: skill for skill in sorted(skills)}


def use_skill_of(skills: Mapping[str, Skill]) -> Callable[..., str]:
    """Return the function by which a block asks for a skill."""

    def use_skill(name: str, file: str = SKILL_FILE) -> str:
        """Read a skill's instructions or another file of its folder.

        Its functions are there in the next block.
        """
        skill = skills.get(name)
        if skill is None:
            raise ToolInvocationException(f"unknown skill {name!r}; choose from {', '.join(skills)}")
        if file != SKILL_FILE:
            return skill.read(file)
        DEFERRED.get().append(skill.inject)
        return f"The instructions of {name} follow when this block has ended."

    return use_skill


def _read_skill(file: Path) -> Skill:
    """Return a skill, with the `key: value` lines of its front matter."""
    opening, separator, rest = file.read_text(encoding="utf-8").partition("---\n")
    front, end, instructions = rest.partition("\n---")
    has_front_matter = bool(separator and end) and not opening.strip()
    lines = front.splitlines() if has_front_matter else []
    fields: dict[str, str] = {}
    key = ""
    for line in lines:
        if line[:1].isspace() and key:
            fields[key] = f"{fields[key].strip('>|-')} {line.strip()}".strip()
        elif ":" in line:
            key, _, value = line.partition(":")
            fields[key] = value.strip().strip("\"'")
    if not fields.get("name") or not fields.get("description"):
        raise UserError(f"{file} needs front matter with a name and a description between two lines of ---")
    return Skill(fields["name"], fields["description"], instructions.strip(), file.parent)


def _describe(function: ast.FunctionDef) -> Injected:
    returns = ""
    if function.returns:
        returns = f" -> {ast.unparse(function.returns)}"
    documentation = ast.get_docstring(function) or ""
    lines = [f"def {function.name}({ast.unparse(function.args)}){returns}"]
    lines += [f"    {line}".rstrip() for line in documentation.splitlines()]
    return Injected(function.name, "function", documentation, "\n".join(lines))
