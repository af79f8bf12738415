"""The viewer's server in a thread of the test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from carryover.flows.cli.traces.view import warehouse_answer
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.viewer.server import viewer_app


@contextmanager
def served(warehouse_file: Path, plan: str = "plan") -> Iterator[str]:
    """Serve a warehouse; yield the address."""
    with Warehouse.open(warehouse_file) as warehouse:
        app = viewer_app(warehouse_answer(warehouse, plan))
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            thread.join(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
        server.should_exit = True
        thread.join()
