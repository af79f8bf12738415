"""What the README shows of the runtime."""

from pathlib import Path
from typing import Any

README = Path(__file__).parents[3] / "README.md"


def test_example_of_the_runtime_does_what_it_says():
    section = README.read_text(encoding="utf-8").partition("## The execution contract")[2].partition("\n## ")[0]
    code = section.partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)
    assert (names["total"], names["result"].result, names["notices"]) == (14, "14", ())
    assert names["blocks"] == [None, "True"]
