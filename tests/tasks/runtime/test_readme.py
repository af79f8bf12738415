"""What the README shows of the runtime."""

from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[3] / "README.md"


def test_example_of_a_session_does_what_it_says():
    pytest.importorskip("carryover")
    blocks = README.read_text(encoding="utf-8").split("```python\n")[1:]
    (code,) = (block.partition("\n```\n")[0] for block in blocks if "carryover.session" in block)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["result"] == "2"
    assert names["verdict"].carried_names == ("x",)
