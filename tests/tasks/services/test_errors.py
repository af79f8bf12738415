import errno

import pytest

from carryover.tasks.services.errors import UserError, first_line, name_write_remedy


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("Too long.\nUse less."), "Too long"),
        (OSError("  no such file  "), "no such file"),
        (KeyError(), "KeyError"),
        (UserError("\n"), "UserError"),
    ],
)
def test_the_first_line_of_an_error_has_no_full_stop(error, line):
    assert first_line(error) == line


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.ENOSPC, "free space there"),
        (errno.EDQUOT, "free space there"),
        (errno.EFBIG, "free space there"),
        (errno.EACCES, "make it writable"),
    ],
)
def test_a_failed_write_says_what_to_do(code, remedy):
    assert name_write_remedy(OSError(code, "cannot")) == remedy
