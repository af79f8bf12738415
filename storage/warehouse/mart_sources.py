"""Sources of published tables, macros, staging views and marts."""

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from carryover.storage.sql_text import quoted_path
from carryover.storage.warehouse.migrations import read_migrations
from carryover.storage.zone.schemas import create_table
from carryover.tasks.traces.rows import EpisodeRow
from carryover.tasks.traces.tables import TABLES

_ATTEMPTS = f"""
-- one row per episode: whether it is the last attempt at what it is an attempt at
select
    plan_digest,
    episode_id,
    row_number() over (
        partition by {", ".join(EpisodeRow.SAME_EPISODE)}
        order by started_at desc, attempt desc, episode_id
    ) = 1 as is_last_attempt
from staging.plan_episodes
order by plan_digest, episode_id
"""


class MartSource(NamedTuple):
    """One file and the relation that it defines."""

    schema: str
    name: str
    statement: str
    """A query for the relation's rows; of a macro, the statement that creates it."""
    content: str
    """Dependencies of the rows besides the warehouse's own."""

    @property
    def relation(self) -> str:
        """Name in the database: views for readers are in `main`."""
        return f"{'main' if self.schema == 'views' else self.schema}.{self.name}"

    def creation(self, kind: str) -> str:
        """Return the statement that creates the table, view or macro."""
        if self.schema == "macros":
            return self.statement
        return f"create or replace {kind} {self.relation} as {self.statement}"


def read_mart_sources() -> list[MartSource]:
    """Return the SQL files in dependency order."""
    published = [
        MartSource("published", name, f"from read_csv({quoted_path(str(file))}, header = true)", _text(file))
        for name, file in _files("published", ".csv")
    ]
    attempts = MartSource("staging", "attempts", _ATTEMPTS, _ATTEMPTS)
    return [
        *published,
        *_queries("macros"),
        *_queries("staging"),
        attempts,
        *_queries("marts"),
        *_queries("views"),
    ]


def _queries(schema: str) -> list[MartSource]:
    return [MartSource(schema, name, _text(file), _text(file)) for name, file in _files(schema, ".sql")]


def sources_digest(sources: list[MartSource]) -> str:
    """Return a digest of what decides the marts.

    Files, tables and migrations decide them.
    """
    contents = [(source.schema, source.name, source.content) for source in sources]
    migrations = [migration.digest for migration in read_migrations()]
    tables = [create_table(table) for table in TABLES]
    return hashlib.sha256(repr((contents, migrations, tables)).encode()).hexdigest()[:16]


def _files(folder: str, suffix: str) -> list[tuple[str, Traversable]]:
    """Return the files of a folder of `sql` with their names, sorted."""
    found = (file for file in (files("carryover.sql") / folder).iterdir() if file.name.endswith(suffix))
    return sorted(((file.name.removesuffix(suffix), file) for file in found), key=lambda pair: pair[0])


def _text(file: Traversable) -> str:
    return file.read_text(encoding="utf-8").rstrip()
