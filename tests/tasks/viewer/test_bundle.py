"""Static bundles: one file or a folder, without a server."""

import re

from carryover.tasks.viewer.bundle import pack, write_bundle, write_report_file
from tests.tasks.viewer.bundle_parts import parts_of, unpacked


def test_one_file_holds_pages_and_episodes(ask, tmp_path):
    written = write_bundle(ask, "plan", tmp_path / "b.html", "true")
    parts = parts_of(tmp_path / "b.html")
    assert written == (tmp_path / "b.html", 8, False)
    assert {"study", "run", "episodes", "episode/pp1", "episode/ss2"} <= {*parts}
    assert parts["episode/ps1"]["missing"][0]["name"] == "items"
    # it names no other file
    assert re.findall(r'(?:src|href)="(?!data:)[^"]*"', (tmp_path / "b.html").read_text()) == []


def test_a_condition_chooses_the_episodes_of_a_bundle(ask, tmp_path):
    assert write_bundle(ask, "plan", tmp_path / "b.html", "condition = 'P->S'").episode_count == 2
    parts = parts_of(tmp_path / "b.html")
    assert parts["episodes"]["columns"]["episode_id"] == ["ps1", "ps2"]
    assert "episode/pp1" not in parts


def test_a_part_cannot_end_its_script():
    part = pack("episode/e", {"text": "</script><script>alert(1)</script><!--"})
    assert "<" not in part.packed
    assert unpacked(part.packed)["text"].startswith("</script>")


def test_a_report_holds_every_page_and_no_trace(ask, tmp_path):
    write_report_file(ask, "plan", tmp_path / "r.html")
    assert {*parts_of(tmp_path / "r.html")} == {"study", "episodes", "tables", "figures", "training", "suites", "run"}
    assert '"hasEpisodes": false' in (tmp_path / "r.html").read_text()
