"""What the benchmarks make of what they measured."""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Function = tuple[str, int, str]
"""File, line and name, as `pstats` has it."""

PARTS = {
    "tasks.runtime": "runtime, host side",
    "tasks.traces": "recording",
    "tasks.services.syntax": "recording",
    "tasks.agent.recorder": "recording",
    "tasks.agent.reply": "recording",
    "storage": "landing",
    "tasks.knapsack.teachers": "scripted teacher",
    "tasks.agent": "loop, prompts, observations",
    "tasks.knapsack": "tools of the environment",
}
"""Parts of the harness by package; the first that fits counts."""
REST = "event loop"


def makespan(lengths: Iterable[float], places: int) -> float:
    """Return when the last of several pieces of work ends, each begun in its turn as soon as a place is free."""
    free_at = [0.0] * places
    for length in lengths:
        heapq.heapreplace(free_at, free_at[0] + length)
    return max(free_at)


def share_of_harness(wall: float, model_alone: float, dilation: float) -> float:
    """Return the share of an evaluation's wall time that the model alone would not have needed.

    Args:
        wall: Seconds measured while the model answered `dilation` times faster than it would.
        model_alone: Seconds that the model would need at the same concurrency.
        dilation: By what waiting was shortened. What the harness adds was not.
    """
    added = wall - model_alone / dilation
    return added / (model_alone + added)


def proportional_bytes(processes: Iterable[int]) -> int:
    """Return the memory of several processes, pages that they share counted once; those that ended hold none."""
    return sum(_proportional_bytes(Path(f"/proc/{process}/smaps_rollup")) for process in processes)


def peak_resident_bytes() -> int:
    """Return the most memory that this process has held so far."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def seconds_by_part(stats: Mapping[Function, Any]) -> Counter[str]:
    """Return the seconds of a profile by part of the harness; libraries count for the part that called them."""
    seconds = Counter[str]()
    for function, (_, _, own, _, _) in stats.items():
        for part, share in _share_by_part(function, stats, ()).items():
            seconds[part] += own * share
    return seconds


def part_of(file: str) -> str | None:
    """Return the part of the harness that a source file belongs to; none for a library."""
    pieces = Path(file).with_suffix("").parts
    roots = [pieces.index(root) for root in ("tasks", "storage") if root in pieces]
    if not roots or "site-packages" in pieces:
        return None
    module = ".".join(pieces[roots[0] :])
    return next((part for package, part in PARTS.items() if f"{module}.".startswith(f"{package}.")), REST)


def _share_by_part(function: Function, stats: Mapping[Function, Any], seen: tuple[Function, ...]) -> Counter[str]:
    part = part_of(function[0])
    if part is not None:
        return Counter({part: 1.0})
    callers = {caller: times[3] for caller, times in stats[function][4].items() if caller not in seen}
    total = sum(callers.values())
    if not total:
        return Counter({REST: 1.0})
    shares = Counter[str]()
    for caller, seconds in callers.items():
        for name, share in _share_by_part(caller, stats, (*seen, function)).items():
            shares[name] += share * seconds / total
    return shares


def _proportional_bytes(rollup: Path) -> int:
    try:
        lines = rollup.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
