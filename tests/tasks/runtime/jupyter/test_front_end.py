import contextlib
import re
import sys
import tempfile
import time
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager

from carryover.tasks.runtime.contract import CONTRACTS

pytestmark = pytest.mark.kernel

NEW_EPISODE = ["-m", "carryover.tasks.runtime.jupyter.front_end"]
OPEN_EPISODE = """
import sys
from ipykernel.kernelapp import IPKernelApp
from carryover.tasks.runtime.jupyter.front_end import EpisodeKernel
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.runtime_spec import RuntimeSpec

runtime = open_runtime(RuntimeSpec())
tools = {"look": lambda name: f"seen {name}", "begin": lambda path: open(path, "x").close()}
EpisodeKernel.interpreter = runtime.open_interpreter(CONTRACTS[sys.argv.pop(1)], tools, instance_id="a")
assert EpisodeKernel.interpreter.run_block("x = look('beforehand')").error is None
IPKernelApp.launch_instance(kernel_class=EpisodeKernel)
runtime.close()
"""


@pytest.fixture(scope="module")
def client():
    with serving(NEW_EPISODE) as client:
        yield client


@contextlib.contextmanager
def serving(arguments: list[str]):
    """Start a kernel as a front end does, and yield a client of it."""
    argv = [sys.executable, *arguments, "-f", "{connection_file}"]
    spec = KernelSpec(argv=argv, language="python", display_name="episode")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "episode").mkdir()
        Path(folder, "episode", "kernel.json").write_text(spec.to_json(), encoding="utf-8")
        specs = KernelSpecManager(kernel_dirs=[folder], ensure_native_kernel=False)
        manager = KernelManager(transport="ipc", kernel_name="episode", kernel_spec_manager=specs)
        manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield client
    client.shutdown()
    client.stop_channels()
    manager.shutdown_kernel()


def run(client, code: str) -> tuple[dict, list[tuple[str, dict]]]:
    published = []
    reply = client.execute_interactive(
        code, output_hook=lambda message: published.append((message["msg_type"], message["content"])), timeout=60
    )
    kinds = ("stream", "execute_result", "error")
    return reply["content"], [(kind, content) for kind, content in published if kind in kinds]


def test_cells_are_steps_of_one_episode(client):
    run(client, "x = 20")
    reply, published = run(client, "print('seen')\nx + 1")
    assert reply["status"] == "ok"
    assert [(kind, content.get("text") or content["data"]["text/plain"]) for kind, content in published] == [
        ("stream", "seen\n"),
        ("execute_result", "21"),
    ]


def test_error_shows_the_agents_frames(client):
    reply, published = run(client, "1 / 0")
    assert (reply["ename"], reply["evalue"]) == ("ZeroDivisionError", "ZeroDivisionError: division by zero")
    assert re.fullmatch(r'  File "<step \d+>", line 1, in <module>', published[0][1]["traceback"][1])


def test_cells_run_behind_the_walls(client):
    run(client, "kept = 1")
    reply, _ = run(client, "import subprocess; subprocess.run(['/bin/true'])")
    assert reply["status"] == "error"
    reply, _ = run(client, "import os; os._exit(0)")
    assert reply["ename"] == "InterpreterDied"
    assert run(client, "kept")[0]["status"] == "ok"


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_front_end_attaches_to_an_episode_that_is_open(contract):
    with serving(["-c", OPEN_EPISODE, contract]) as client:
        _, published = run(client, "'x' in globals(), look('now')")
        assert published[0][1]["data"]["text/plain"] == f"({contract == 'persistent'}, 'seen now')"
        reply, published = run(client, "y = 1\n1 / 0")
        assert reply["ename"] == "ZeroDivisionError"
        assert published[0][1]["traceback"][1] == '  File "<step 3>", line 2, in <module>'
        _, published = run(client, "'y' in globals()")
        assert published[0][1]["data"]["text/plain"] == str(contract == "persistent")


@pytest.mark.parametrize("contract", CONTRACTS)
def test_cell_that_is_interrupted_ends_and_the_next_one_runs(contract, tmp_path):
    with serving(["-c", OPEN_EPISODE, contract]) as client:
        request = client.execute(f"y = 1\nbegin({str(tmp_path / 'begun')!r})\nwhile True: pass")
        wait_until((tmp_path / "begun").exists)
        manager = client.parent
        assert isinstance(manager, KernelManager)
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=60)
        while (
            reply["parent_header"].get("msg_id") != request
        ):  # the client asked more than once for a kernel that starts
            reply = client.get_shell_msg(timeout=60)
        assert reply["content"]["ename"] == "StepTimeout"
        assert "stopped by hand" in reply["content"]["evalue"]
        assert run(client, "1 + 1")[0]["status"] == "ok"


def wait_until(holds) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
