import pytest

from carryover.storage.warehouse.reader import Warehouse
from tests.tasks.viewer.viewer_home import make_viewer_home


@pytest.fixture(scope="session")
def viewer_home(tmp_path_factory):
    return make_viewer_home(tmp_path_factory.mktemp("viewer"))


@pytest.fixture(scope="session")
def ask(viewer_home):
    with Warehouse.open(viewer_home / "warehouse.duckdb") as warehouse:
        yield lambda query, **parameters: warehouse.sql(query, **parameters).arrow()
