"""A pretrained model of each of three architectures goes through the whole study on a CPU."""

import pytest

from carryover.storage.warehouse.reader import Warehouse
from tests.flows.flow_process import run_flow
from tests.tiny_bases import ARCHITECTURES, CELLS, PLAYED_CELLS, save_tiny_base

OPTIONS = (
    *("--scale", "pretrained", "--device", "cpu", "--bucket", "small", "--prompt-set", "compact"),
    *("--train-count", "12", "--evaluation-count", "2", "--max-turns", "14", "--max-completion-tokens", "16"),
    *("--lora-rank", "4", "--epochs", "1", "--accumulation", "2"),
)


@pytest.mark.prefect
@pytest.mark.timeout(900)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_random_model_is_adapted_served_and_compared(architecture, prefect_api, tmp_path):
    base = save_tiny_base(tmp_path / f"tiny-{architecture}", architecture)
    home = tmp_path / "data"
    printed = run_flow(home, "run", *OPTIONS, "--base-model", str(base), server=prefect_api)
    assert f"pretrained, tiny-{architecture}" in printed
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        played = warehouse.sql(PLAYED_CELLS).rows()
        adapters = warehouse.sql("select distinct contract, output_path from training_runs order by all").rows()
        runs = warehouse.sql("select count(*) from runs").rows()
    assert played == [(*cell, 2) for cell in CELLS]
    assert len(adapters) == 2
    again = run_flow(home, "run", *OPTIONS, "--base-model", str(base), server=prefect_api)
    assert f"pretrained, tiny-{architecture}" in again
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        assert warehouse.sql("select count(*) from runs").rows() == runs
