"""A study on a family from a user's file, end to end: instances, traces, training, the 2x2, tables."""

import json

import pytest

from carryover.storage.warehouse.reader import Warehouse
from tests.flows.cli.calling import refused, run
from tests.flows.conftest import STUDY
from tests.flows.flow_process import run_flow
from tests.tasks.families.written import written
from tests.tasks.viewer.bundle_parts import parts_of

pytestmark = [pytest.mark.slow, pytest.mark.prefect, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def home(prefect_api, tmp_path_factory):
    """The data folder of a smoke study on boxes."""
    folder = tmp_path_factory.mktemp("boxes")
    run_flow(folder / "data", "run", *STUDY, "--family", written(folder), server=prefect_api)
    return folder / "data"


def test_rows_bear_the_family_and_its_numbers(home):
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        rows = warehouse.sql(
            """
            select family, purpose, count(*), count(metrics_json ->> '$.chosen_coins'), count(taken_count)
            from episodes
            group by all
            order by all
            """
        ).rows()
        instances = warehouse.sql("select distinct family, bucket, count(content_json) from instances group by all")
        assert rows == [("boxes", "evaluation", 20, 20, 0), ("boxes", "teacher", 24, 24, 0)]
        assert instances.rows() == [("boxes", "few", 14)]


def test_general_tables_print_and_the_papers_do_not(home):
    printed = run("tables", "--home", home, "--format", "markdown")
    assert "| family | boxes |" in printed
    assert "chosen coins" in printed
    assert "The 2x2" in printed
    assert "Table 2:" not in printed
    assert "table_2 is about the Opaque Knapsack" in refused("tables", "2", "--home", home)[1]


def test_the_report_shows_the_family_and_no_published_table(home, tmp_path):
    run("report", "--home", home, "--path", tmp_path / "report.html")
    tables = parts_of(tmp_path / "report.html")["tables"]["tables"]
    assert "table_2" not in [table["name"] for table in tables]
    shown = next(table for table in tables if table["name"] == "family_metrics")
    assert "boxes" in json.dumps(shown)


def test_the_lint_knows_the_familys_tools(home):
    printed = run("lint", "--home", home, "--format", "json")
    assert "list_boxes" not in printed
    assert "peek" not in printed
