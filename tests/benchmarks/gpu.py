"""What a GPU can do by its data sheet, and how much of its memory is taken while something runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from carryover.tasks.sft.resources import GIB, PEAK_FLOPS

PEAKS = {"H100 PCIe": 756e12, "H100": PEAK_FLOPS["H100"], "H200": PEAK_FLOPS["H100"],
         "A100": PEAK_FLOPS["A100"]}  # fmt: skip
"""Dense bfloat16 operations per second by what the driver's name of the device holds (vendor's data sheets)."""
QWEN3_ROPE = {"rope_type": "default", "rope_theta": 1e6}
"""Qwen3-8B's rotary embedding (its published configuration); the library's own default is another."""
SAMPLE_SECONDS = 0.5


def peak_flops(device_name: str) -> float | None:
    """Return a device's operations per second; none for one that the table lacks."""
    return next((peak for words, peak in PEAKS.items() if words in device_name), None)


def utilisation_in_words(operations_per_second: float, peak: float | None) -> str:
    """Return the share of the peak, or that it is not known."""
    if peak is None:
        return "unknown device: no utilisation"
    return f"model-flops utilisation {operations_per_second / peak:.1%}"


class MemoryUse:
    """Memory of the current device, in GiB, that all processes together hold."""

    peak: float = 0.0

    def sample(self) -> None:
        """Look once."""
        import torch

        free, total = torch.cuda.mem_get_info()
        self.peak = max(self.peak, (total - free) / GIB)


@contextmanager
def watched_memory() -> Iterator[MemoryUse]:
    """Sample the device's memory until the block ends; servers in processes of their own count."""
    use, is_over = MemoryUse(), threading.Event()

    def watch() -> None:
        while not is_over.wait(SAMPLE_SECONDS):
            use.sample()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield use
    finally:
        is_over.set()
        thread.join()
