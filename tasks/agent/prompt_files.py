"""Prompt files in Markdown, read by name.

Both contracts get the same files but for `runtime_*` and `demonstrations_*` (arXiv 2603.01209, appendix B).
"""

import hashlib
import string
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "prompts"


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
