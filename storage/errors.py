"""Errors of landing zone and warehouse."""

from carryover.tasks.services.errors import UserError


class StorageError(UserError):
    """Base of the errors of landing zone and warehouse.

    The message names the path and the way out.
    """


class LandingError(StorageError):
    """Rows could not be landed or read."""


class UnreachableZoneError(LandingError):
    """Object storage did not answer."""


class WarehouseError(StorageError):
    """Not a warehouse, an unsupported version, or a missing file."""


class WarehouseBusyError(WarehouseError):
    """Another process merges into the warehouse; the message names it."""


class QueryError(StorageError):
    """DuckDB refused a query.

    `str(error)` is DuckDB's message, which names what an unknown name is close to.
    """
