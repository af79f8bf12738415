"""OpenEnv's own server and client play what the environment plays."""

import json
import socket
import subprocess
from pathlib import Path

import pytest

from carryover.tasks.environment.block_environment import BlockEnvironment
from tests.tasks.environment.openenv_session import REPLIES
from tests.tasks.probe.foreign_environments import checkout_variables, provide_runtime

pytestmark = [pytest.mark.slow, pytest.mark.long]
SESSION = Path(__file__).with_name("openenv_session.py")


@pytest.fixture(scope="module")
def foreign_runtime(tmp_path_factory):
    """A Python that has OpenEnv, and the environment variables under which it imports the checkout."""
    return provide_runtime("openenv") / "python", checkout_variables(tmp_path_factory.mktemp("links"))


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.mark.parametrize(("family", "contract"), [("knapsack", "persistent"), ("map_exploration", "stateless")])
def test_a_session_gives_the_environments_messages_and_rewards(foreign_runtime, runtime, family, contract):
    python, variables = foreign_runtime
    command = [str(python), str(SESSION), family, contract, str(free_port()), "3", "4"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    played = [json.loads(line) for line in done.stdout.splitlines()]
    environment = BlockEnvironment(family, contract, runtime=runtime)
    for seed, session in zip((3, 4), played, strict=True):
        messages = environment.reset(seed=seed)
        step = environment.step(REPLIES[0])
        messages.append({"role": "user", "content": step.observation or ""})
        step = environment.step(REPLIES[1])
        if step.observation is not None:
            messages.append({"role": "user", "content": step.observation})
        assert session["messages"] == messages
        assert (session["reward"], session["done"]) == (step.reward, step.is_over)
        assert session["metadata"] == {"contract": contract, "family": family}
