"""The application, a session per client; environment variables say what is played."""

import os

import carryover
from carryover.tasks.environment.for_openenv import make_app


def open_environment() -> carryover.BlockEnvironment:
    """Open an environment as the environment variables say."""
    return carryover.BlockEnvironment(
        os.environ.get("CARRYOVER_FAMILY", "knapsack"),
        os.environ.get("CARRYOVER_CONTRACT", "persistent"),
        bucket=os.environ.get("CARRYOVER_BUCKET"),
    )


app = make_app(open_environment, max_sessions=int(os.environ.get("CARRYOVER_SESSIONS", "64")))


def main() -> None:
    """Serve on port 8000, or on `PORT`."""
    import uvicorn

    uvicorn.run(app, host="0.0.0.0", port=int(os.environ.get("PORT", "8000")))


if __name__ == "__main__":
    main()
