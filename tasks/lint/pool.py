"""The lint of many traces on several processors, with constant memory."""

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context

from carryover.tasks.lint.lint import TraceLint, lint_trace
from carryover.tasks.readers.trace import Trace

CHUNK_TRACES = 64
ALONE_TRACES = 1_000
"""Traces that this process lints before it starts others: fewer are not worth the start."""
_WAITING_PER_PROCESS = 3


def lint_many(
    traces: Iterable[Trace],
    *,
    tools: Collection[str] | None = None,
    processes: int | None = None,
    alone: int = ALONE_TRACES,
) -> Iterator[TraceLint]:
    """Yield each trace's findings in order, in several processes if many.

    A process that is started imports the program again, so this is for programs whose main module says so.
    """
    source = iter(traces)
    for trace in islice(source, alone):
        yield lint_trace(trace, tools=tools)
    count = processes or len(os.sched_getaffinity(0))
    chunk = list(islice(source, CHUNK_TRACES))
    if not chunk:
        return
    provided = None if tools is None else tuple(tools)
    waiting: deque[Future[list[TraceLint]]] = deque()
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        while chunk:
            waiting.append(pool.submit(_lint_chunk, chunk, provided))
            if len(waiting) >= count * _WAITING_PER_PROCESS:
                yield from waiting.popleft().result()
            chunk = list(islice(source, CHUNK_TRACES))
        for future in waiting:
            yield from future.result()


def _lint_chunk(traces: list[Trace], tools: tuple[str, ...] | None) -> list[TraceLint]:
    return [lint_trace(trace, tools=tools) for trace in traces]
