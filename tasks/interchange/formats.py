"""The formats that `carryover export` writes and `carryover import` reads back."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from carryover.tasks.interchange.atif import read_atif, write_atif
from carryover.tasks.interchange.authors import write_authors
from carryover.tasks.interchange.authors_import import KnownInstance, read_authors
from carryover.tasks.interchange.chat import read_chat, write_chat_jsonl, write_chat_parquet
from carryover.tasks.interchange.imported import ImportedRows
from carryover.tasks.interchange.recorded import RecordedTrace
from carryover.tasks.interchange.setting import ImportSetting
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.whole_files import folder_filled_whole
from carryover.tasks.traces.vocabulary import ExportFormat


def export_traces(traces: Iterable[RecordedTrace], folder: Path, format_name: ExportFormat) -> int:
    """Write episodes under a folder and return their count; files appear there once all are written.

    `authors` and `atif` write files per episode, `jsonl` and `parquet` one file `traces.jsonl` or `traces.parquet`.

    Raises:
        UserError: A file stands where the folder is to be.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"not a folder: {folder}; pass a folder for the episodes")
    with folder_filled_whole(folder) as unfinished:
        match format_name:
            case "authors":
                return len(write_authors(traces, unfinished))
            case "atif":
                return len(write_atif(traces, unfinished))
            case "jsonl":
                return write_chat_jsonl(traces, unfinished / "traces.jsonl")
            case "parquet":
                return write_chat_parquet(traces, unfinished / "traces.parquet")


def import_traces(
    source: Path, setting: ImportSetting, instance_ids: Mapping[KnownInstance, str] | None = None
) -> Iterator[ImportedRows]:
    """Yield the rows of foreign episodes: the authors' files, ATIF trajectories, or a chat data set.

    `source` is a folder with `*.trace.json` or `*.atif.json`, a `.jsonl` or `.parquet` file with `messages`, or a
    folder with one such file. `instance_ids` are the content hashes of known instances.

    Raises:
        UserError: There is nothing at `source`, or it is of no known layout.
    """
    if not source.exists():
        raise UserError(f"nothing to import at {source}; name a folder with *.trace.json, a .jsonl or a .parquet file")
    if source.name.endswith(".atif.json") or (source.is_dir() and next(source.rglob("*.atif.json"), None)):
        return read_atif(source, setting)
    if source.is_dir() and not next(source.rglob("*.trace.json"), None):
        chats = sorted(path for path in source.iterdir() if path.suffix in (".jsonl", ".parquet"))
        if len(chats) == 1:  # a folder that `export` wrote
            return read_chat(chats[0], setting)
    return read_authors(source, setting, instance_ids) if source.is_dir() else read_chat(source, setting)
