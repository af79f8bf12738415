"""Fate of injected inputs: fresh for each block, shared, or overwritten."""

from carryover.tasks.probe.looking import run_block, tells
from carryover.tasks.probe.protocol import InjectingRuntime

_NAME = "given_input"


def probe_inputs(runtime: InjectingRuntime) -> dict[str, str]:
    """Return the fate of an injected list, of its changes and rebinding."""
    runtime.inject({_NAME: [1]})
    run_block(runtime, f"{_NAME}.append(2)")
    change = _told(tells(runtime, f"{_NAME} == [1, 2]"), "kept", "undone: the input is fresh in each block")
    is_shared = runtime.injected().get(_NAME) == [1, 2]
    run_block(runtime, f"{_NAME} = 'mine'")
    rebinding = _told(tells(runtime, f"{_NAME} == 'mine'"), "kept", "overwritten by the input")
    return {
        "change in place": change,
        "host's object": "shared with the blocks" if is_shared else "untouched: blocks have a copy",
        "rebinding": rebinding,
    }


def _told(is_kept: bool | None, kept: str, other: str) -> str:
    if is_kept is None:
        return "lost: a later block has no such name"
    return kept if is_kept else other
