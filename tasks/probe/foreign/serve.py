"""Server of a runtime on standard streams: `python serve.py MODULE CLASS`."""

import importlib
import json
import os
import sys
from importlib.metadata import version
from typing import IO, Any

METHODS = ("reset", "time_out", "kill", "resume", "inject")
"""Methods that a runtime may offer."""
HIDDEN = []
"""Values that this process holds beside the runtime, as the host of tools does; hostile blocks look for them."""


def serve(module: str, name: str) -> None:
    """Answer requests until the input ends."""
    requests, replies = _take_streams()
    runtime = getattr(importlib.import_module(module), name)()
    runtime.open()
    for line in requests:
        reply = _answer(runtime, json.loads(line))
        replies.write(json.dumps(reply).encode() + b"\n")
        replies.flush()
    runtime.close()


def _take_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Return input and output, and take them from blocks' reach."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return requests, replies


def _answer(runtime: Any, request: dict[str, Any]) -> dict[str, Any]:
    if "code" in request:
        return {"text": str(runtime.run(request["code"]))}
    match request["do"]:
        case "describe":
            offered = [method for method in METHODS if hasattr(runtime, method)]
            packages = [f"{package} {version(package)}" for package in runtime.PACKAGES]
            versions = ", ".join([*packages, f"Python {sys.version.split()[0]}"])
            return {"version": versions, "offers": [*offered, "hide"]}
        case "inject":
            runtime.inject(request["values"])
        case "injected":
            return {"values": dict(runtime.injected())}
        case "hide":
            HIDDEN.append(request["value"])
        case event:
            getattr(runtime, event)()
    return {"text": ""}


if __name__ == "__main__":
    serve(*sys.argv[1:])
