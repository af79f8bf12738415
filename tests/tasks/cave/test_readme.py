"""What the README shows of the agent."""

from pathlib import Path
from typing import Any

import carryover.tasks.cave


def test_example_of_the_agent_does_what_it_says():
    text = Path(carryover.tasks.cave.__file__).with_name("README.md").read_text(encoding="utf-8")
    code = text.split("```python\n", 1)[1].split("\n```\n", 1)[0]
    names: dict[str, Any] = {}
    exec(code, names)
    assert str(names["answer"]) == "Summed."
    assert names["totals"].to_dict("list") == {"customer": ["a", "b"], "amount": [4, 2]}
