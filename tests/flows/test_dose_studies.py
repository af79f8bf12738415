"""The studies of a dose go through every stage and print their tables."""

import json

import pytest

from carryover.storage.warehouse.reader import Warehouse
from tests.flows.cli.calling import run
from tests.flows.flow_process import run_flow
from tests.tasks.viewer.bundle_parts import parts_of

SMALL = (
    *("--train-count", "12", "--evaluation-count", "2", "--max-turns", "12", "--max-completion-tokens", "24"),
    *("--minimum-yield", "0"),
)
HABITS = """
select distinct variant, habits_json ->> '$.taken_per_turn'
from episodes
where habits_json is not null
order by all
"""
SHOWN = """
select distinct variant, contract_json ->> '$.declares_contract'
from episodes
where purpose = 'evaluation' and base = 'scratch'
order by all
"""


@pytest.mark.prefect
@pytest.mark.timeout(900)
def test_a_batch_is_trained_played_and_printed(prefect_api, tmp_path):
    run_flow(tmp_path, "run", "--scale", "laptop_batches", "--parts", "batch-3-1", *SMALL, server=prefect_api)
    with Warehouse.open(tmp_path / "warehouse.duckdb") as warehouse:
        assert warehouse.sql(HABITS).rows() == [("batch-3", "3")]
        (digest,) = warehouse.sql("select distinct plan_digest from runs").rows()[0]
        printed = warehouse.sql("select count(*) from statistics where plan_digest = $d", d=digest).rows()
    assert printed[0][0] > 0


@pytest.mark.prefect
@pytest.mark.timeout(900)
def test_an_undeclared_mixture_is_trained_and_played(prefect_api, tmp_path):
    part = "mixture-50-undeclared-1"
    run_flow(tmp_path, "run", "--scale", "laptop_mixture", "--parts", part, *SMALL, server=prefect_api)
    with Warehouse.open(tmp_path / "warehouse.duckdb") as warehouse:
        assert warehouse.sql(SHOWN).rows() == [("mixture-50-undeclared", "false")]
        shares = warehouse.sql("select distinct other_share from training_examples").rows()
    assert shares == [(0.5,)]


@pytest.mark.prefect
@pytest.mark.timeout(1800)
def test_lifetimes_are_trained_played_and_printed(prefect_api, tmp_path):
    chosen = ("--parts", "lifetimes-1", "--runtime-contracts", "recent-1,persistent")
    run_flow(tmp_path, "run", "--scale", "laptop_lifetimes", *chosen, *SMALL, server=prefect_api)
    printed = run("tables", "lifetimes", "--home", tmp_path, "--format", "csv")
    cells = [line.split(",") for line in printed.splitlines() if line.startswith('"laptop') or "lifetimes" in line]
    assert len([cell for cell in cells if "declared" in cell]) == 8
    assert len([cell for cell in cells if "as_trained" in cell]) == 8
    run("report", "--home", tmp_path, "--path", tmp_path / "report.html")
    figures = json.dumps(parts_of(tmp_path / "report.html")["figures"])
    assert "further blocks that a name outlives at run time" in figures
