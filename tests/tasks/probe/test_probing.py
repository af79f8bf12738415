import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from carryover.tasks.probe.channels import CHANNELS, HELPERS, PROBED, TOKENS, Channel, setup, simpler
from carryover.tasks.probe.connectors.own import OwnRuntime
from carryover.tasks.probe.contract import assert_contract
from carryover.tasks.probe.looking import reason
from carryover.tasks.probe.probing import FAILED_BLOCK, ProbeReport, probe
from carryover.tasks.probe.report import findings
from carryover.tasks.probe.verdict import OUTSIDE, breaches, is_promised
from carryover.tasks.services.errors import UserError
from tests.tasks.probe.planted import (
    CopiesInputs,
    DropsFailedBlock,
    DropsNamesAfterError,
    DropsNamesAfterTimeOut,
    EventfulNamespace,
    FreezesGlobals,
    LeaksOne,
    LetsErrorsThrough,
    LosesInputs,
    LosesOne,
    Namespace,
    OffersNothing,
    PrintsNothing,
    RaisesAtOpening,
    RaisesAtResetAndClosing,
    RaisesInOneChannel,
    ReadsLostNamesAsNone,
    RenewsInputs,
    ResumesAnOldValue,
    ResumesFrozenFunctions,
    ReturnsObjects,
    SharesInputs,
    StaleAfterKill,
    StaleAfterReset,
    fresh_command,
    persistent_command,
)

NAMES = {name: CHANNELS[name] for name in ("global", "import", "function")}
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
    assert_contract(persistent_command(), "persistent", CHANNELS)
    report = probe(persistent_command(), "command", CHANNELS)
    assert {name for name in CHANNELS if report.channels[name].get("block") == "kept"} >= set(PROMISED)


def test_fresh_processes_leave_files_and_processes_only():
    with pytest.raises(AssertionError) as failure:
        assert_contract(fresh_command(), "stateless", CHANNELS)
    head, *found = str(failure.value).splitlines()
    assert head == "CommandRuntime is not stateless:"
    assert {sentence.partition(":")[0] for sentence in found} == OUTSIDE - {"installed package"}


def test_methods_that_a_runtime_does_not_offer_are_left_alone():
    assert probe(SharesInputs(), "made", NAMES).inputs != {}
    report = probe(OffersNothing(), "made", NAMES)
    assert (report.inputs, report.failures) == ({}, {})


def test_a_runtime_that_selects_its_events_has_those_alone():
    class OffersReset(EventfulNamespace):
        def offers(self):
            return frozenset({"reset"})

    assert probe(OffersReset(), "made", NAMES).events == ["block", "error", "reset"]


def test_a_users_error_of_a_method_ends_the_probe():
    class Refuses(EventfulNamespace):
        def resume(self):
            raise UserError("no replies left; buy more")

    with pytest.raises(UserError, match=r"^no replies left; buy more$"):
        probe(Refuses(), "made", NAMES)


