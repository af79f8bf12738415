import pytest

from carryover.storage.warehouse.reader import Warehouse
from tests.tasks.viewer.viewer_home import make_viewer_home


@pytest.fixture(scope="session")
def viewer_home(tmp_path_factory):
    return make_viewer_home(tmp_path_factory.mktemp("viewer"))


@pytest.fixture(scope="session")
def ask(viewer_home):
    """Ask the warehouse, which no test writes to: a query asked before has the same rows."""
    answers = {}
    with Warehouse.open(viewer_home / "warehouse.duckdb") as warehouse:

        def ask(query, **parameters):
            asked = query, repr(parameters)
            if asked not in answers:
                answers[asked] = warehouse.sql(query, **parameters).arrow()
            return answers[asked]

        yield ask
