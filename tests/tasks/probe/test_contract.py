"""A claim asserted in a test, and what the host of a runtime hides."""

import gc

import pytest

from carryover.tasks.probe.channels import CHANNELS
from carryover.tasks.probe.connectors.kernel import KernelRuntime
from carryover.tasks.probe.connectors.own import OwnRuntime
from carryover.tasks.probe.contract import assert_contract
from tests.tasks.probe.planted import DropsNamesAfterError, Namespace

NAME = {"global": CHANNELS["global"]}


def test_a_runtime_that_keeps_its_claim_passes():
    assert_contract(Namespace(), "persistent", NAME)


def test_a_runtime_that_breaks_its_claim_fails_with_every_breach():
    with pytest.raises(AssertionError) as failed:
        assert_contract(DropsNamesAfterError(), "persistent", NAME)
    assert str(failed.value).splitlines() == [
        "DropsNamesAfterError is not persistent:",
        "global: lost after an error",
        "name of a failed block: lost after an error",
    ]


@pytest.mark.parametrize("runtime", [OwnRuntime("persistent"), KernelRuntime()], ids=["own", "kernel"])
def test_what_a_runtime_hides_is_held_by_this_process(runtime):
    token = f"hidden {id(runtime)}"
    runtime.hide(token)
    assert any(token in held for held in gc.get_objects() if type(held) is list)