def test_the_reason_of_a_failed_look_is_its_error():
    assert reason('{"status": "error", "error_type": "SyntaxError", "error_message": "no"}') == "SyntaxError: no"
    assert reason("first\nlast") == "last"
    assert reason("") == "the runtime printed nothing"


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
        (LetsErrorsThrough(), []),
        (RaisesAtResetAndClosing(), ["a reset raises RuntimeError: the session is gone"]),
        (DropsFailedBlock(), [f"{FAILED_BLOCK}: lost after an error"]),
        (StaleAfterReset(), ["function: kept after a reset"]),
        (ReadsLostNamesAsNone(), ["reading a name that is lost after a reset raises no NameError"]),
        (FreezesGlobals(), ["after a block an earlier function reads an old value of a global name"]),
        (EventfulNamespace(), []),
        (DropsNamesAfterTimeOut(), [f"{name}: lost after a time-out" for name in NAMES]),
        (ResumesAnOldValue(), ["global: an older value stands in its place after a resume"]),
        (ResumesFrozenFunctions(), ["after a resume an earlier function reads an old value of a global name"]),
        (StaleAfterKill(), ["global: an older value stands in its place after a kill"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_fault_in_names_is_found(runtime, found):
    assert breaches(probe(runtime, "planted", NAMES), "persistent") == found


@pytest.mark.parametrize(
    ("runtime", "change", "host", "rebinding"),
    [
        (SharesInputs(), "kept", "shared with the blocks", "kept"),
        (CopiesInputs(), "kept", "untouched: blocks have a copy", "kept"),
        (
            RenewsInputs(),
            "undone: the input is fresh in each block",
            "untouched: blocks have a copy",
            "overwritten by the input",
        ),
        (
            LosesInputs(),
            "lost: a later block has no such name",
            "shared with the blocks",
            "lost: a later block has no such name",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_fates_of_injected_inputs_are_told_apart(runtime, change, host, rebinding):
    found = probe(runtime, "planted", NAMES).inputs
    assert found == {"change in place": change, "host's object": host, "rebinding": rebinding}


def test_hostile_blocks_reach_what_an_open_runtime_reaches():
    with subprocess.Popen(["sleep", "60"], env={"WORDS": b"\xff"}) as not_utf_8:
        report = probe(persistent_command(), "command", NAMES, is_hostile=True)
        not_utf_8.kill()
    assert set(report.hostile.values()) == {"reached"}
    assert len(report.hostile) == 4


def test_hostile_blocks_reach_nothing_behind_our_walls():
    report = probe(OwnRuntime("persistent", timeout_seconds=0.3), "persistent", NAMES, is_hostile=True)
    assert [told.partition(":")[0] for told in report.hostile.values()] == ["denied"] * 5


def test_a_runtime_that_prints_nothing_cannot_be_judged():
    report = probe(PrintsNothing(), "silent", NAMES)
    with pytest.raises(UserError, match="cannot probe silent: the runtime printed nothing"):
        breaches(report, "stateless")


def test_a_runtime_that_does_not_open_is_refused():
    message = r"cannot open mine: open\(\) raised ConnectionError: no sandbox here; open\(\) must start an interpreter"
    with pytest.raises(UserError, match=message):
        probe(RaisesAtOpening(), "mine", NAMES)


@pytest.mark.parametrize("error", [UserError("no code tool"), OSError("no sandbox"), KeyboardInterrupt("stop")])
def test_a_runtime_that_opened_by_half_is_closed(error):
    class OpensByHalf(Namespace):
        closed_count = 0

        def open(self):
            raise error

        def close(self):
            self.closed_count += 1

    runtime = OpensByHalf()
    with pytest.raises((UserError, KeyboardInterrupt), match=f"{error}"):
        probe(runtime, "mine", NAMES)
    assert runtime.closed_count == 1


class OffersAll(EventfulNamespace, SharesInputs):
    """Offers every event and inputs, tells its version, and notes its blocks."""

    def __init__(self):
        self.ran = []

    def version(self):
        return "mine 3"

    def run(self, code):
        self.ran.append(code)
        return super().run(code)


def test_a_report_holds_all_that_was_found():
    there = Channel("", "True")
    undone = Channel("y = TOKEN", "'y' in globals()", undo="undone = TOKEN")
    runtime = OffersAll()
    report = probe(runtime, "mine", {"global": CHANNELS["global"], "there": there, "undone": undone})
    kept = dict.fromkeys(("block", "error", "time_out", "resume"), "kept")
    fates: Any = {**kept, "reset": "lost", "kill": "lost"}
    assert report == ProbeReport(
        "mine",
        {"global": fates, "there": {}, "undone": fates, FAILED_BLOCK: {"error": "kept"}},
        version="mine 3",
        events=["block", "error", "time_out", "reset", "resume", "kill"],
        reasons={"there": "its state is there before anything was planted"},
        lost_name_reads={"reset": "loud", "kill": "loud"},
        live_globals={"block": True, "resume": True},
        inputs={"change in place": "kept", "host's object": "shared with the blocks", "rebinding": "kept"},
    )
    undoing = [code for code in runtime.ran if code.endswith("undone = TOKEN")]
    planted = [code.partition("\n")[0] for code in runtime.ran if "\ny = TOKEN" in code]
    tokens = [code.partition("\n")[0] for code in undoing]
    assert tokens == [planted[number] for number in (0, 1, 2, 4)]  # where it was found
    assert len({*planted}) == 6
    assert all(TOKENS.start < int(token.removeprefix("TOKEN = ")) < TOKENS.stop for token in planted)


def test_a_channel_that_cannot_be_planted_gives_its_reason():
    refused = Channel("raise OSError('no space')", "False")
    report = probe(Namespace(), "mine", beside_names("function") | {"disk": refused})
    assert (report.channels["disk"], report.reasons) == ({}, {"disk": "OSError: no space"})


def test_what_a_method_raised_is_a_finding():
    report = probe(RaisesAtResetAndClosing(), "mine", NAMES)
    assert report.failures == {"reset": "RuntimeError: the session is gone", "close": "OSError: closed already"}
    assert report.events == ["block", "error", "time_out", "resume", "kill"]
    assert "reset() raised RuntimeError: the session is gone" in findings(report)
    assert not any("not probed" in finding for finding in findings(report))


def test_events_that_a_runtime_lacks_are_not_probed():
    offered = "not probed, as the runtime offers none: "
    of = {kind: findings(probe(kind(), "x", NAMES)) for kind in (Namespace, RaisesAtResetAndClosing, EventfulNamespace)}
    told = {kind: [line for line in found if line.startswith(offered)] for kind, found in of.items()}
    assert told[Namespace] == [f"{offered}a time-out, a resume, a kill"]
    assert told[RaisesAtResetAndClosing] == told[EventfulNamespace] == []


@pytest.mark.parametrize("name", sorted(name for name, channel in CHANNELS.items() if channel.plain))
def test_a_simpler_look_finds_what_was_written(name):
    """It serves an interpreter that hides `globals` and `__import__`."""
    look = simpler(CHANNELS[name])
    assert "globals" not in look.probe
    assert "__import__" not in look.probe
    names = {"TOKEN": 12}
    with pytest.raises(NameError):
        eval(look.probe, dict(names))
    exec(look.write, names)
    assert eval(look.probe, names)


def test_names_have_a_look_without_globals():
    assert {name for name, channel in CHANNELS.items() if channel.plain} >= {"global", "import", "function", "class"}


def test_a_run_that_raises_makes_its_channel_unavailable():
    report = probe(RaisesInOneChannel(), "mine", beside_names("environment"))
    assert report.reasons == {"environment": "run() raised RuntimeError: the service refused the block"}
    assert report.channels["global"]["block"] == "kept"


def test_a_run_that_returns_no_text_is_refused():
    with pytest.raises(UserError, match=r"run\(code\) returned dict; return the text that the block's caller sees"):
        probe(ReturnsObjects(), "mine", NAMES)  # pyright: ignore[reportArgumentType]


def test_an_unknown_claim_is_refused():
    with pytest.raises(UserError, match="unknown claim 'both'; choose from persistent, stateless"):
        breaches(probe(Namespace(), "names", NAMES), "both")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_our_sessions_keep_their_contract(contract):
    channels = NAMES | beside_names("environment") | beside_names("temporary file")
    report = probe(OwnRuntime(contract, timeout_seconds=0.3), contract, channels)
    assert breaches(report, contract) == []
    assert report.events == ["block", "error", "time_out", "reset", "resume", "kill"]


@pytest.mark.kernel
def test_a_stock_kernel_is_persistent_and_its_restart_leaves_files():
    from carryover.tasks.probe.connectors.kernel import KernelRuntime

    report = probe(KernelRuntime(), "ipykernel")
    assert breaches(report, "persistent") == []
    assert report.reasons == {}
    assert report.channels["temporary file"]["reset"] == "kept"


@pytest.mark.kernel
def test_clearing_names_leaves_a_kernels_other_state():
    from carryover.tasks.probe.connectors.kernel import ClearedKernelRuntime

    report = probe(ClearedKernelRuntime(), "ipykernel-reset", beside_names("environment"))
    assert report.channels["global"]["reset"] == "lost"
    assert report.channels["environment"]["reset"] == "kept"


@pytest.mark.slow
def test_libraries_and_figures_are_probed():
    report = probe(persistent_command(), "command", PROBED)
    assert report.channels["figure"]["block"] == "kept"
    assert report.channels["installed package"]["block"] == "kept"
    leftover = list(Path(sysconfig.get_path("purelib")).glob("kept_*.py"))
    assert leftover == []


def test_the_probe_loads_no_library_of_an_extra():
    code = (
        "import sys, carryover.flows.cli.traces.probe, carryover.tasks.probe.connectors.own,"
        " carryover.tasks.probe.connectors.kernel, carryover.tasks.probe.contract\n"
        "print({'duckdb', 'numpy', 'polars', 'prefect', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_channel_gets_its_helpers_and_no_others():
    with_helpers = {name for name, channel in CHANNELS.items() if setup(channel, 7) == f"TOKEN = 7\n{HELPERS}"}
    without = {name for name, channel in CHANNELS.items() if setup(channel, 7) == "TOKEN = 7\n"}
    assert with_helpers == {name for name, channel in CHANNELS.items() if "_is_" in channel.probe}
    assert without == set(CHANNELS) - with_helpers != set()
    assert with_helpers
