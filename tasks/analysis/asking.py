"""Protocol of an open warehouse, for packages that know no storage."""

from typing import Any, Protocol

import pyarrow as pa


class Ask(Protocol):
    """Runs a query with `$name` parameters and returns its rows."""

    def __call__(self, query: str, /, **parameters: Any) -> pa.Table:
        """Return the rows as Arrow."""
        ...
