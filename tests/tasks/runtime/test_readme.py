"""What the README shows of the runtime."""

from pathlib import Path
from typing import Any

import carryover.tasks.runtime

README = Path(carryover.tasks.runtime.__file__).with_name("README.md")


def test_example_of_the_runtime_does_what_it_says():
    code = README.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)
    assert (names["total"], names["result"].result, names["notices"]) == (14, "14", ())
    assert names["forgotten"].type == "NameError"
