from typing import Any

import pytest

from carryover.tasks.interchange.formats import export_traces, import_traces
from carryover.tasks.interchange.setting import ImportSetting
from carryover.tasks.running.errors import UserError

SETTING = ImportSetting(run_id="import", runtime_contract="persistent")


@pytest.mark.parametrize(
    ("format_name", "source"), [("authors", "."), ("jsonl", "traces.jsonl"), ("parquet", "traces.parquet")]
)
def test_what_goes_out_comes_back_in(played, tmp_path, format_name, source):
    folder = tmp_path / "out"
    assert export_traces(played.traces(), folder, format_name) == 4
    imported = list(import_traces(folder / source, SETTING))
    assert sorted(rows.episode.runtime_contract for rows in imported) == ["persistent"] * 2 + ["stateless"] * 2
    assert sorted(rows.episode.call_site_count for rows in imported) == sorted(
        each.episode.call_site_count for each in played.episodes
    )


def test_atif_goes_out(played, tmp_path):
    assert export_traces(played.traces(), tmp_path, "atif") == 4
    assert len(list(tmp_path.rglob("*.atif.json"))) == 4


def test_an_unknown_format_is_refused_by_name(tmp_path):
    word: Any = "csv"
    with pytest.raises(UserError, match="unknown format 'csv'; choose from authors, jsonl, parquet, atif"):
        export_traces([], tmp_path, word)


def test_nothing_to_import_is_said(tmp_path):
    with pytest.raises(UserError, match="nothing to import at"):
        import_traces(tmp_path / "absent.jsonl", SETTING)


def test_exporting_onto_a_file_says_so_and_leaves_it(tmp_path):
    file = tmp_path / "out"
    file.write_text("precious")
    with pytest.raises(UserError, match="out is a file; name a folder"):
        export_traces([], file, "jsonl")
    assert file.read_text() == "precious"
