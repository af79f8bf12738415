"""Bits that flip after landing: no damaged row enters a warehouse."""

import random
from pathlib import Path

import polars as pl
import pytest

from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.quarantine import find_damage
from carryover.tasks.traces.rows import InstanceRow, ItemRow

FLIPS = 300


@pytest.fixture
def landed(landing, make_episode, make_row) -> LandingZone:
    items = [
        make_row(ItemRow, instance_id="i", item_id=f"i-{number}", weight=43 + number, value=7 * number)
        for number in range(40)
    ]
    landing.write({"instances": [make_row(InstanceRow, instance_id="i")], "items": items}, "run")
    landing.write(make_episode("e", step_count=20, code="x = 1"), "run")
    return landing


def test_no_single_flipped_bit_enters_unseen(landed):
    draw = random.Random(1)
    files = [Path(landed.store.absolute(file.path)) for file in landed.store.find()]
    assert find_damage(landed) == []
    unseen = []
    for _ in range(FLIPS):
        (file,) = draw.choices(files, weights=[file.stat().st_size for file in files])
        whole = file.read_bytes()
        bit = draw.randrange(8 * len(whole))
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        file.write_bytes(flipped)
        if not find_damage(LandingZone(landed.url)):
            unseen.append((file, bit))
        file.write_bytes(whole)
    assert unseen == []


def test_a_merge_takes_in_no_bundle_with_a_flipped_bit(landed, path):
    (items,) = (file.path for file in landed.store.find("items"))
    content = bytearray(landed.store.read(items))
    content[len(content) // 3] ^= 1
    landed.store.write(items, bytes(content))
    report = merge(landed, path)
    assert "items" not in report.row_counts
    assert f"{items}: damaged, checksum" in report.refusals[0].reason
    assert report.row_counts["episodes"] == 1


def test_a_damaged_manifest_is_refused_with_its_checksum(landed, path):
    manifest = landed.manifests().bundles[1]
    content = landed.store.read(manifest.path)
    landed.store.write(manifest.path, content.replace(b'"row_count":20', b'"row_count":21'))
    report = merge(landed.url, path)
    assert (report.refusals[0].path, report.refusals[0].reason[:17]) == (manifest.path, "damaged: checksum")
    with Warehouse.open(path) as warehouse:
        assert warehouse.sql("select count(*) from items").rows() == [(40,)]
        assert warehouse.scan("items").select(pl.col("weight").min()).collect().item() == 43
