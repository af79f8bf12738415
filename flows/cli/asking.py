"""An open warehouse, as packages that know no storage ask it."""

from typing import Any

import pyarrow as pa

from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.asking import Ask


def ask_of(warehouse: Warehouse) -> Ask:
    """Return what runs a query against a warehouse."""

    def ask(query: str, /, **parameters: Any) -> pa.Table:
        return warehouse.sql(query, **parameters).arrow()

    return ask
