"""Errors as a model reads them: the blocks' traceback, without Python's suggestions of other names."""

import sys
from traceback import StackSummary, TracebackException

STEP_FILE_PREFIX = "<step "
_NAME_LIMIT = 1000
_MESSAGE_LIMIT = 100_000
_ADDS_SUGGESTIONS = sys.version_info >= (3, 12)
_WITH_SUGGESTIONS = (NameError, AttributeError, ImportError)


def describe_error(error: BaseException) -> tuple[str, str]:
    """Return the type's name, and a traceback of blocks' frames.

    Causes and contexts are included.
    """
    name = type.__dict__["__name__"].__get__(type(error))[:_NAME_LIMIT]  # a metaclass may have one of its own
    try:
        report = TracebackException.from_exception(error, compact=True)
        _drop_suggestions(report, error)
        _keep_own_frames(report)
        text = "".join(report.format()).rstrip("\n")
    except Exception as failure:  # noqa: BLE001 - an exception whose own code fails while it is shown
        text = f"{name}: (its message cannot be shown: {type(failure).__name__})"
    if len(text) > _MESSAGE_LIMIT:
        half = _MESSAGE_LIMIT // 2
        text = f"{text[:half]}\n... [{len(text) - _MESSAGE_LIMIT} characters left out] ...\n{text[-half:]}"
    return name, text


def _keep_own_frames(report: TracebackException) -> None:
    frames = [frame for frame in report.stack if frame.filename.startswith(STEP_FILE_PREFIX)]
    report.stack = StackSummary.from_list(frames)
    related = [report.__cause__, report.__context__, *(report.exceptions or ())]
    for other in related:
        if other is not None:
            _keep_own_frames(other)


def _drop_suggestions(report: TracebackException, error: BaseException) -> None:
    """Give errors on missing names, attributes and imports their own text alone.

    From 3.12 on, Python adds suggestions of other names: a model would get help on some machines and none on others.
    """
    if not _ADDS_SUGGESTIONS:
        return
    if issubclass(type(error), _WITH_SUGGESTIONS):
        report._str = _own_text(error)  # pyright: ignore[reportAttributeAccessIssue] - what `format` prints
    related = [(report.__cause__, error.__cause__), (report.__context__, error.__context__)]
    if report.exceptions is not None and isinstance(error, BaseExceptionGroup):
        related += zip(report.exceptions, error.exceptions, strict=True)
    for other_report, other in related:
        if other_report is not None and other is not None:
            _drop_suggestions(other_report, other)


def _own_text(error: BaseException) -> str:
    """Return an error's message, or Python's placeholder where the class fails to give it."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a block's class may raise anything; the traceback around it stays whole
        return "<exception str() failed>"
