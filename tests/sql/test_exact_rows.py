"""Every SQL file gives exactly the rows that `tests/sql/rows` works out by hand for a small study."""

from importlib.resources import files
from pathlib import Path

import pytest

from carryover.tasks.analysis.queries import table_query
from tests.empty_warehouse import open_empty_memory
from tests.sql.hand_made_warehouse import HandMade
from tests.sql.small_study import TOOLS_JSON, add_cells, add_the_rest, of_another_plan
from tests.sql.written_rows import read_rows, write_row
from tests.storage.broken_studies import BREAKS
from tests.storage.test_checks import GENERATED

SQL = Path(str(files("carryover.sql")))
ROWS = Path(__file__).parent / "rows"
EXPECTED = sorted(str(path.relative_to(ROWS).with_suffix("")) for path in ROWS.rglob("*.txt"))
BROKEN = {f"checks/{name}" for name, _, _ in BREAKS if name not in GENERATED}
"""A check gives rows of what is broken alone: `tests/storage/broken_studies.py` writes down the rows of each."""

LATEST = {"staging/latest_plan", "staging/plan_episodes", "views/latest_episodes"}
"""The small study has neither finished nor reused an episode: `test_latest_plan.py` and `test_plan_episodes.py` write
down the rows of these."""


FOUR_CONTRACTS = {"tables/four_contracts", "tables/injection"}
"""The small study has two contracts: `test_four_contracts.py` writes down the rows of these."""
REPAIR = {"tables/repair"}
"""The small study repeats no block: `test_repair.py` writes down the rows of this."""
DOSES = {"tables/batches", "tables/lifetimes", "tables/mixture"}
"""The small study has no doses: `test_doses.py` writes down the rows of these."""
REINFORCED = {"tables/reinforcement"}
"""The small study reinforces nothing: `test_reinforcement.py` writes down the rows of this."""
SIDES = {"tables/side_by_side"}
"""The small study has no scripts: `test_side_by_side.py` writes down the rows of this."""
SCRIPTS = {"tables/script_control"}
"""The small study has no scripts beside its cells: `test_script_control.py` writes down the rows of this."""
FAMILIES = {"tables/family_metrics"}
"""The small study records no metrics: `test_other_families.py` writes down the rows of this."""

CAVE = {
    "staging/counted_cave_turns",
    "staging/measured_cave_arms",
    *(f"tables/{path.stem}" for path in (SQL / "tables").glob("cave_*.sql")),
}
"""The small study has no turns of a suite: `test_exact_suite_rows.py` and `test_cave_tables.py` write down the rows."""


def test_every_sql_file_has_its_exact_rows_written_down():
    on_disk = {str(path.relative_to(SQL).with_suffix("")) for path in SQL.rglob("*.sql")}
    statements = {name for name in on_disk if not name.startswith(("migrations/", "commands/", "macros/", "viewer/"))}
    by_hand = {
        *EXPECTED,
        *BROKEN,
        *LATEST,
        *FOUR_CONTRACTS,
        *REPAIR,
        *DOSES,
        *REINFORCED,
        *SIDES,
        *SCRIPTS,
        *FAMILIES,
        *CAVE,
    }
    assert by_hand == statements


@pytest.fixture(scope="module")
def ask():
    """A function that returns the rows of an SQL file on the small study, beside another plan of the same cells."""
    study = HandMade(open_empty_memory())
    add_cells(study)
    add_the_rest(study)
    study.add_again(of_another_plan)

    def rows_of(name):
        folder, stem = name.split("/")
        known = {"plan_digest": "plan", "tools_json": TOOLS_JSON}
        if folder == "tables":
            query = table_query(stem)
            return study.sql(query.sql, **{parameter: known[parameter] for parameter in query.parameters})
        rows = study.sql((SQL / f"{name}.sql").read_text(encoding="utf-8"))
        return [row for row in rows if is_of_the_study(row)]

    return rows_of


def is_of_the_study(row):
    """Tell whether a row is about the small study, or about no plan."""
    return row.get("plan_digest") != "other" and not str(row.get("episode_id")).startswith("other ")


@pytest.mark.parametrize("name", EXPECTED)
def test_sql_file_gives_the_rows_worked_out_by_hand(ask, name):
    expected = read_rows((ROWS / f"{name}.txt").read_text(encoding="utf-8"))
    assert [write_row(row) for row in ask(name)] == expected
