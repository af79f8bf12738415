import shutil
from pathlib import Path

import pytest

from carryover.flows.cli.machine.doctor import print_damage
from carryover.storage.warehouse.merger import merge
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.study_rows import RunEndRow
from tests.sql.hand_made_warehouse import NOW


def test_verification_names_the_damaged_file(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    zone = LandingZone(tmp_path / "landing")
    end = RunEndRow(run_id="run", status="finished", message="", finished_at=NOW)
    landed = zone.write({"run_ends": [end]}, "run")
    print_damage(tmp_path)
    assert capsys.readouterr().out == f"1 bundles in {zone.url} match their checksums\n"

    file = Path(zone.url) / f"run_ends/run_id=run/{landed.bundle_id}.parquet"
    content = bytearray(file.read_bytes())
    content[50] ^= 4
    file.write_bytes(content)
    with pytest.raises(UserError, match=r"1 damaged bundles in .*; restore their files from a backup, or run"):
        print_damage(tmp_path)
    assert f"{file.relative_to(zone.url)}: damaged, checksum" in capsys.readouterr().out


def test_verification_names_merged_bundles_that_are_gone(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    zone = LandingZone(tmp_path / "landing")
    for run_id in ("kept", "gone", "torn"):
        zone.write({"run_ends": [RunEndRow(run_id=run_id, status="finished", message="", finished_at=NOW)]}, run_id)
    merge(zone, tmp_path / "warehouse.duckdb")
    elsewhere = LandingZone(tmp_path / "elsewhere")
    end = RunEndRow(run_id="other", status="finished", message="", finished_at=NOW)
    elsewhere.write({"run_ends": [end]}, "other")
    merge(elsewhere, tmp_path / "warehouse.duckdb")
    print_damage(tmp_path)
    assert capsys.readouterr().out == (
        f"3 bundles in {zone.url} match their checksums\n"
        "1 merged bundles are of other landing zones and were not verified\n"
    )

    shutil.rmtree(tmp_path / "landing" / "run_ends" / "run_id=gone")
    shutil.rmtree(tmp_path / "landing" / "bundles" / "run_id=gone")
    (manifest,) = (tmp_path / "landing" / "bundles" / "run_id=torn").iterdir()
    manifest.unlink()
    with pytest.raises(UserError, match=r"2 merged bundles are gone from .*; restore them from a backup"):
        print_damage(tmp_path)
    told = capsys.readouterr().out
    assert f"bundles/run_id=torn/{manifest.name}: gone; the warehouse holds its 1 rows" in told
    assert "bundles/run_id=gone/" in told
    assert "run_id=kept" not in told
