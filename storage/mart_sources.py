"""Sources of published tables, staging views and marts: the files of `sql/published`, `sql/staging`, `sql/marts`."""

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from storage.connection import quoted
from storage.migrations import read_migrations
from tasks.traces.rows import EpisodeRow

_ATTEMPTS = f"""
-- one row per episode: whether it is the last attempt at what it is an attempt at
select
    plan_digest,
    episode_id,
    row_number() over (
        partition by {", ".join(EpisodeRow.SAME_EPISODE)}
        order by started_at desc, attempt desc, episode_id
    ) = 1 as is_last_attempt
from main.episodes
order by plan_digest, episode_id
"""


class MartSource(NamedTuple):
    """One file and the relation that it defines."""

    schema: str
    name: str
    statement: str
    """A query for the relation's rows."""
    content: str
    """What the rows depend on besides the warehouse's own."""

    @property
    def relation(self) -> str:
        """Name of the relation in the database: views for readers stand in `main`."""
        return f"{'main' if self.schema == 'views' else self.schema}.{self.name}"


def read_mart_sources() -> list[MartSource]:
    """Return the files in the order in which they build on each other: by schema, then by name."""
    return [
        *(_published_source(file) for file in _files("published", ".csv")),
        *(_sql_source("staging", file) for file in _files("staging", ".sql")),
        MartSource("staging", "attempts", _ATTEMPTS, _ATTEMPTS),
        *(_sql_source(schema, file) for schema in ("marts", "views") for file in _files(schema, ".sql")),
    ]


def sources_digest(sources: list[MartSource]) -> str:
    """Return a digest of the files, and of the migrations, which may change rows that the marts were computed from."""
    contents = [(source.schema, source.name, source.content) for source in sources]
    migrations = [migration.digest for migration in read_migrations()]
    return hashlib.sha256(repr((contents, migrations)).encode()).hexdigest()[:16]


def _published_source(file: Traversable) -> MartSource:
    statement = f"from read_csv({quoted(str(file))}, header = true)"
    return MartSource("published", file.name.removesuffix(".csv"), statement, file.read_text(encoding="utf-8"))


def _sql_source(schema: str, file: Traversable) -> MartSource:
    text = file.read_text(encoding="utf-8").rstrip().rstrip(";")
    return MartSource(schema, file.name.removesuffix(".sql"), text, text)


def _files(folder_name: str, suffix: str) -> list[Traversable]:
    folder = files("sql") / folder_name
    if not folder.is_dir():
        return []
    return sorted((file for file in folder.iterdir() if file.name.endswith(suffix)), key=lambda file: file.name)
