"""Serves the environment by OpenEnv and plays a scripted policy through its client; prints it as JSON lines."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import uvicorn

from tests.tasks.environment.scripted_policy import BUCKETS, open_policy

PACKAGES = Path(__file__).parents[3] / "deployments" / "environments"


def serve(family: str, contract: str) -> str:
    """Start the package's own server in this process, and return its address."""
    os.environ.update(CARRYOVER_FAMILY=family, CARRYOVER_CONTRACT=contract, CARRYOVER_BUCKET=BUCKETS[family])
    from carryover_openenv.server.app import app  # pyright: ignore[reportMissingImports]

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    threading.Thread(target=server.run, args=([listening],), daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


def play(client: Any, family: str, contract: str, seed: int) -> dict[str, Any]:
    """Play one episode through a client."""
    reply = open_policy(family, contract, seed)
    told = client.reset(seed=seed)
    messages = told.observation["messages"]
    while not told.done:
        text = reply(messages)
        told = client.step(text)
        messages = [*messages, {"role": "assistant", "content": text}, *told.observation["messages"]]
    metadata = told.observation.get("metadata") or told.metadata
    return {"messages": messages, "reward": told.reward, "metadata": metadata}


def play_in_turn(first: Any, second: Any) -> list[str]:
    """Return what two sessions see of a name that the first one binds."""
    for client, seed in ((first, 1), (second, 2)):
        client.reset(seed=seed)
    first.step("I bind.\n```python\nkept = 7\n```")
    seen = [client.step("I look.\n```python\nprint(kept)\n```") for client in (first, second)]
    return [each.observation["messages"][0]["content"] for each in seen]


def main(family: str, contract: str, seeds: int) -> None:
    from carryover_openenv.client import BlockEnv  # pyright: ignore[reportMissingImports]

    address = serve(family, contract)
    with BlockEnv(base_url=address).sync() as client:
        for seed in range(seeds):
            print(json.dumps(play(client, family, contract, seed)))


def check(family: str, contract: str) -> None:
    """Print what concurrent sessions see of each other, then the reports of OpenEnv's validator."""
    from carryover_openenv.client import BlockEnv  # pyright: ignore[reportMissingImports]

    address = serve(family, contract)
    with BlockEnv(base_url=address).sync() as first, BlockEnv(base_url=address).sync() as second:
        print(json.dumps(play_in_turn(first, second)))
    openenv = [sys.executable, "-m", "openenv.cli"]
    for target in (["--url", address], [str(PACKAGES / "carryover_openenv"), "--level", "static"]):
        report = subprocess.run(
            [*openenv, "validate", *target, "--json"], capture_output=True, text=True, timeout=300, check=False
        )
        print(json.dumps({"exit": report.returncode, "report": json.loads(report.stdout)}))


if __name__ == "__main__":
    sys.path.insert(0, str(PACKAGES))
    if sys.argv[3] == "check":
        check(sys.argv[1], sys.argv[2])
    else:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
