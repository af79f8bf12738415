"""Libraries that draw their own bars and print advice; the training's log and bar are ours."""

import logging


def quiet_libraries() -> None:
    """Silence the progress bars and notices of the training libraries in this process; their errors still show."""
    import datasets
    import transformers

    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # offers an optional package on every import
    datasets.disable_progress_bars()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
