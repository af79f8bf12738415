from pathlib import Path

import pytest

from carryover.flows.cli.doctor import print_damage
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
