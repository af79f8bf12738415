import sys

import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

pytestmark = pytest.mark.kernel

ARGV = [sys.executable, "-m", "tasks.runtime.jupyter.front_end", "-f", "{connection_file}"]


@pytest.fixture(scope="module")
def client():
    manager = KernelManager(transport="ipc")
    manager._kernel_spec = KernelSpec(argv=ARGV, language="python", display_name="episode")
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
        code, output_hook=lambda message: published.append((message["msg_type"], message["content"])), timeout=30
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
    assert published[0][1]["traceback"][1] == '  File "<step 3>", line 1, in <module>'


def test_cells_run_behind_the_walls(client):
    reply, _ = run(client, "import subprocess; subprocess.run(['/bin/true'])")
    assert reply["status"] == "error"
    reply, _ = run(client, "import os; os._exit(0)")
    assert reply["ename"] == "InterpreterDied"
    assert run(client, "x")[0]["status"] == "ok"
