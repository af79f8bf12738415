"""Batched landing of episodes: few files, little lost by a kill."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Self

from carryover.storage.errors import StorageError, UnreachableZoneError
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.traces.rows import Row

_SECOND = partial(asyncio.sleep, 1.0)


class BatchedLanding:
    """A buffer of rows that lands when full, old or closed.

    Rows that were added are landed also when the block around it raises: a failed episode is data, and so are those
    that ended before a failure. Use it from one thread.
    """

    def __init__(
        self,
        zone: LandingZone,
        run_id: str,
        *,
        episodes_per_batch: int = 50,
        seconds_per_batch: float = 20.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._zone = zone
        self._run_id = run_id
        self._episodes_per_batch = episodes_per_batch
        self._seconds_per_batch = seconds_per_batch
        self._clock = clock
        self._rows: dict[str, list[Row]] = defaultdict(list)
        self._episode_count = 0
        self._last_landed = clock()

    def add(self, rows_by_table: Mapping[str, Sequence[Row]]) -> None:
        """Take one episode's rows.

        Land the batch if it is full or old.
        """
        for table, rows in rows_by_table.items():
            self._rows[table].extend(rows)
        self._episode_count += 1
        if self._episode_count >= self._episodes_per_batch:
            self.flush()
        elif self._is_old():
            with suppress(UnreachableZoneError):  # it may answer before the batch is full
                self.flush()

    async def land_regularly(self, pause: Callable[[], Awaitable[None]] = _SECOND) -> None:
        """Land an old batch after every pause, until cancelled.

        The next episode may end much later.

        What cannot be landed is tried again, and its error raised, with the next episode or at the end.
        """
        while True:
            await pause()
            if self._is_old():
                with suppress(StorageError):
                    self.flush()

    def flush(self) -> None:
        """Land what was added since the last batch.

        What cannot be landed stays to be tried again.
        """
        if self._episode_count:
            self._zone.write(self._rows, self._run_id)
            self._rows = defaultdict(list)
            self._episode_count = 0
        self._last_landed = self._clock()

    def _is_old(self) -> bool:
        return self._clock() - self._last_landed >= self._seconds_per_batch

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.flush()
