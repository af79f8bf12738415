"""Numbered migrations of the warehouse's schema, with a ledger of the ones applied.

The first one creates the tables of the row models as they are. Until a release freezes it as text, a warehouse of other
models is refused, and its landing zone is merged into a new file.
"""

import hashlib
from datetime import UTC, datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import duckdb
from duckdb import DuckDBPyConnection

from carryover.storage.errors import WarehouseError
from carryover.storage.warehouse.connection import transaction
from carryover.storage.zone.schemas import create_tables

_LEDGER = """
create table if not exists main.schema_migrations (
    version bigint not null,
    name varchar not null,
    digest varchar not null,
    applied_at timestamptz not null
)
"""


class Migration(NamedTuple):
    """One numbered step of the schema."""

    version: int
    name: str
    statements: str

    @property
    def digest(self) -> str:
        """Digest of the statements."""
        return hashlib.sha256(self.statements.encode()).hexdigest()[:16]


def read_migrations(folder: Traversable | Path | None = None) -> list[Migration]:
    """Return the migrations of a folder (default: `sql/migrations`) in order; raise `ValueError` for a gap."""
    found = (folder or files("carryover.sql") / "migrations").iterdir()
    sources = sorted((source for source in found if source.name.endswith(".sql")), key=attrgetter("name"))
    migrations = [
        Migration(
            version=int(source.name[:4]),
            name=source.name[5:-4],
            statements=(create_tables() if source.name.startswith("0001") else "") + source.read_text(encoding="utf-8"),
        )
        for source in sources
    ]
    if [migration.version for migration in migrations] != list(range(1, len(migrations) + 1)):
        raise ValueError(f"migrations are not numbered 0001, 0002, ...: {[source.name for source in sources]}")
    return migrations


def migrate(connection: DuckDBPyConnection, folder: Traversable | Path | None = None) -> int:
    """Bring a database to the newest schema, keeping its rows, and return the number of migrations applied.

    An empty database becomes an empty warehouse. Raise `WarehouseError` for a database that is no warehouse, one of
    a newer version, or one whose migrations had other contents.
    """
    tables = connection.sql("select 1 from duckdb_tables() where database_name = current_database() limit 1").fetchall()
    migrations = read_migrations(folder)
    pending = _pending(connection, migrations) if tables else migrations
    if not pending:
        return 0
    try:
        with transaction(connection):
            connection.execute(_LEDGER)
            for migration in pending:
                connection.execute(migration.statements)
                applied_now = (migration.version, migration.name, migration.digest, datetime.now(UTC))
                connection.execute("insert into main.schema_migrations values (?, ?, ?, ?)", applied_now)
    except duckdb.Error as error:
        raise WarehouseError(f"cannot upgrade the warehouse, nothing was changed: {error}") from error
    return len(pending)


def check_version(connection: DuckDBPyConnection, folder: Traversable | Path | None = None) -> None:
    """Raise `WarehouseError` unless the database is a warehouse of exactly this version."""
    migrations = read_migrations(folder)
    if pending := _pending(connection, migrations):
        raise WarehouseError(
            f"the warehouse has schema version {len(migrations) - len(pending)}, this Carryover reads "
            f"{len(migrations)}; `carryover merge` upgrades it and keeps its rows"
        )


def _pending(connection: DuckDBPyConnection, migrations: list[Migration]) -> list[Migration]:
    """Return the migrations that a warehouse lacks; raise `WarehouseError` for none, another's or a newer one's."""
    try:
        rows = connection.sql("select version, digest from main.schema_migrations").fetchall()
    except duckdb.CatalogException as error:
        raise WarehouseError(
            "this is a DuckDB file but not a Carryover warehouse: it has no ledger of migrations"
        ) from error
    applied = dict(rows)
    if len(applied) > len(migrations):
        raise WarehouseError(
            f"the warehouse has schema version {max(applied)}, this Carryover knows {len(migrations)}; "
            "upgrade Carryover"
        )
    for migration in migrations[: len(applied)]:
        if applied.get(migration.version) != migration.digest:
            raise WarehouseError(
                "the warehouse was made by another version of Carryover (migration "
                f"{migration.version:04d}_{migration.name} was applied with other contents); move its files away, and "
                "`carryover merge` makes it anew"
            )
    return migrations[len(applied) :]
