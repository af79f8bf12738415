"""What a bundle's files hold, byte for byte: its pages are made up."""

import base64
import re
from typing import Any

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer import bundle
from carryover.tasks.viewer.built_files import built_file
from carryover.tasks.viewer.bundle import Part, pack, write_bundle, write_report_file
from carryover.tasks.viewer.page import page
from carryover.tasks.viewer.pages import PAGES

ASK: Any = "ask"
EPISODES = [f"e{number}" for number in range(5)]
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "script-src 'self' 'unsafe-inline' file:; style-src 'self' 'unsafe-inline' file:; img-src data:\">"
)
IN_PAGE = [POLICY, f"<style>{built_file('viewer.css')}</style>"]
PROGRAM = f"<script>{built_file('viewer.js')}</script>"


def columns(chosen):
    return {"count": len(chosen), "columns": {"episode_id": list(chosen)}}


@pytest.fixture(autouse=True)
def _made_up_pages(monkeypatch):
    monkeypatch.setattr(bundle, "answer", lambda ask, plan, path: {"asked": [ask, plan, path]})
    monkeypatch.setattr(bundle, "matching_episodes", lambda ask, plan, where: [] if where == "false" else EPISODES)
    monkeypatch.setattr(bundle, "episode_columns", lambda ask, plan, ids=("all",): columns(ids))
    monkeypatch.setattr(bundle, "episode_pages", lambda ask, ids: (episode_page(each) for each in ids))
    monkeypatch.setattr(bundle, "PART_EPISODES", 2)


def episode_page(name):
    return {"episode": {"episode_id": name}, "text": "x" * 50}


def element(part):
    return f'<script type="text/plain" id="part/{part.path}">{part.packed}</script>'


def page_elements(episodes):
    """Return the pages' elements: study and episodes first, and each once."""
    others = [path for path in PAGES if path not in ("study", "episodes")]
    study, *rest = [pack(path, {"asked": ["ask", "plan", path]}) for path in ["study", *others]]
    return [element(part) for part in (study, pack("episodes", columns(episodes)), *rest)]


def episode_parts(*names):
    return [pack(f"episode/{name}", episode_page(name)) for name in names]


def settings(part_episodes, has_episodes):
    return f'<script>window.carryoverBundle={{"partEpisodes": {part_episodes}, "hasEpisodes": {has_episodes}}}</script>'


def write(target, where="true"):
    return write_bundle(ASK, "plan", target, where)


def test_a_file_holds_pages_then_the_program_then_episodes(tmp_path):
    assert write(tmp_path / "b.html") == (tmp_path / "b.html", 5, False)
    episodes = map(element, episode_parts(*EPISODES))
    body = [settings("null", "true"), *page_elements(EPISODES), PROGRAM, *episodes]
    assert (tmp_path / "b.html").read_text() == page(IN_PAGE, body)


@pytest.mark.parametrize("name", ["b.HTML", "b.htm"])
def test_every_spelling_of_html_is_one_file(tmp_path, name):
    assert write(tmp_path / name) == (tmp_path / name, 5, False)


def test_a_report_is_a_file_without_episodes(tmp_path):
    write_report_file(ASK, "plan", tmp_path / "r.html")
    body = [settings("null", "false"), *page_elements(["all"]), PROGRAM]
    assert (tmp_path / "r.html").read_text() == page(IN_PAGE, body)


@pytest.mark.parametrize("again", [lambda file: write_report_file(ASK, "plan", file), write], ids=["report", "bundle"])
def test_write_that_fails_leaves_the_former_file(tmp_path, again, limit_file_size):
    file = tmp_path / "b.html"
    file.write_text("former")
    with limit_file_size(1_000), pytest.raises(OSError, match="File too large"):
        again(file)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["former"]


def test_write_that_fails_leaves_no_folder(tmp_path, limit_file_size):
    with limit_file_size(1_000), pytest.raises(OSError, match="File too large"):
        write(tmp_path / "b")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("limit", [{}, {"MOST_EPISODES": 4}, {"MOST_BYTES": 10}])
def test_a_folder_holds_pages_program_and_episodes_apart(tmp_path, monkeypatch, limit):
    for name, value in limit.items():
        monkeypatch.setattr(bundle, name, value)
    target = tmp_path / ("b.html" if limit else "b")
    assert write(target) == (tmp_path / "b" / "index.html", 5, True)
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
    found = {path.relative_to(tmp_path / "b").as_posix(): path.read_text() for path in (tmp_path / "b").rglob("*.*")}
    body = [settings(2, "true"), *page_elements(EPISODES), '<script src="viewer.js"></script>']
    scripts = [episode_parts("e0", "e1"), episode_parts("e2", "e3"), episode_parts("e4")]
    assert found == {
        "index.html": page([POLICY, '<link rel="stylesheet" href="viewer.css">'], body),
        "viewer.js": built_file("viewer.js"),
        "viewer.css": built_file("viewer.css"),
        **{f"parts/{number}.js": "".join(map(handed_over, script)) for number, script in enumerate(scripts)},
    }


def handed_over(part):
    return f'carryoverPart("{part.path}","{part.packed}");\n'


def test_a_folder_may_lie_in_a_new_one(tmp_path):
    assert write(tmp_path / "new" / "b").path.is_file()


def test_a_file_takes_as_many_episodes_and_bytes_as_it_may(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "MOST_EPISODES", 5)
    size = write(tmp_path / "a.html").path.stat().st_size
    monkeypatch.setattr(bundle, "MOST_BYTES", size)
    assert not write(tmp_path / "b.html").is_folder
    monkeypatch.setattr(bundle, "MOST_BYTES", size - 1)
    assert write(tmp_path / "c.html").is_folder


@pytest.mark.parametrize(
    ("name", "limit", "makes_pages"),
    [("b", {}, False), ("b.html", {"MOST_EPISODES": 4}, False), ("b.html", {"MOST_BYTES": 10}, True)],
)
def test_a_folder_that_is_there_is_left_alone(tmp_path, monkeypatch, name, limit, makes_pages):
    asked = []
    monkeypatch.setattr(bundle, "answer", lambda ask, plan, path: asked.append(path) or {})
    for setting, value in limit.items():
        monkeypatch.setattr(bundle, setting, value)
    (tmp_path / "b").mkdir()
    with pytest.raises(UserError) as refused:
        write(tmp_path / name)
    told = f"{tmp_path / 'b'} exists already, and the episodes need a new folder; choose another --out"
    assert (str(refused.value), bool(asked)) == (told, makes_pages)
    assert [*(tmp_path / "b").iterdir()] == []


def test_no_episode_is_no_bundle(tmp_path):
    with pytest.raises(UserError, match=r"^no episode of the plan where false; choose another --where$"):
        write(tmp_path / "b.html", "false")
    assert [*tmp_path.iterdir()] == []


def test_equal_values_are_packed_into_equal_bytes():
    assert base64.b64decode(pack("p", {"x": 1}).packed)[4:8] == bytes(4)  # no time of packing


def test_no_text_leaves_its_place_on_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "built_file", lambda name: "'</script>' + '<!--'")
    monkeypatch.setattr(bundle, "answer", lambda ask, plan, path: {})
    monkeypatch.setattr(bundle, "pack", lambda path, values: Part(f'{path}"&', "x"))
    write_report_file(ASK, "plan", tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "<script>'<\\/script>' + '<\\!--'</script>" in text
    assert re.findall('id="part/([^"]*)"', text)[:2] == ["study&quot;&amp;", "episodes&quot;&amp;"]
