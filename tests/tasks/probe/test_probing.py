import subprocess
import sys

import pytest

from carryover.tasks.probe.channels import CHANNELS
from carryover.tasks.probe.connectors.own import OwnRuntime
from carryover.tasks.probe.contract import assert_contract
from carryover.tasks.probe.probing import FAILED_BLOCK, probe
from carryover.tasks.probe.verdict import OUTSIDE, breaches, is_promised
from carryover.tasks.services.errors import UserError
from tests.tasks.probe.planted import (
    DropsFailedBlock,
    DropsNamesAfterError,
    FreezesGlobals,
    LeaksOne,
    LosesOne,
    Namespace,
    PrintsNothing,
    ReadsLostNamesAsNone,
    StaleAfterReset,
    fresh_command,
    persistent_command,
)

NAMES = {name: CHANNELS[name] for name in ("global", "import", "definition")}
NOT_IN_EXEC = {"last value", "event loop"}
"""Channels that only an interactive interpreter has."""
LEAKS = sorted(CHANNELS.keys() - NOT_IN_EXEC - {"numpy random state"})  # as random state, and its import takes seconds
PROMISED = sorted(name for name in CHANNELS.keys() - NOT_IN_EXEC if is_promised(name))


def beside_names(name):
    return {"global": CHANNELS["global"], name: CHANNELS[name]}


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_of_one_channel_is_found(name):
    report = probe(LeaksOne(CHANNELS[name].write), "leaky", beside_names(name))
    assert breaches(report, "stateless") == [f"{name}: kept after a block", f"{name}: kept after an error"]


@pytest.mark.parametrize("name", PROMISED)
def test_a_loss_of_one_channel_is_found(name):
    report = probe(LosesOne(CHANNELS[name].write), "lossy", beside_names(name))
    assert breaches(report, "persistent") == [f"{name}: lost after a block", f"{name}: lost after an error"]


def test_a_persistent_command_keeps_every_promised_channel():
    assert_contract(persistent_command(), "persistent")
    report = probe(persistent_command(), "command")
    assert {name for name in CHANNELS if report.channels[name].get("block") == "kept"} >= set(PROMISED)


def test_fresh_processes_leave_files_and_processes_only():
    with pytest.raises(AssertionError) as failure:
        assert_contract(fresh_command(), "stateless")
    head, *found = str(failure.value).splitlines()
    assert head == "CommandRuntime is not stateless:"
    assert {sentence.partition(":")[0] for sentence in found} == OUTSIDE


def test_an_unavailable_channel_gives_its_reason():
    report = probe(persistent_command(), "command", beside_names("event loop"))
    assert report.channels["event loop"] == {}
    assert "SyntaxError" in report.reasons["event loop"]


@pytest.mark.parametrize(
    ("runtime", "found"),
    [
        (Namespace(), []),
        (
            DropsNamesAfterError(),
            [*(f"{name}: lost after an error" for name in NAMES), f"{FAILED_BLOCK}: lost after an error"],
        ),
        (DropsFailedBlock(), [f"{FAILED_BLOCK}: lost after an error"]),
        (StaleAfterReset(), ["definition: kept after a reset"]),
        (ReadsLostNamesAsNone(), ["reading a lost name raises no NameError"]),
        (FreezesGlobals(), ["a function of an earlier block reads an old value of a global name"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_fault_in_names_is_found(runtime, found):
    assert breaches(probe(runtime, "planted", NAMES), "persistent") == found


def test_a_runtime_that_prints_nothing_cannot_be_judged():
    report = probe(PrintsNothing(), "silent", NAMES)
    with pytest.raises(UserError, match="cannot probe silent: the runtime printed nothing"):
        breaches(report, "stateless")


def test_an_unknown_claim_is_refused():
    with pytest.raises(UserError, match="unknown claim 'both'; choose from persistent, stateless"):
        breaches(probe(Namespace(), "names", NAMES), "both")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_our_sessions_keep_their_contract(contract):
    channels = NAMES | beside_names("environment") | beside_names("temporary file")
    assert breaches(probe(OwnRuntime(contract), contract, channels), contract) == []


@pytest.mark.kernel
def test_a_stock_kernel_is_persistent_and_its_restart_leaves_files():
    from carryover.tasks.probe.connectors.kernel import KernelRuntime

    report = probe(KernelRuntime(), "ipykernel")
    assert breaches(report, "persistent") == []
    assert report.reasons == {}
    assert report.channels["temporary file"]["reset"] == "kept"


def test_the_probe_loads_no_library_of_an_extra():
    code = (
        "import sys, carryover.flows.cli.probe, carryover.tasks.probe.connectors.own,"
        " carryover.tasks.probe.connectors.kernel, carryover.tasks.probe.contract\n"
        "print({'duckdb', 'numpy', 'polars', 'prefect', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
