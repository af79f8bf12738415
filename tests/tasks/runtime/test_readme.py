"""What the README shows of the runtime."""

from pathlib import Path
from typing import Any

import carryover.tasks.runtime

ROOM = Path(carryover.tasks.runtime.__file__).with_name("README.md")
README = Path(__file__).parents[3] / "README.md"


def example(readme: Path, word: str) -> dict[str, Any]:
    """Run the Python block of a README that holds a word, and return its names."""
    blocks = readme.read_text(encoding="utf-8").split("```python\n")[1:]
    (code,) = (block.partition("\n```")[0] for block in blocks if word in block)
    names: dict[str, Any] = {}
    exec(code, names)
    return names


def test_example_of_the_runtime_does_what_it_says():
    names = example(ROOM, "snapshot")
    assert (names["total"], names["result"].result, names["notices"]) == (14, "14", ())
    assert names["forgotten"].type == "NameError"


def test_example_of_a_session_does_what_it_says(capsys):
    names = example(README, "carryover.session")
    assert names["result"] == "1"
    verdict = "1 of 1 episode fails in a stateless runtime; first at block 2, name `x`"
    assert capsys.readouterr().out == f"{verdict}\n"
