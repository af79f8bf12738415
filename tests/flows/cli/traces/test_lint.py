"""Against which runtime the command `lint` judges."""

import pytest

from carryover.flows.cli.traces.lint import choose_losses
from carryover.tasks.lint.against import losses_of
from carryover.tasks.services.errors import UserError


def test_one_runtime_is_judged_against():
    assert choose_losses(None, None) == losses_of("stateless")
    assert choose_losses("fresh-process", None) == losses_of("fresh-process")
    with pytest.raises(UserError, match=r"^--against and --runtime both name a runtime; give one$"):
        choose_losses("stateless", "smolagents")
    with pytest.raises(UserError, match="nowhere"):
        choose_losses(None, "nowhere")
