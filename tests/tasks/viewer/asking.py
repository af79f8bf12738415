"""A stand-in for the warehouse: rows by the name of their query in `sql/viewer`."""

from typing import Any

import pyarrow as pa

from carryover.tasks.viewer.warehouse_rows import viewer_sql


class MadeUp:
    """Answers queries from lists of rows, and notes what was asked."""

    def __init__(self, queries: dict[str, Any] | None = None, /, **rows: Any) -> None:
        """Take rows by the text of a query, and by its name in `sql/viewer`."""
        self._rows = {**(queries or {}), **{viewer_sql(name): found for name, found in rows.items()}}
        self._names = {query: query for query in queries or {}} | {viewer_sql(name): name for name in rows}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, query: str, /, **parameters: Any) -> pa.Table:
        self.asked.append((self._names[query], parameters))
        found = self._rows[query]
        return found if isinstance(found, pa.Table) else pa.Table.from_pylist([*found])
