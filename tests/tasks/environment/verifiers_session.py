"""Plays a scripted policy through verifiers' own environment; prints what came of it as JSON lines."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import verifiers.v1 as vf  # pyright: ignore[reportMissingImports]
from aiohttp import web  # pyright: ignore[reportMissingImports]
from verifiers.v1.dialects.chat import message_to_wire  # pyright: ignore[reportMissingImports]

from tests.tasks.environment.scripted_policy import BUCKETS, open_policy

PACKAGE = Path(__file__).parents[3] / "deployments" / "environments" / "carryover_blocks"


class Endpoint:
    """An OpenAI-compatible endpoint on the loopback, answered by the policy of the present episode."""

    def __init__(self) -> None:
        self.reply: Any = None

    async def complete(self, request: web.Request) -> web.Response:
        body = await request.json()
        text = await asyncio.to_thread(self.reply, body["messages"])
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        completion = {"id": "scripted", "object": "chat.completion", "created": 0, "model": "scripted"}
        return web.json_response({**completion, "choices": [choice], "usage": usage})

    async def start(self) -> str:
        application = web.Application()
        application.router.add_post("/v1/chat/completions", self.complete)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}/v1"


async def main(family: str, contract: str, seeds: int) -> None:
    endpoint = Endpoint()
    config = {
        "taskset": {
            "id": "carryover-blocks",
            "family": family,
            "contract": contract,
            "bucket": BUCKETS[family],
            "num_tasks": seeds,
        },
        "agent": {"runtime": {"type": "subprocess"}},
    }
    environment = vf.load_environment(vf.resolve_env_config(config))
    client = vf.EvalClientConfig(base_url=await endpoint.start(), api_key_var="NO_KEY")
    async with environment.serving():
        for task in environment.taskset:
            endpoint.reply = open_policy(family, contract, task.data.seed)
            episode = await environment.run_episode(task, vf.ModelContext(model="scripted", client=client))
            assert episode.ok, [error.message for error in (*episode.errors, *episode.traces[0].errors)]
            [trace] = episode.traces
            [branch] = trace.branches
            played = {
                "messages": [message_to_wire(message) for message in branch.messages],
                "reward": trace.reward,
                "metadata": {"contract": trace.task.data.contract, "family": trace.task.data.family},
                "missed_names": trace.metrics["missed_names"],
            }
            print(json.dumps(played))


if __name__ == "__main__":
    sys.path.insert(0, str(PACKAGE))
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
