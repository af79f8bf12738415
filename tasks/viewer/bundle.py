"""Static bundles: the viewer's pages as a file or folder.

They open from `file://`, without a server.
"""

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from carryover.tasks.analysis.asking import Ask
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.whole_files import folder_written_whole, write_whole
from carryover.tasks.viewer.built_files import built_file
from carryover.tasks.viewer.episode_columns import episode_columns, matching_episodes
from carryover.tasks.viewer.episode_page import episode_pages
from carryover.tasks.viewer.page import page
from carryover.tasks.viewer.pages import PAGES, answer, as_json

MOST_EPISODES = 1_000
"""Episodes of a bundle in one file."""
MOST_BYTES = 20_000_000
"""Size of a bundle in one file."""
FILE_ENDINGS = (".html", ".htm")
PART_EPISODES = 200
"""Episodes of a script in a folder: about a megabyte."""
_SOURCES = "'self' 'unsafe-inline' file:"
_POLICY = (
    '<meta http-equiv="Content-Security-Policy" '
    f"content=\"default-src 'none'; script-src {_SOURCES}; style-src {_SOURCES}; img-src data:\">"
)


class Part(NamedTuple):
    """The values of a path, packed."""

    path: str
    packed: str
    """Base64 of gzip of JSON: letters that end no script and no string."""


class Written(NamedTuple):
    """A bundle on the disk."""

    path: Path
    """The file, or the folder's `index.html`."""
    episode_count: int
    is_folder: bool


def write_bundle(ask: Ask, plan_digest: str, target: Path, where: str) -> Written:
    """Write a plan's pages and chosen episodes.

    A target that ends with `.html` or `.htm` becomes one file. Where that would exceed `MOST_EPISODES` or `MOST_BYTES`,
    the target without its ending becomes a folder, as any other target does.

    Raises:
        UserError: No episode fulfils the condition, or the folder exists.
    """
    chosen = episode_columns(ask, plan_digest, matching_episodes(ask, plan_digest, where))
    episode_ids: list[str] = chosen["columns"]["episode_id"]
    if not episode_ids:
        raise UserError(f"no episode of the plan where {where}; choose another --where")
    folder = _folder_of(target)
    may_be_file = folder != target and len(episode_ids) <= MOST_EPISODES
    if not may_be_file:
        _refuse_existing(folder)
    pages = _page_parts(ask, plan_digest, chosen)
    groups = _episode_groups(ask, episode_ids)
    if may_be_file:
        empty = _file_text(pages, (), has_episodes=True)
        taken = _take(groups, MOST_BYTES - len(empty.encode()))
        if taken.fits:
            write_whole(target, _file_text(pages, chain.from_iterable(taken.groups), has_episodes=True))
            return Written(target, len(episode_ids), is_folder=False)
        _refuse_existing(folder)
        groups = chain(taken.groups, groups)
    _write_folder(folder, pages, groups)
    return Written(folder / "index.html", len(episode_ids), is_folder=True)


def write_report_file(ask: Ask, plan_digest: str, target: Path) -> None:
    """Write a plan's pages as one file, without traces."""
    pages = _page_parts(ask, plan_digest, episode_columns(ask, plan_digest))
    write_whole(target, _file_text(pages, (), has_episodes=False))


def _page_parts(ask: Ask, plan_digest: str, episodes: dict[str, Any]) -> list[Part]:
    """Return the parts of all pages but the episodes', in order.

    What the first screen shows comes first.
    """
    parts = [pack("study", answer(ask, plan_digest, "study")), pack("episodes", episodes)]
    return parts + [pack(path, answer(ask, plan_digest, path)) for path in PAGES if path not in ("study", "episodes")]


def pack(path: str, values: dict[str, Any]) -> Part:
    """Return the part of a path."""
    packed = gzip.compress(as_json(values).encode(), compresslevel=6, mtime=0)
    return Part(path, base64.b64encode(packed).decode())


def _folder_of(target: Path) -> Path:
    """Return the folder for what one file does not hold."""
    if target.suffix.lower() in FILE_ENDINGS:
        return target.with_suffix("")
    return target


def _refuse_existing(folder: Path) -> None:
    if folder.exists():
        raise UserError(f"{folder} exists already, and the episodes need a new folder; choose another --out")


def _episode_groups(ask: Ask, episode_ids: Sequence[str]) -> Iterator[list[Part]]:
    """Yield the episodes' parts, `PART_EPISODES` at a time."""
    for start in range(0, len(episode_ids), PART_EPISODES):
        pages = episode_pages(ask, episode_ids[start : start + PART_EPISODES])
        yield [pack(f"episode/{values['episode']['episode_id']}", values) for values in pages]


class _Taken(NamedTuple):
    """The first groups of episodes."""

    groups: list[list[Part]]
    fits: bool
    """Whether these are all, within the size."""


def _take(groups: Iterator[list[Part]], most_bytes: int) -> _Taken:
    """Take groups up to the one that exceeds a size."""
    held: list[list[Part]] = []
    size = 0
    for group in groups:
        held.append(group)
        size += sum(len(_element(part).encode()) + 1 for part in group)
        if size > most_bytes:
            return _Taken(held, fits=False)
    return _Taken(held, fits=True)


def _file_text(pages: Iterable[Part], episodes: Iterable[Part], *, has_episodes: bool) -> str:
    """Return one page: first screen, program, then episodes."""
    body = [
        _bundle_script(None, has_episodes=has_episodes),
        *map(_element, pages),
        f"<script>{_script_text('viewer.js')}</script>",
        *map(_element, episodes),
    ]
    return page([_POLICY, f"<style>{built_file('viewer.css')}</style>"], body)


def _write_folder(target: Path, pages: Iterable[Part], groups: Iterable[list[Part]]) -> None:
    with folder_written_whole(target) as folder:
        folder.mkdir(parents=True)
        for name in ("viewer.js", "viewer.css"):
            (folder / name).write_text(built_file(name), encoding="utf-8")
        (folder / "parts").mkdir()
        for number, group in enumerate(groups):
            (folder / "parts" / f"{number}.js").write_text("".join(map(_call, group)), encoding="utf-8")
        body = [
            _bundle_script(PART_EPISODES, has_episodes=True),
            *map(_element, pages),
            '<script src="viewer.js"></script>',
        ]
        text = page([_POLICY, '<link rel="stylesheet" href="viewer.css">'], body)
        (folder / "index.html").write_text(text, encoding="utf-8")


def _element(part: Part) -> str:
    name = part.path.replace("&", "&amp;").replace('"', "&quot;")
    return f'<script type="text/plain" id="part/{name}">{part.packed}</script>'


def _call(part: Part) -> str:
    """Return a script's line that hands a part over."""
    return f"carryoverPart({json.dumps(part.path)},{json.dumps(part.packed)});\n"


def _bundle_script(part_episodes: int | None, *, has_episodes: bool) -> str:
    """Return the script that tells the program how its parts are stored."""
    settings = {"partEpisodes": part_episodes, "hasEpisodes": has_episodes}
    return f"<script>window.carryoverBundle={json.dumps(settings)}</script>"


def _script_text(name: str) -> str:
    return built_file(name).replace("</script", "<\\/script").replace("<!--", "<\\!--")
