"""The lint and its readers work where no library of the study is installed."""

import subprocess
import sys
from pathlib import Path

MADE_UP = Path(__file__).parents[1] / "readers" / "made_up"
PROGRAM = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "prefect", "duckdb", "polars", "pyarrow", "numpy", "scipy", "pandas"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import carryover

print(carryover.lint(sys.argv[1]).verdict)
from carryover.flows.cli.main import app

app(["lint", sys.argv[1], "--save", sys.argv[2]], prog_name="carryover")
"""


def test_lint_needs_no_library_of_the_study(tmp_path):
    page = tmp_path / "lint.html"
    command = [sys.executable, "-c", PROGRAM, str(MADE_UP / "20_played_stateless.jsonl"), str(page)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    verdict = "1 of 1 episode fails in a stateless runtime; first at block 2, name `widths`"
    assert said.stdout.count(verdict) == 2
    assert verdict in page.read_text()
