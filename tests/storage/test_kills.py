import multiprocessing
import random
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from tests.flattening import flat
from tests.storage.party import work

PROCESSES = multiprocessing.get_context("forkserver")
"""Forks of a process that has imported everything: a hundred starts then take seconds."""
PROCESSES.set_forkserver_preload([work.__module__])
MANY_KILLS = [pytest.mark.slow, pytest.mark.timeout(3600)]


class Party:
    """A process that works until it is killed, and its progress: one line per thing done."""

    def __init__(self, name: str, home: Path) -> None:
        self._name = name
        self._role = name.rstrip("0123456789")
        self._home = home
        self.progress = home / f"{name}.progress"
        self.start()

    def start(self) -> None:
        self._lines_before = self.line_count()
        self._errors = self.progress.with_suffix(".errors")
        self._process = PROCESSES.Process(
            target=work, args=(self._role, self._home, self.progress, self._errors), daemon=True
        )
        self._process.start()

    def line_count(self) -> int:
        return self.progress.read_bytes().count(b"\n") if self.progress.exists() else 0

    def wait_until_it_works(self) -> None:
        while self.line_count() == self._lines_before:
            self.check()
            time.sleep(0.01)

    def check(self) -> None:
        if not self._process.is_alive():
            pytest.fail(f"{self._name} failed by itself:\n{self._errors.read_text()}")

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


@pytest.mark.parametrize(("writer_count", "kill_count"), [(1, 3), pytest.param(4, 100, marks=MANY_KILLS)])
def test_no_acknowledged_episode_is_lost_or_doubled_whoever_is_killed(tmp_path, writer_count, kill_count):
    draw = random.Random(kill_count)
    writers = [f"writer{number}" for number in range(writer_count)]
    parties = {name: Party(name, tmp_path) for name in (*writers, "merger", "reader")}
    # One of each role first, so that few kills try them all.
    names = [writers[0], "merger", "reader", *draw.choices(list(parties), k=kill_count - 3)]
    try:
        for name in names:
            parties[name].wait_until_it_works()
            time.sleep(draw.uniform(0.0, 0.2))
            parties[name].check()
            parties[name].kill()
            parties[name].start()
        for party in parties.values():
            party.wait_until_it_works()
            party.check()
    finally:
        for party in parties.values():
            party.kill()
    acknowledged = flat(parties[writer].progress.read_text().splitlines() for writer in writers)
    merge(tmp_path / "landing", tmp_path / "study.duckdb", grace=timedelta(0))
    with Warehouse.open(tmp_path / "study.duckdb") as warehouse:
        counts = Counter(dict(warehouse.sql("select episode_id, count(*) from episodes group by episode_id").rows()))
        broken = warehouse.sql(
            "from steps select episode_id group by episode_id having count(*) <> 3 or count(distinct code) <> 1"
        ).rows()
        measured = warehouse.sql("select episode_id, count(*) from marts.episode_behaviour group by episode_id").rows()
        readings = warehouse.sql("select count(*) from staging.metric_parameters").rows()[0][0]
    assert set(acknowledged) <= set(counts)
    assert set(counts.values()) == {1}
    # What landed without being acknowledged is the last episode of a killed writer.
    assert len(counts) - len(acknowledged) <= kill_count + len(parties)
    assert broken == []
    assert dict(measured) == dict.fromkeys(counts, readings)
