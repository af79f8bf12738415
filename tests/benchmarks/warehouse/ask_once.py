"""Make a large warehouse file, ask it for every table and check as a reader does, and print what it took as JSON."""

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from conftest import add_episodes, add_statistics  # beside this file, which is run as a script

from carryover.storage.warehouse.connection import open_for_writing
from carryover.storage.warehouse.marts import refresh_marts
from carryover.storage.warehouse.migrations import migrate
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.queries import table_names, table_query
from carryover.tasks.knapsack.environment import describe_tools
from carryover.tasks.stages.gate import check_files

NEW_EPISODES = 1_000
WARM_PASSES = 3


class _Seconds(NamedTuple):
    wall: float
    cpu: float


class _Watch:
    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> _Seconds:
        return _Seconds(time.perf_counter() - self._wall, time.process_time() - self._cpu)


def _fill(path: Path, episode_count: int) -> dict[str, Any]:
    connection = open_for_writing(path)
    migrate(connection)
    watch = _Watch()
    add_episodes(connection, 0, episode_count)
    report: dict[str, Any] = {"rows": watch.read()}
    watch = _Watch()
    refresh_marts(connection)
    report["rebuild"] = watch.read()
    add_episodes(connection, episode_count, episode_count + NEW_EPISODES)
    watch = _Watch()
    report["refresh"] = refresh_marts(connection)
    report["increment"] = watch.read()
    report["statistic_count"] = add_statistics(connection)
    watch = _Watch()
    refresh_marts(connection)
    report["statistics_into_marts"] = watch.read()
    connection.execute("checkpoint")
    connection.close()
    return report


def _ask_for_tables(warehouse: Warehouse) -> dict[str, Any]:
    known = {"plan_digest": "plan", "tools_json": json.dumps(describe_tools())}
    queries = [table_query(name) for name in table_names()]
    passes, row_counts = [], {}
    for _ in range(1 + WARM_PASSES):
        watch = _Watch()
        for query in queries:
            rows = warehouse.sql(query.sql, **{name: known[name] for name in query.parameters})
            row_counts[query.name] = len(rows)
        passes.append(watch.read())
    return {"first": passes[0], "warm": min(passes[1:]), "row_counts": row_counts}


def _ask_for_checks(warehouse: Warehouse) -> dict[str, Any]:
    seconds, offender_count = {}, 0
    for check in check_files():
        watch = _Watch()
        offender_count += len(warehouse.sql(check.query))
        seconds[check.name] = watch.read()
    total = _Seconds(*map(sum, zip(*seconds.values(), strict=True)))
    slowest = max(seconds, key=lambda name: seconds[name].cpu)
    return {"checks": total, "offender_count": offender_count, "slowest_check": [slowest, seconds[slowest].cpu]}


def main(path: Path, episode_count: int) -> None:
    report = _fill(path, episode_count)
    with Warehouse.open(path) as warehouse:
        report |= _ask_for_tables(warehouse) | _ask_for_checks(warehouse)
    report["file_gigabytes"] = path.stat().st_size / 1e9
    report["peak_gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
