import logging

import pytest

from carryover.tasks.runtime.inside.adapting import _is_no_delay


@pytest.mark.parametrize(
    ("message", "is_shown"),
    [("Matplotlib is building the font cache; this may take a moment.", False), ("findfont: not found", True)],
)
def test_the_font_caches_delay_is_not_told(message, is_shown):
    record = logging.LogRecord("matplotlib.font_manager", logging.WARNING, "", 1, message, (), None)
    assert _is_no_delay(record) is is_shown
