"""The command `view`: traces in a browser, served or as a file."""

import secrets
import socket
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
import uvicorn

from carryover.flows.cli.asking import ask_of
from carryover.flows.cli.folders import choose_plan, open_warehouse
from carryover.flows.cli.traces.foreign import foreign_warehouse
from carryover.storage.errors import QueryError
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer.bundle import MOST_BYTES, MOST_EPISODES, write_bundle
from carryover.tasks.viewer.episode_columns import matching_episodes
from carryover.tasks.viewer.pages import answer
from carryover.tasks.viewer.server import LOOPBACK, Answer, viewer_app


@contextmanager
def open_viewed(source: Path | None, home: Path | None, contract: str) -> Iterator[Warehouse]:
    """Yield the warehouse of foreign traces, or the data folder's."""
    opened = open_warehouse(home) if source is None else foreign_warehouse(source, contract)
    with opened as warehouse:
        yield warehouse


def serve_viewer(warehouse: Warehouse, plan: str | None, *, host: str, port: int, opens: bool) -> None:
    """Serve a warehouse's pages until stopped, and open a browser.

    Raise `UserError` for an unknown plan or a port in use.
    """
    token = None
    if host not in LOOPBACK:
        token = secrets.token_urlsafe(24)
    app = viewer_app(warehouse_answer(warehouse, choose_plan(warehouse, plan)), token=token)
    listening = _listen(host, port)
    url = viewer_url(host, listening.getsockname()[1], token)
    typer.echo(f"viewer at {url}; Ctrl-C stops it")
    if opens:
        threading.Timer(0.5, webbrowser.open, [url]).start()
    uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off")).run(sockets=[listening])


def viewer_url(host: str, port: int, token: str | None) -> str:
    """Return the address that a browser opens."""
    name = host
    if ":" in host:
        name = f"[{host}]"
    url = f"http://{name}:{port}/"
    if token is not None:
        url += f"?token={token}"
    return url


def write_viewer(warehouse: Warehouse, plan: str | None, target: Path, where: str) -> str:
    """Write a plan's pages as file or folder; say where."""
    written = write_bundle(ask_of(warehouse), choose_plan(warehouse, plan), target, where)
    said = f"{written.episode_count:,} episodes in {written.path}"
    if written.is_folder and written.path.parent != target:
        said += f"; a folder, since one file holds {MOST_EPISODES:,} episodes and {MOST_BYTES // 1_000_000} MB"
    return said


def warehouse_answer(warehouse: Warehouse, default_plan: str) -> Answer:
    """Return what answers the viewer's paths from a warehouse."""
    ask = ask_of(warehouse)

    def answer_path(path: str, plan: str | None, where: str | None) -> dict[str, Any]:
        digest = default_plan
        if plan is not None:
            digest = choose_plan(warehouse, plan)
        if path != "where":
            return answer(ask, digest, path)
        try:
            return {"episode_ids": matching_episodes(ask, digest, where or "true")}
        except QueryError as error:
            raise UserError(str(error).partition("\n\nLINE ")[0]) from error

    return answer_path


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # a browser that asks before the server runs waits
    except OSError as error:
        listening.close()
        raise UserError(f"cannot listen at {host}:{port} ({error.strerror}); choose another --port") from error
    return listening
