"""Foreign traces as a warehouse that lasts until it is closed."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import typer

from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.batching import BatchedLanding
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.readers.import_setting import ImportSetting
from carryover.tasks.readers.importing import import_traces
from carryover.tasks.readers.tally import Tally
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.study_rows import RunEndRow, RunRow

RUN = "viewed"
"""Run and plan of the traces."""


@contextmanager
def foreign_warehouse(source: Path, contract: str) -> Iterator[Warehouse]:
    """Yield a warehouse of the traces at a path, reporting unread ones.

    `contract` is that of recordings that declare none. Raise `UserError` if there is no trace.
    """
    if not source.exists():
        raise UserError(f"no file {source}; name a trace file or a folder")
    setting = ImportSetting(run_id=RUN, runtime_contract=contract, plan=RUN)
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="carryover-view-") as folder:
        zone = LandingZone(Path(folder) / "landing")
        count = 0
        with BatchedLanding(zone, RUN) as batch:
            for rows in import_traces(source, setting, tally=tally):
                batch.add(rows.tables())
                count += 1
        for sentence in tally.sentences():
            typer.echo(sentence, err=True)
        if count == 0:
            raise UserError(f"no trace in {source}; give a file or folder of traces in a known layout")
        zone.write({"runs": [_run(source, setting)], "run_ends": [_end()]}, RUN)
        path = Path(folder) / "warehouse.duckdb"
        merge(zone, path)
        with Warehouse.open(path) as warehouse:
            yield warehouse


def _run(source: Path, setting: ImportSetting) -> RunRow:
    plan = {"source": str(source), "setting": setting.model_dump(mode="json", exclude={"run_id"})}
    return RunRow(
        run_id=RUN,
        flow="import",
        plan_name=source.name,
        plan_digest=setting.plan,
        scale=setting.scale,
        plan_json=json.dumps(plan),
        environment_json="{}",
        started_at=datetime.now(UTC),
    )


def _end() -> RunEndRow:
    return RunEndRow(run_id=RUN, status="finished", message="", finished_at=datetime.now(UTC))
