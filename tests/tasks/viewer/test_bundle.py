"""Static bundles: one file or a folder, without a server."""

import re

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer import bundle
from carryover.tasks.viewer.bundle import pack, write_bundle, write_report_file
from carryover.tasks.viewer.warehouse_rows import viewer_sql
from tests.tasks.viewer.bundle_parts import parts_of, unpacked


def test_one_file_holds_pages_and_episodes(ask, tmp_path):
    written = write_bundle(ask, "plan", tmp_path / "b.html", "true")
    parts = parts_of(tmp_path / "b.html")
    assert written == (tmp_path / "b.html", 8, False)
    assert {"study", "run", "episodes", "episode/pp1", "episode/ss2"} <= {*parts}
    assert parts["episode/ps1"]["missing"][0]["name"] == "items"


def test_one_file_names_no_other_file(ask, tmp_path):
    write_bundle(ask, "plan", tmp_path / "b.html", "true")
    assert re.findall(r'(?:src|href)="(?!data:)[^"]*"', (tmp_path / "b.html").read_text()) == []


def test_a_condition_chooses_the_episodes_of_a_bundle(ask, tmp_path):
    assert write_bundle(ask, "plan", tmp_path / "b.html", "condition = 'P->S'").episode_count == 2
    parts = parts_of(tmp_path / "b.html")
    assert parts["episodes"]["columns"]["episode_id"] == ["ps1", "ps2"]
    assert "episode/pp1" not in parts


def test_a_folder_holds_its_episodes_as_scripts(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "PART_EPISODES", 3)
    write_bundle(ask, "plan", tmp_path / "b", "true")
    order = parts_of(tmp_path / "b" / "index.html")["episodes"]["columns"]["episode_id"]
    held = {}
    for number in range(3):
        script = (tmp_path / "b" / "parts" / f"{number}.js").read_text()
        held[number] = {path for path, _ in re.findall(r'carryoverPart\("([^"]+)","([^"]+)"\);', script)}
    for place, episode in enumerate(order):
        assert f"episode/{episode}" in held[place // 3]
    assert '"partEpisodes": 3' in (tmp_path / "b" / "index.html").read_text()


def test_more_episodes_than_one_file_takes_become_a_folder(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "MOST_EPISODES", 7)
    written = write_bundle(ask, "plan", tmp_path / "b.html", "true")
    assert written == (tmp_path / "b" / "index.html", 8, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b"]
    assert held_episodes(tmp_path / "b") == {"0.js": 8}


def test_pages_too_large_for_one_file_become_a_folder(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "PART_EPISODES", 3)
    whole = write_bundle(ask, "plan", tmp_path / "whole.html", "true").path.stat().st_size
    monkeypatch.setattr(bundle, "MOST_BYTES", whole)
    assert not write_bundle(ask, "plan", tmp_path / "fits.html", "true").is_folder
    monkeypatch.setattr(bundle, "MOST_BYTES", whole - 1)
    written = write_bundle(ask, "plan", tmp_path / "b.html", "true")
    assert written == (tmp_path / "b" / "index.html", 8, True)
    assert held_episodes(tmp_path / "b") == {"0.js": 3, "1.js": 3, "2.js": 2}
    assert not (tmp_path / "b.html").exists()


def held_episodes(folder):
    """Return how many episodes each script of a folder holds."""
    return {file.name: file.read_text().count("carryoverPart(") for file in sorted((folder / "parts").iterdir())}


@pytest.mark.parametrize("name", ["b", "b.html"])
def test_a_folder_that_exists_is_refused_before_pages_are_made(ask, tmp_path, monkeypatch, name):
    monkeypatch.setattr(bundle, "MOST_EPISODES", 7)
    (tmp_path / "b").mkdir()
    asked = []

    def ask_noted(query, **parameters):
        asked.append(query)
        return ask(query, **parameters)

    with pytest.raises(UserError, match="exists already"):
        write_bundle(ask_noted, "plan", tmp_path / name, "true")
    assert viewer_sql("cells") not in asked
    assert [*(tmp_path / "b").iterdir()] == []


@pytest.mark.parametrize("name", ["b.HTML", "b.htm"])
def test_every_spelling_of_html_is_one_file(ask, tmp_path, name):
    write_bundle(ask, "plan", tmp_path / name, "condition = 'P->S'")
    assert (tmp_path / name).is_file()


def test_a_condition_without_episodes_is_refused(ask, tmp_path):
    with pytest.raises(UserError, match="no episode of the plan where score > 2"):
        write_bundle(ask, "plan", tmp_path / "b.html", "score > 2")


def test_a_part_cannot_end_its_script():
    part = pack("episode/e", {"text": "</script><script>alert(1)</script><!--"})
    assert "<" not in part.packed
    assert unpacked(part.packed)["text"].startswith("</script>")


def test_a_report_holds_every_page_and_no_trace(ask, tmp_path):
    write_report_file(ask, "plan", tmp_path / "r.html")
    assert {*parts_of(tmp_path / "r.html")} == {"study", "episodes", "tables", "figures", "training", "suites", "run"}
    assert '"hasEpisodes": false' in (tmp_path / "r.html").read_text()
