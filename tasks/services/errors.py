"""User errors."""

import errno

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error codes of a full disk, a spent quota, or a file beyond its size limit."""


class UserError(Exception):
    """An error the user can fix.

    Its message is one line with what happened, the value and the way out.
    """


def first_line(error: Exception) -> str:
    """Return the first line of an error's text without its full stop.

    Its type if it has none.
    """
    lines = str(error).strip().splitlines()
    if lines:
        return lines[0].rstrip(".")
    return type(error).__name__


def is_out_of_space(error: OSError) -> bool:
    """Tell whether a write failed for want of space."""
    return error.errno in _NO_SPACE


def name_write_remedy(error: OSError) -> str:
    """Return what the user can do about a failed write."""
    if is_out_of_space(error):
        return "free space there"
    return "make it writable"
