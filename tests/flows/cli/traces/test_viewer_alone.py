"""The extra `viewer` holds all that `carryover view` needs of traces."""

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TRACES = Path(__file__).parents[3] / "tasks" / "readers" / "made_up" / "20_played_stateless.jsonl"
PROGRAM = """
import json
import sys

refused = set(json.loads(sys.argv[1]))

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from carryover.flows.cli.main import app

app(["view", sys.argv[2], "--out", sys.argv[3]], prog_name="carryover")
"""


def installed_with(extra):
    """The distributions that `pip install 'carryover[EXTRA]'` brings."""
    there = set()
    asked = [Requirement(f"carryover[{extra}]")]
    while asked:
        requirement = asked.pop()
        name = canonicalize_name(requirement.name)
        wanted = requirement.extras or {""}
        if {(name, each) for each in wanted} <= there:
            continue
        there |= {(name, each) for each in wanted}
        try:
            further = [Requirement(text) for text in requires(name) or ()]
        except PackageNotFoundError:
            continue  # asked for on another platform
        asked += [one for one in further if is_asked(one, wanted)]
    return {name for name, _ in there}


def is_asked(requirement, extras):
    if requirement.marker is None:
        return True
    return any(requirement.marker.evaluate({"extra": extra}) for extra in extras)


def test_the_extra_viewer_is_enough_to_view_traces(tmp_path):
    there = installed_with("viewer")
    assert {"duckdb", "polars", "starlette"} <= there
    assert not there & {"prefect", "torch", "pandas", "great-expectations"}
    refused = [
        module
        for module, distributions in packages_distributions().items()
        if there.isdisjoint(canonicalize_name(distribution) for distribution in distributions)
    ]
    page = tmp_path / "page.html"
    command = [sys.executable, "-c", PROGRAM, json.dumps(refused), str(TRACES), str(page)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert "1 episodes in" in said.stdout
