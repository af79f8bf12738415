"""The built front end is of its sources, said without Node."""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

ROOM = Path(__file__).parents[3] / "tasks" / "viewer"
WEB = ROOM / "web"
BUILT = ROOM / "built"
SOURCES = ("package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "record.mjs")


def digest(files: Iterable[Path], folder: Path) -> str:
    content = hashlib.sha256()
    for file in sorted(files, key=lambda each: each.relative_to(folder).as_posix()):
        content.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return content.hexdigest()


def test_built_files_are_of_the_current_sources():
    record = json.loads((BUILT / "record.json").read_text())
    sources = [*(WEB / name for name in SOURCES), *(file for file in (WEB / "src").rglob("*") if file.is_file())]
    assert record["sources"] == digest(sources, WEB), "the sources have changed: make viewer"
    assert record["built"] == digest([BUILT / "viewer.css", BUILT / "viewer.js"], BUILT), "changed by hand: make viewer"


def test_built_files_load_nothing_from_elsewhere():
    text = "".join((BUILT / name).read_text() for name in ("viewer.css", "viewer.js"))
    addresses = set(re.findall(r"https?://[\w./-]+", text))
    assert {address for address in addresses if not address.startswith("http://www.w3.org/")} == set()


def test_the_front_end_s_source_runs_no_text_as_markup():
    sources = [file.read_text() for file in (WEB / "src").rglob("*.ts*")]
    assert sources
    forbidden = ("innerHTML", "outerHTML", "dangerouslySetInnerHTML", "insertAdjacentHTML", "eval(", "document.write")
    assert [word for word in forbidden if any(word in source for source in sources)] == []


def test_the_bundle_is_small():
    assert (BUILT / "viewer.js").stat().st_size < 250_000
