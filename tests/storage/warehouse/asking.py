"""A query of a warehouse file, which is closed again."""

from pathlib import Path

from carryover.storage.warehouse.reader import Warehouse


def rows_of(path: Path, query: str) -> list[tuple]:
    with Warehouse.open(path) as warehouse:
        return warehouse.sql(query).rows()
