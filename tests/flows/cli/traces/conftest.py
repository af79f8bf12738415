"""A warehouse, its server and a browser, for the tests that look at the viewer's pages."""

import pytest

from tests.flows.cli.chromium import open_page
from tests.flows.cli.viewer_server import served
from tests.tasks.viewer.viewer_home import comparison_rows, hostile_rows, make_viewer_home, training_rows


@pytest.fixture(scope="session")
def viewer_home(tmp_path_factory):
    return make_viewer_home(
        tmp_path_factory.mktemp("view"), more=[*hostile_rows(), *comparison_rows(), *training_rows()]
    )


@pytest.fixture(scope="session")
def address(viewer_home):
    with served(viewer_home / "warehouse.duckdb") as address:
        yield address


@pytest.fixture(scope="session")
def page():
    with open_page() as page:
        yield page
