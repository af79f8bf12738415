"""Serves the environment by OpenEnv and plays episodes through its client; prints what they came to as JSON lines."""

import json
import sys
import threading
import time

import uvicorn

from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.environment.for_openenv import make_app

REPLIES = tuple(f"I act.\n```python\n{code}\n```" for code in ("kept = 7\nprint('one')", "print(kept)\nfinish()"))


def main(family: str, contract: str, port: int, seeds: list[int]) -> None:
    from openenv.core.generic_client import GenericEnvClient  # pyright: ignore[reportMissingImports]

    server = uvicorn.Server(
        uvicorn.Config(make_app(lambda: BlockEnvironment(family, contract)), port=port, log_level="error")
    )
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    for seed in seeds:
        with GenericEnvClient(base_url=f"http://127.0.0.1:{port}").sync() as client:
            told = client.reset(seed=seed)
            messages = told.observation["messages"]
            for reply in REPLIES:
                told = client.step({"reply": reply})
                messages = messages + told.observation["messages"]
                if told.done:
                    break
            metadata = told.observation.get("metadata") or told.metadata
            print(json.dumps({"messages": messages, "reward": told.reward, "done": told.done, "metadata": metadata}))
    server.should_exit = True


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), [int(seed) for seed in sys.argv[4:]])
