"""The formats that `carryover export` writes; `tasks/readers` reads them back."""

from collections.abc import Iterable
from pathlib import Path

from carryover.tasks.interchange.atif import write_atif
from carryover.tasks.interchange.authors import write_authors
from carryover.tasks.interchange.chat import write_chat_jsonl, write_chat_parquet
from carryover.tasks.interchange.inspect_log import write_inspect
from carryover.tasks.interchange.openinference import write_openinference
from carryover.tasks.interchange.recorded import RecordedTrace
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.whole_files import folder_filled_whole
from carryover.tasks.traces.vocabulary import ExportFormat


def export_traces(traces: Iterable[RecordedTrace], folder: Path, format_name: ExportFormat) -> int:
    """Write episodes under a folder, all or none; return their count.

    `authors` and `atif` write a file per episode, `inspect` one per cell, `jsonl`, `parquet` and `openinference` one:
    `traces.jsonl`, `traces.parquet` or `spans.jsonl`.

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
            case "inspect":
                return write_inspect(traces, unfinished)
            case "openinference":
                return write_openinference(traces, unfinished / "spans.jsonl")
            case "jsonl":
                return write_chat_jsonl(traces, unfinished / "traces.jsonl")
            case "parquet":
                return write_chat_parquet(traces, unfinished / "traces.parquet")
