"""The schema of a warehouse, described by its comments."""

from contextlib import closing

import polars as pl

from carryover.storage.warehouse.connection import open_memory
from carryover.storage.warehouse.marts import refresh_marts
from carryover.storage.warehouse.migrations import migrate
from carryover.tasks.services.errors import UserError

_RELATIONS = """
select concat_ws('.', schema_name, name) as relation, kind, comment as meaning
from (
    select schema_name, table_name as name, 'table' as kind, comment from duckdb_tables()
    where not internal
    union all
    select schema_name, view_name as name, 'view' as kind, comment from duckdb_views()
    where not internal
)
order by schema_name, name
"""
_COLUMNS = """
select column_name as "column", data_type as type, comment as meaning
from duckdb_columns()
where not internal and concat_ws('.', schema_name, table_name) = $relation
order by column_index
"""


def describe_schema(relation: str | None = None) -> pl.DataFrame:
    """Return a warehouse's relations with meanings, or one's columns.

    A relation of the schema `main` goes by its bare name too. Raise `UserError` for an unknown one.
    """
    with closing(open_memory()) as connection:
        migrate(connection)
        refresh_marts(connection)
        relations = connection.sql(_RELATIONS).pl()
        if relation is None:
            return relations
        name = relation if "." in relation else f"main.{relation}"
        if name not in relations["relation"]:
            raise UserError(f"unknown relation {relation!r}; `carryover schema` lists them")
        return connection.sql(_COLUMNS, params={"relation": name}).pl()
