"""What a block's exception becomes: its type, and a traceback that shows the agent's own frames only."""

import traceback

STEP_FILE_PREFIX = "<step "
_NAME_LIMIT, _MESSAGE_LIMIT = 1000, 100_000


def describe_error(error: BaseException) -> tuple[str, str]:
    """Return the exception's type name and the text of the observation.

    The text is a traceback cut to frames of executed blocks, causes and contexts included, and the exception line.
    """
    name = type(error).__name__[:_NAME_LIMIT]
    try:
        report = traceback.TracebackException.from_exception(error, compact=True)
        _keep_own_frames(report)
        text = "".join(report.format()).rstrip("\n")
    except Exception as failure:  # noqa: BLE001 - an exception whose own code fails while it is shown
        text = f"{name}: (its message cannot be shown: {type(failure).__name__})"
    if len(text) > _MESSAGE_LIMIT:
        half = _MESSAGE_LIMIT // 2
        text = f"{text[:half]}\n... [{len(text) - _MESSAGE_LIMIT} characters left out] ...\n{text[-half:]}"
    return name, text


def _keep_own_frames(report: traceback.TracebackException) -> None:
    frames = [frame for frame in report.stack if frame.filename.startswith(STEP_FILE_PREFIX)]
    report.stack = traceback.StackSummary.from_list(frames)
    related = [report.__cause__, report.__context__, *(report.exceptions or ())]
    for other in related:
        if other is not None:
            _keep_own_frames(other)
