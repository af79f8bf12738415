"""The hand-made warehouse of the tests, empty and with a small study."""

import pytest
from duckdb import DuckDBPyConnection

from tests.empty_warehouse import open_empty_memory
from tests.sql.hand_made_warehouse import HandMade
from tests.sql.small_study import add_cells


@pytest.fixture(scope="session")
def connection() -> DuckDBPyConnection:
    return open_empty_memory()


@pytest.fixture
def warehouse(connection: DuckDBPyConnection) -> HandMade:
    return HandMade(connection)


@pytest.fixture
def study(warehouse: HandMade) -> HandMade:
    """Two episodes of P->P and of P->S, one of the base model."""
    add_cells(warehouse)
    return warehouse
