"""The study of reinforcement goes through every stage, and lands a row per update."""

from itertools import product

import pytest

from carryover.storage.warehouse.reader import Warehouse
from tests.flows.flow_process import run_flow

SMALL = ("--train-count", "12", "--evaluation-count", "2", "--minimum-yield", "0")


@pytest.mark.prefect
@pytest.mark.timeout(900)
def test_each_model_is_reinforced_and_evaluated_again(prefect_api, tmp_path):
    notes = tmp_path / "notes.py"
    notes.write_text('import carryover\n\nNOTES = carryover.Contract(name="notes", lifetime="block")\n')
    contracts = ("--contracts", f"persistent,{notes}:NOTES")
    run_flow(tmp_path, "run", "--scale", "smoke_rl", *SMALL, *contracts, server=prefect_api)
    with Warehouse.open(tmp_path / "warehouse.duckdb") as warehouse:
        updates = warehouse.sql(
            """
            select train_contract, runtime_contract, count(*), sum(episode_count)
            from policy_updates
            group by all
            order by all
            """
        ).rows()
        played = warehouse.sql(
            """
            select variant, count(distinct model_digest)
            from episodes
            where purpose = 'evaluation' and base = 'scratch' and model_digest is not null
            group by all
            order by all
            """
        ).rows()
    names = ("notes", "persistent")
    assert updates == [(model, runtime, 2, 4) for model, runtime in product(names, repeat=2)]
    assert played == [("main", 2), ("rl-other", 2), ("rl-own", 2)]
