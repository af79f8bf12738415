"""Rows of the episodes in files and folders, whatever their layout."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from carryover.tasks.readers.episode_rows import ImportedRows, import_trace
from carryover.tasks.readers.import_setting import ImportSetting
from carryover.tasks.readers.layouts.authors import LAYOUT as AUTHORS_LAYOUT
from carryover.tasks.readers.reading import read_traces
from carryover.tasks.readers.tally import Tally
from carryover.tasks.readers.trace import InstanceDescription, Trace
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.rows import EpisodeRow


def import_traces(
    source: Path,
    setting: ImportSetting,
    instance_ids: Mapping[InstanceDescription, str] | None = None,
    tally: Tally | None = None,
) -> Iterator[ImportedRows]:
    """Yield rows of the episodes at a path; count unread ones.

    What a recording declares goes before the setting. `instance_ids` are the content hashes of known instances; any
    other task becomes an instance of its own name. A further episode of the same cell and instance is a replicate.

    Raises:
        UserError: There is nothing at `source`, or two of the authors' files are of one task, contract and model,
            which their files do not name.
    """
    counted = Tally() if tally is None else tally
    seen: dict[tuple[object, ...], Trace] = {}
    replicates: dict[tuple[object, ...], int] = {}
    for trace in read_traces(source, counted):
        instance_id = None if trace.described is None else (instance_ids or {}).get(trace.described)
        try:
            rows = import_trace(trace, setting, instance_id=instance_id)
        except ValidationError as error:
            counted.layouts[trace.layout] -= 1
            counted.skip("an episode with an invalid value", f"{trace.trace_id}: {_said(error)}")
            continue
        cell = tuple(getattr(rows.episode, name) for name in EpisodeRow.SAME_EPISODE)
        if trace.layout == AUTHORS_LAYOUT and "model_name" not in trace.columns:
            _refuse_second(trace, seen.setdefault(cell, trace))
        number = replicates.get(cell, 0)
        replicates[cell] = number + 1
        yield rows if not number else _as_replicate(rows, rows.episode.replicate + number)


def _refuse_second(trace: Trace, first: Trace) -> None:
    if first is not trace:
        raise UserError(
            f"{first.place} and {trace.place} are the same task under the same contracts; import one model's folder at "
            "a time, each with its --model and --plan"
        )


def _as_replicate(rows: ImportedRows, replicate: int) -> ImportedRows:
    return rows._replace(episode=rows.episode.model_copy(update={"replicate": replicate}))


def _said(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))} {first['input']!r:.60}: {first['msg']}"
