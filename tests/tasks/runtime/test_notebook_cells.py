"""Ordinary notebook cells show the same in a persistent session as in an ipykernel."""

import sys
from typing import Any, NamedTuple

import pytest
from jupyter_client.manager import KernelManager

from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.session import session
from tests.tasks.runtime.notebook_cells import CELLS

pytestmark = [pytest.mark.kernel, pytest.mark.slow, pytest.mark.timeout(900)]

_CELL_SECONDS = 120


class Shown(NamedTuple):
    """What a cell shows."""

    output: str
    result: str | None
    error: str | None
    figure_count: int


def shown_by_a_session() -> dict[str, Shown]:
    found = {}
    with session("persistent", spec=RuntimeSpec(block_timeout_seconds=_CELL_SECONDS)) as opened:
        for name, code in CELLS.items():
            done = opened.run(code)
            figures = sum("image/png" in display.data for display in done.displays)
            found[name] = Shown(done.output, done.result, done.error and done.error.type, figures)
    return found


def shown_by_a_kernel(folder: Any) -> dict[str, Shown]:
    manager: Any = KernelManager()
    manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager.start_kernel(cwd=str(folder))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=_CELL_SECONDS)
        return {name: _shown(client, code) for name, code in CELLS.items()}
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _shown(client: Any, code: str) -> Shown:
    output: list[str] = []
    results: list[str] = []
    figures: list[str] = []

    def note(message: dict[str, Any]) -> None:
        content = message["content"]
        if message["msg_type"] == "stream":
            output.append(content["text"])
        elif message["msg_type"] == "execute_result":
            results.append(content["data"]["text/plain"])
        elif message["msg_type"] == "display_data" and "image/png" in content["data"]:
            figures.append(content["data"]["text/plain"])
        elif message["msg_type"] == "display_data":
            output.append(f"{content['data']['text/plain']}\n")

    reply = client.execute_interactive(code, output_hook=note, timeout=_CELL_SECONDS)
    return Shown("".join(output), results[0] if results else None, reply["content"].get("ename"), len(figures))


def test_cells_show_the_same_in_a_session_as_in_a_kernel(tmp_path):
    ours = shown_by_a_session()
    theirs = shown_by_a_kernel(tmp_path)
    unequal = {}
    for name in CELLS:
        is_equal = _plain(ours[name]) == _plain(theirs[name])
        print(f"{name:24}{'equal' if is_equal else 'unequal'}")
        if not is_equal:
            unequal[name] = (ours[name], theirs[name])
    print(f"{len(CELLS) - len(unequal)} of {len(CELLS)} cells are equal")
    assert unequal == {}


def _plain(shown: Shown) -> Shown:
    """Return what is shown without the layout of values, which IPython breaks into lines at 80 characters."""
    return shown._replace(result=None if shown.result is None else "".join(shown.result.split()))
