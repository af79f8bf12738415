"""Libraries that draw their own bars, print advice and ask the hub; the training's log and bar are ours."""

import logging
import sys
from typing import Any


def quiet_libraries() -> None:
    """Silence the progress bars and notices of the training libraries in this process; their errors still show."""
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # offers an optional package on every import
    # With `kernels` installed its import downloads a kernel for CPUs from the hub, and goes on where that fails.
    modules: dict[str, Any] = sys.modules
    kernels, modules["kernels"] = modules.get("kernels"), None
    try:
        import bitsandbytes  # noqa: F401
    finally:
        del modules["kernels"]
        if kernels is not None:
            modules["kernels"] = kernels
    import datasets
    import transformers

    datasets.disable_progress_bars()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
