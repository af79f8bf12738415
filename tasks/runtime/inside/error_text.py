"""Errors as a model reads them: the blocks' traceback, without what later Pythons propose."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import StackSummary, TracebackException
from typing import Any

STEP_FILE_PREFIX = "<step "
_NAME_LIMIT = 1000
_MESSAGE_LIMIT = 100_000


def describe_error(error: BaseException) -> tuple[str, str]:
    """Return the type's name, and a traceback of blocks' frames.

    Causes and contexts are included.
    """
    name = type.__dict__["__name__"].__get__(type(error))[:_NAME_LIMIT]  # a metaclass may have one of its own
    try:
        with _without_proposals(error):
            report = TracebackException.from_exception(error, compact=True)
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


@contextmanager
def _without_proposals(error: BaseException) -> Iterator[None]:
    """Clear, for the length of the block, the names for which Python 3.12 and later propose others.

    A model would read help that depends on the Python, and to find it Python runs `__dir__` of the block's objects.
    """
    cleared = []
    for each in _chain(error):
        for field in _proposing_fields(type(each)):
            cleared.append((field, each, field.__get__(each)))
            field.__set__(each, None)
    try:
        yield
    finally:
        for field, each, value in cleared:
            field.__set__(each, value)


def _proposing_fields(kind: type[BaseException]) -> list[Any]:
    """Return the fields of Python's own classes, whatever a block's class makes of their names."""
    fields = []
    if issubclass(kind, NameError):
        fields.append(NameError.__dict__["name"])
    if issubclass(kind, AttributeError):
        fields.append(AttributeError.__dict__["name"])
    if issubclass(kind, ImportError) and sys.version_info >= (3, 12):
        fields.append(ImportError.__dict__["name_from"])
    return fields


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error with all that its traceback tells of."""
    chain = [error]
    seen = {id(error)}
    for each in chain:
        related = [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            related += each.exceptions
        for other in related:
            if other is not None and id(other) not in seen:
                seen.add(id(other))
                chain.append(other)
    return chain
