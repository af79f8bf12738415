"""The README names every arm and every suite."""

from pathlib import Path
from typing import get_args

from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.suites.catalogue import SuiteName


def test_readme_names_every_arm_and_suite():
    text = (Path(__file__).parents[4] / "tasks/cave/arms/README.md").read_text(encoding="utf-8")
    assert [name for name in (*ARMS, *get_args(SuiteName)) if f"| `{name}` |" not in text] == []
