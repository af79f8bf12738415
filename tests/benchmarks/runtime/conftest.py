import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from result_table import Table

sys.path.insert(0, str(Path(__file__).parent))  # the modules beside the tests, which contenders import as well


@pytest.fixture(scope="session")
def cave_python() -> str | None:
    """The Python of an environment for cave-agent and smolagents, none where it cannot be made."""
    import cave_environment

    return cave_environment.cave_python()


@pytest.fixture(scope="session")
def table(request: pytest.FixtureRequest) -> Iterator["Table"]:
    """What every contender was measured at; printed when all is done."""
    from result_table import Table

    table = Table()
    yield table
    capturing: Any = request.config.pluginmanager.getplugin("capturemanager")
    with capturing.global_and_fixture_disabled():
        print(f"\n{table.text()}", flush=True)
