"""An OpenAI-compatible endpoint that plays the scripted teacher and takes as long as a served model would.

`python simulated_endpoint.py DILATION` prints its port and serves until it is ended. Waiting times are divided by the
dilation, so that a study of hours fits into minutes.
"""

import asyncio
import socket
import sys
import time

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from carryover.tasks.agent.protocol import Message
from carryover.tasks.knapsack.teachers.density import write_density_reply

FIRST_TOKEN_SECONDS = 0.3
TOKENS_PER_SECOND = 60.0
"""About 4 s for a reply of the teacher's; the fastest cell of arXiv 2603.01209, table 2, took 7.1 s per step."""
CHARACTERS_PER_TOKEN = 3.5


def latency_seconds(text: str) -> float:
    """Return how long a model of eight billion parameters on one GPU takes for a reply."""
    return FIRST_TOKEN_SECONDS + len(text) / CHARACTERS_PER_TOKEN / TOKENS_PER_SECOND


def build_app(dilation: float) -> Starlette:
    """Return the application."""

    async def complete(request: Request) -> JSONResponse:
        arrived = time.perf_counter()
        body = await request.json()
        messages = [Message(**message) for message in body["messages"]]
        contract = "stateless" if "Runtime mode: RESET" in messages[1].content else "persistent"
        text = write_density_reply(contract, messages, body["seed"])
        # What the simulation itself takes is part of the latency, not of what the harness adds.
        await asyncio.sleep(latency_seconds(text) / dilation - (time.perf_counter() - arrived))
        prompt = sum(len(message.content) for message in messages) // 4
        usage = {"prompt_tokens": prompt, "completion_tokens": len(text) // 4, "total_tokens": prompt + len(text) // 4}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        content = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
        return JSONResponse({**content, "choices": [choice], "usage": usage})

    return Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])


def main(dilation: float) -> None:
    """Serve on a free port of the loopback."""
    listener = socket.create_server(("127.0.0.1", 0))
    # A reply goes out in two pieces: without this the second waits 40 ms until the client has acknowledged the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(build_app(dilation), log_level="error", timeout_keep_alive=60)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main(float(sys.argv[1]))
