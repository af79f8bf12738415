"""The warehouse's schema: row models declare tables, migrations the rest.

A warehouse of any version is brought to the row models of this one: a missing table is created, a missing column is
added with its default. Numbered migrations, with a ledger of the ones applied, change what no row model declares.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
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
from carryover.storage.zone.schemas import create_table, default_literal, duckdb_columns, row_model
from carryover.tasks.traces.tables import TABLES

_LEDGER = """
create table if not exists main.schema_migrations (
    version bigint not null,
    name varchar not null,
    digest varchar not null,
    applied_at timestamptz not null
)
"""

_HELD_COLUMNS = """
select table_name, column_name, is_nullable from duckdb_columns()
where database_name = current_database() and schema_name = 'main'
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
    """Return the migrations of a folder (default: `sql/migrations`) in order.

    Raise `ValueError` for a gap.
    """
    found = (folder or files("carryover.sql") / "migrations").iterdir()
    sources = sorted((source for source in found if source.name.endswith(".sql")), key=attrgetter("name"))
    migrations = [
        Migration(
            version=int(source.name[:4]),
            name=source.name[5:-4],
            statements=source.read_text(encoding="utf-8"),
        )
        for source in sources
    ]
    if [migration.version for migration in migrations] != list(range(1, len(migrations) + 1)):
        raise ValueError(f"migrations are not numbered 0001, 0002, ...: {[source.name for source in sources]}")
    return migrations


def migrate(connection: DuckDBPyConnection, folder: Traversable | Path | None = None) -> int:
    """Bring a database to the newest schema; return the migrations applied.

    An empty database becomes an empty warehouse. Raise `WarehouseError` for a database that is no warehouse, and for
    one of a newer version.
    """
    tables = connection.sql("select 1 from duckdb_tables() where database_name = current_database() limit 1").fetchall()
    migrations = read_migrations(folder)
    pending = _pending(connection, migrations) if tables else migrations
    changes = _changes_to_tables(connection)
    if not pending and not changes:
        return 0
    try:
        with transaction(connection):
            connection.execute(_LEDGER)
            for statement in changes:
                connection.execute(statement)
            for migration in pending:
                connection.execute(migration.statements)
                applied_now = (migration.version, migration.name, migration.digest, datetime.now(UTC))
                connection.execute("insert into main.schema_migrations values (?, ?, ?, ?)", applied_now)
    except duckdb.Error as error:
        raise WarehouseError(f"cannot upgrade the warehouse, nothing was changed: {error}") from error
    return len(pending)


def check_version(connection: DuckDBPyConnection, folder: Traversable | Path | None = None) -> None:
    """Raise `WarehouseError` unless the database is a warehouse with exactly these migrations.

    Tables may lack columns that came later, which a merge adds.
    """
    migrations = read_migrations(folder)
    if pending := _pending(connection, migrations):
        raise WarehouseError(
            f"the warehouse has schema version {len(migrations) - len(pending)}, this Carryover reads "
            f"{len(migrations)}; `carryover merge` upgrades it and keeps its rows"
        )


def _pending(connection: DuckDBPyConnection, migrations: list[Migration]) -> list[Migration]:
    """Return the migrations that a warehouse lacks.

    Raise `WarehouseError` for no warehouse and a newer one.
    """
    try:
        rows = connection.sql("select version from main.schema_migrations").fetchall()
    except duckdb.CatalogException as error:
        raise WarehouseError(
            "this is a DuckDB file but not a Carryover warehouse: it has no ledger of migrations"
        ) from error
    applied = [version for (version,) in rows]
    if len(applied) > len(migrations):
        raise WarehouseError(
            f"the warehouse has schema version {max(applied)}, this Carryover knows {len(migrations)}; "
            "upgrade Carryover"
        )
    return migrations[len(applied) :]


def _changes_to_tables(connection: DuckDBPyConnection) -> list[str]:
    """Return the statements that bring the tables to the row models."""
    held: dict[str, dict[str, bool]] = defaultdict(dict)
    for table, column, is_nullable in connection.sql(_HELD_COLUMNS).fetchall():
        held[table][column] = is_nullable
    statements = []
    for table in TABLES:
        if table in held:
            statements += _changes_to_table(table, held[table])
        else:
            statements.append(create_table(table))
    return statements


def _changes_to_table(table: str, held: Mapping[str, bool]) -> Iterator[str]:
    """Yield the statements for one table.

    `held` says of each of its columns whether it may be null.
    """
    key = row_model(table).KEY
    for name, duckdb_type, _ in duckdb_columns(table):
        if name not in held:
            default = default_literal(table, name)
            yield f"alter table main.{table} add column {name} {duckdb_type} default {default}"
    for name, is_nullable in held.items():
        # What no model declares any more gets no values, either.
        if not is_nullable and name not in key:
            yield f"alter table main.{table} alter column {name} drop not null"
