"""Static bundles: the viewer's pages as a file or folder.

They open from `file://`, without a server.
"""

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.whole_files import folder_written_whole, write_whole
from carryover.tasks.viewer.built_files import built_file
from carryover.tasks.viewer.episode_columns import episode_columns, matching_episodes
from carryover.tasks.viewer.episode_page import episode_pages
from carryover.tasks.viewer.page import page
from carryover.tasks.viewer.pages import PAGES, answer, as_json
from carryover.tasks.viewer.warehouse_rows import Ask

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


def write_bundle(ask: Ask, plan_digest: str, target: Path, where: str) -> int:
    """Write a plan's pages and chosen episodes; return their count.

    A target that ends with `.html` or `.htm` becomes one file, any other a folder with `index.html`.

    Raises:
        UserError: No episode fulfils the condition, the file would be too large, or the folder exists.
    """
    chosen = episode_columns(ask, plan_digest, matching_episodes(ask, plan_digest, where))
    episode_ids: list[str] = chosen["columns"]["episode_id"]
    if not episode_ids:
        raise UserError(f"no episode of the plan where {where}; choose another --where")
    is_file = target.suffix.lower() in FILE_ENDINGS
    if is_file:
        _refuse_many(target, len(episode_ids))
    else:
        _refuse_existing(target)
    pages = _page_parts(ask, plan_digest, chosen)
    if is_file:
        _write_file(target, pages, _episode_parts(ask, episode_ids), has_episodes=True)
    else:
        _write_folder(target, pages, ask, episode_ids)
    return len(episode_ids)


def write_report_file(ask: Ask, plan_digest: str, target: Path) -> None:
    """Write a plan's pages as one file, without traces."""
    pages = _page_parts(ask, plan_digest, episode_columns(ask, plan_digest))
    _write_file(target, pages, iter(()), has_episodes=False)


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


def _refuse_many(target: Path, count: int) -> None:
    if count > MOST_EPISODES:
        said = f"{count:,} episodes are too many for one file, which holds {MOST_EPISODES:,}"
        raise UserError(f"{said}; {_ways_out(target)}")


def _refuse_existing(target: Path) -> None:
    if target.exists():
        raise UserError(f"{target} exists already; name a new folder, or a file that ends with .html")


def _ways_out(target: Path) -> str:
    return f"`--out {target.with_suffix('')}` writes a folder, and --where chooses fewer"


def _episode_parts(ask: Ask, episode_ids: Sequence[str]) -> Iterator[Part]:
    for few in _groups(episode_ids):
        for values in episode_pages(ask, few):
            yield pack(f"episode/{values['episode']['episode_id']}", values)


def _groups(episode_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(episode_ids), PART_EPISODES):
        yield episode_ids[start : start + PART_EPISODES]


def _write_file(target: Path, pages: Sequence[Part], episodes: Iterator[Part], *, has_episodes: bool) -> None:
    """Write one page: first screen, program, then episodes."""
    body = [
        _bundle_script(None, has_episodes=has_episodes),
        *map(_element, pages),
        f"<script>{_script_text('viewer.js')}</script>",
    ]
    body += map(_element, episodes)
    text = page([_POLICY, f"<style>{built_file('viewer.css')}</style>"], body)
    size = len(text.encode())
    if size > MOST_BYTES:
        raise UserError(f"the file would have {size / 1e6:.0f} MB; {_ways_out(target)}")
    write_whole(target, text)


def _write_folder(target: Path, pages: Sequence[Part], ask: Ask, episode_ids: Sequence[str]) -> None:
    with folder_written_whole(target) as folder:
        folder.mkdir(parents=True)
        for name in ("viewer.js", "viewer.css"):
            (folder / name).write_text(built_file(name), encoding="utf-8")
        (folder / "parts").mkdir()
        for number, few in enumerate(_groups(episode_ids)):
            script = "".join(map(_call, _episode_parts(ask, few)))
            (folder / "parts" / f"{number}.js").write_text(script, encoding="utf-8")
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
    told = {"partEpisodes": part_episodes, "hasEpisodes": has_episodes}
    return f"<script>window.carryoverBundle={json.dumps(told)}</script>"


def _script_text(name: str) -> str:
    return built_file(name).replace("</script", "<\\/script").replace("<!--", "<\\!--")
