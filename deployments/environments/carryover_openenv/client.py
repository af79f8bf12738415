"""The client: each has a session of its own."""

from typing import Any

from openenv.core.generic_client import GenericEnvClient  # pyright: ignore[reportMissingImports]


class BlockEnv(GenericEnvClient):
    """Plays episodes on a server: `reset(seed=7)`, then `step(reply)` until `done`."""

    def _step_payload(self, action: str) -> dict[str, Any]:
        return {"reply": action}
