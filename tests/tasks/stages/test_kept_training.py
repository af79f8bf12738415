"""Kept training sets and their overlaps, from rows by hand."""

from types import SimpleNamespace
from typing import Any

import polars as pl

from carryover.tasks.stages.kept_files import kept_path
from carryover.tasks.stages.kept_training import keep_training

CONTRACT = {"variant": "main", "contract": "persistent"}


def warehouse_of(examples, overlaps) -> Any:
    """A warehouse that holds these examples and overlaps alone."""

    def ask(query, **_parameters):
        rows = overlaps if "training_overlaps" in query else examples
        return SimpleNamespace(polars=lambda: pl.DataFrame(rows))

    return SimpleNamespace(sql=ask)


def example(dataset_id, episode_id, run_id="run", position=0):
    place = {"run_id": run_id, "dataset_id": dataset_id, "episode_id": episode_id, "position": position}
    return {**CONTRACT, **place, "instance_id": episode_id}


def overlap(dataset_id, run_id="run"):
    return {**CONTRACT, "run_id": run_id, "dataset_id": dataset_id, "other_contract": "stateless", "shared_count": 1}


def kept(folder, table, column):
    return pl.read_parquet(kept_path(folder, table))[column].to_list()


def keep(warehouse, folder, kept_ids, episode_ids):
    keep_training(warehouse, folder, kept_ids, episode_ids, target=folder)


def test_overlaps_of_sets_that_are_not_kept_go(tmp_path):
    warehouse = warehouse_of([example("a", "e"), example("b", "gone")], [overlap("a"), overlap("b")])
    kept_ids = pl.DataFrame({"episode_id": ["e", "gone"], "kept_id": ["kept-e", "gone"]})
    keep(warehouse, tmp_path, kept_ids, pl.Series(["kept-e"]))
    assert kept(tmp_path, "training_examples", "episode_id") == ["kept-e"]
    assert kept(tmp_path, "training_overlaps", "dataset_id") == ["a"]


def test_sets_and_overlaps_are_kept_in_order(tmp_path):
    examples = [example("b", "f"), example("a", "e", position=1), example("a", "f")]
    ids = pl.DataFrame({"episode_id": ["e", "f"], "kept_id": ["e", "f"]})
    overlaps = [overlap(name) for name in "bba"]
    overlaps[0]["other_contract"] = "z"
    keep(warehouse_of(examples, overlaps), tmp_path, ids, ids["kept_id"])
    assert kept(tmp_path, "training_examples", "episode_id") == ["f", "e", "f"]
    assert kept(tmp_path, "training_examples", "dataset_id") == ["a", "a", "b"]
    assert kept(tmp_path, "training_overlaps", "dataset_id") == ["a", "b", "b"]
    assert kept(tmp_path, "training_overlaps", "other_contract") == ["stateless", "stateless", "z"]


def test_of_equal_sets_the_one_of_the_later_run_is_kept(tmp_path):
    ids = pl.DataFrame({"episode_id": ["e", "f"], "kept_id": ["e", "f"]})
    for dataset_id, run_id in (("a", "2"), ("b", "1")):
        examples = [example(dataset_id, "f", run_id, position=1), example(dataset_id, "e", run_id)]
        keep(warehouse_of(examples, [overlap(dataset_id, run_id)]), tmp_path, ids, ids["kept_id"])
        assert kept(tmp_path, "training_examples", "dataset_id") == ["a", "a"]
        assert kept(tmp_path, "training_examples", "position") == [0, 1]
        assert kept(tmp_path, "training_overlaps", "dataset_id") == ["a"]
