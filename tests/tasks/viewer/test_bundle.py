"""Static bundles: one file or a folder, without a server."""

import re

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer import bundle
from carryover.tasks.viewer.bundle import pack, write_bundle, write_report_file
from carryover.tasks.viewer.warehouse_rows import viewer_sql
from tests.tasks.viewer.bundle_parts import parts_of, unpacked


def test_one_file_holds_pages_and_episodes(ask, tmp_path):
    count = write_bundle(ask, "plan", tmp_path / "b.html", "true")
    parts = parts_of(tmp_path / "b.html")
    assert count == 8
    assert {"study", "run", "episodes", "episode/pp1", "episode/ss2"} <= {*parts}
    assert parts["episode/ps1"]["missing"][0]["name"] == "items"


def test_one_file_names_no_other_file(ask, tmp_path):
    write_bundle(ask, "plan", tmp_path / "b.html", "true")
    assert re.findall(r'(?:src|href)="(?!data:)[^"]*"', (tmp_path / "b.html").read_text()) == []


def test_a_condition_chooses_the_episodes_of_a_bundle(ask, tmp_path):
    assert write_bundle(ask, "plan", tmp_path / "b.html", "condition = 'P->S'") == 2
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


def test_more_episodes_than_one_file_takes_are_refused(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "MOST_EPISODES", 7)
    with pytest.raises(UserError, match="8 episodes are too many for one file, which holds 7") as refused:
        write_bundle(ask, "plan", tmp_path / "b.html", "true")
    assert f"`--out {tmp_path / 'b'}` writes a folder" in str(refused.value)
    assert not (tmp_path / "b.html").exists()


def test_too_many_episodes_are_refused_before_pages_are_made(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "MOST_EPISODES", 7)
    asked = []

    def ask_noted(query, **parameters):
        asked.append(query)
        return ask(query, **parameters)

    with pytest.raises(UserError, match="too many"):
        write_bundle(ask_noted, "plan", tmp_path / "b.html", "true")
    assert viewer_sql("cells") not in asked


@pytest.mark.parametrize("name", ["b.HTML", "b.htm"])
def test_every_spelling_of_html_is_one_file(ask, tmp_path, name):
    write_bundle(ask, "plan", tmp_path / name, "condition = 'P->S'")
    assert (tmp_path / name).is_file()


def test_a_file_that_grows_too_large_is_refused(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "MOST_BYTES", 1_000)
    with pytest.raises(UserError, match="writes a folder, and --where chooses fewer"):
        write_bundle(ask, "plan", tmp_path / "b.html", "true")


def test_a_condition_without_episodes_is_refused(ask, tmp_path):
    with pytest.raises(UserError, match="no episode of the plan where score > 2"):
        write_bundle(ask, "plan", tmp_path / "b.html", "score > 2")


def test_a_folder_that_exists_is_left_alone(ask, tmp_path):
    (tmp_path / "b").mkdir()
    with pytest.raises(UserError, match="exists already"):
        write_bundle(ask, "plan", tmp_path / "b", "true")
    assert [*(tmp_path / "b").iterdir()] == []


def test_a_part_cannot_end_its_script():
    part = pack("episode/e", {"text": "</script><script>alert(1)</script><!--"})
    assert "<" not in part.packed
    assert unpacked(part.packed)["text"].startswith("</script>")


def test_a_report_holds_every_page_and_no_trace(ask, tmp_path):
    write_report_file(ask, "plan", tmp_path / "r.html")
    assert {*parts_of(tmp_path / "r.html")} == {"study", "episodes", "tables", "figures", "training", "suites", "run"}
    assert '"hasEpisodes": false' in (tmp_path / "r.html").read_text()
