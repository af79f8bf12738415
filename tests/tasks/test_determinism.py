"""Two runs with the same seeds leave the same rows and files, but for times, run ids and how many play at once."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.collect import collect_episodes
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.plans.shards import script_shards, scripted_client, teacher_shards
from carryover.tasks.provide_tokenizer import make_tokenizer
from carryover.tasks.stages.runs import start_run
from carryover.tasks.traces.rows import EPISODE_TABLES
from carryover.tasks.traces.tables import TABLES
from tests.tasks.made import make_instances, make_training_data

COUNTS = Overrides(train_count=6, evaluation_count=2)
EPISODES = {row.TABLE for row in EPISODE_TABLES}
DETERMINED = EPISODES | {"instances", "items", "trace_verdicts", "training_examples"}
VOLATILE = {"run_id", "started_at", "wall_seconds", "model_seconds", "execution_seconds", "seconds", "concurrency"}


def run_without_models(home, concurrency: int) -> Run:
    """Run every stage that asks no model, in a data folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CARRYOVER_HOME", str(home))
        with start_run("toy", resolve_plan("smoke", COUNTS), Limits()) as run:
            (part,) = run.plan.parts
            client = scripted_client(part).model_copy(update={"concurrency": concurrency})
            for instance_set in run.plan.instance_sets():
                make_instances(run, instance_set)
            tokenizer = make_tokenizer(run, part)
            for shard in (*teacher_shards(run, part, tokenizer), *script_shards(run, part, tokenizer)):
                collect_episodes.fn(run, shard.model_copy(update={"client": client}))
            make_training_data(run, part, tokenizer)
    return run


def digests(run: Run) -> dict[str, str]:
    """Return a digest per table without its volatile columns, and one per file of training data."""
    zone = LandingZone(run.landing)
    found = {}
    for table in sorted(DETERMINED):
        rows = zone.scan(table).drop(VOLATILE, strict=False).sort(TABLES[table].KEY).collect()
        assert rows.height
        found[table] = hashlib.sha256(rows.write_json().encode()).hexdigest()
    for file in sorted(run.folders.datasets.glob("*/*.json*")):
        found[str(file.relative_to(run.home))] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def played_at_once(home: Path) -> set[int]:
    return set(LandingZone(home / "landing").scan("episodes").collect()["concurrency"])


def run_in_a_process(home: Path, concurrency: int, hash_seed: str) -> tuple[str, dict[str, str]]:
    """Run the stages in a process that orders its sets of words in its own way; return the run's id and the digests."""
    program = f"""
import json
from pathlib import Path
from tests.tasks.test_determinism import digests, run_without_models
run = run_without_models(Path({str(home)!r}), concurrency={concurrency})
print(json.dumps([run.run_id, digests(run)]))
"""
    printed = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    run_id, found = json.loads(printed.splitlines()[-1])
    return run_id, found


@pytest.mark.slow
def test_equal_seeds_leave_equal_rows_and_files(tmp_path):
    first_id, first = run_in_a_process(tmp_path / "first", concurrency=1, hash_seed="1")
    second_id, second = run_in_a_process(tmp_path / "second", concurrency=4, hash_seed="2")
    assert first_id != second_id
    assert first == second
    assert played_at_once(tmp_path / "first") == {1}
    assert played_at_once(tmp_path / "second") == {4}
    names = {name.rsplit("/", 1)[-1] for name in first}
    assert names >= {"episodes", "turns", "instances", "persistent.jsonl", "stateless.jsonl", "tokenizer.json"}
