"""Insert a landing zone into a new warehouse, bare or by the merger, and print what it took as JSON."""

import json
import resource
import sys
import time
from pathlib import Path

import duckdb

from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.migrations import migrate
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone


def _insert_bare(landing: Path, target: Path) -> float:
    connection = duckdb.connect(target)
    migrate(connection)
    started = time.monotonic()
    for table in ("episodes", "steps"):
        files = f"{landing}/{table}/*/*.parquet"
        connection.execute(f"insert into {table} select * from read_parquet('{files}', hive_partitioning = false)")
    connection.close()
    return time.monotonic() - started


def main(kind: str, landing: Path, target: Path) -> None:
    report = {}
    if kind == "bare":
        report["insert_seconds"] = _insert_bare(landing, target)
    else:
        merged = merge(LandingZone(landing), target)
        report = {"insert_seconds": merged.insert_seconds, "total_seconds": merged.seconds}
        with Warehouse.open(target) as warehouse:
            report["step_count"] = warehouse.sql("select count(*) from steps").rows()[0][0]
    usage = resource.getrusage(resource.RUSAGE_SELF)
    report["peak_gigabytes"] = usage.ru_maxrss * 1024 / 1e9
    report["cpu_seconds"] = usage.ru_utime + usage.ru_stime
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
