"""A CPU server over HTTP, one for each module of tests, and the official client."""

import threading
import time

import openai
import pytest

from carryover.tasks.serving.cpu.cache import CachePool
from tests.tasks.serving.cpu.asking import CONTEXT_TOKENS, HeldEngine


@pytest.fixture(scope="module")
def engines(torch, base_path, adapter_path, other_path):
    """An engine per served model, by name."""
    from carryover.tasks.serving.cpu.models import load_models
    from carryover.tasks.serving.serving_spec import ServedModels

    models = load_models(
        ServedModels(base=str(base_path), adapters={"adapter": adapter_path}, checkpoints={"checkpoint": other_path})
    )
    pool = CachePool(2**26)
    return {model.name: HeldEngine(model, pool, max_running=32) for model in models}


@pytest.fixture(scope="module")
def server(engines):
    """A server in a thread of the test process, as the command line builds it; yields its address."""
    import uvicorn

    from carryover.tasks.serving.cpu.api import ChatApi
    from carryover.tasks.serving.cpu.scheduler import Scheduler

    models = [engine.loaded for engine in engines.values()]
    api = ChatApi(models, Scheduler(engines.values()), max_tokens=CONTEXT_TOKENS, template_kwargs={})
    server = uvicorn.Server(uvicorn.Config(api.build_app(), port=0, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=f"{server}/v1", api_key="none", max_retries=0, timeout=60) as client:
        yield client
