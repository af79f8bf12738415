"""Runtimes of others and ours behind one shape: a context manager that yields a function which runs a block.

`python contenders.py NAME WORKLOAD STEPS` runs one of them and prints its latencies as JSON; whoever starts it counts
its processor time. It runs in any environment that has what the contender needs.
"""

import asyncio
import contextlib
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import workloads

Run = Callable[[str], object]
IPC_TOOLS = Path(__file__).with_name("host_tools.py").read_text(encoding="utf-8")


@contextlib.contextmanager
def ours(contract: str) -> Iterator[Run]:
    """The fork tree, sandboxed, forking at every step."""
    from tasks.runtime.open import open_runtime
    from tasks.runtime.protocol import CONTRACTS
    from tasks.runtime.spec import RuntimeSpec

    runtime = open_runtime(RuntimeSpec())
    interpreter = runtime.open_interpreter(CONTRACTS[contract], workloads.TOOLS, instance_id="benchmark")

    def run(code: str) -> None:
        result = interpreter.run_block(code)
        assert result.error is None, result.error

    yield run
    interpreter.close()
    runtime.close()


@contextlib.contextmanager
def thread() -> Iterator[Run]:
    """`exec` in a thread of the harness, unprotected, as the study's authors do."""
    namespace: dict[str, object] = {"json": json, **workloads.TOOLS}

    def run(code: str) -> None:
        def target() -> None:
            with contextlib.redirect_stdout(None):
                exec(code, namespace)

        worker = threading.Thread(target=target)
        worker.start()
        worker.join()

    yield run


@contextlib.contextmanager
def ipykernel(*, tools_on_host: bool) -> Iterator[Run]:
    """A stock ipykernel over ipc; its tools are local to the kernel, or on the host by Jupyter's own input channel."""
    from jupyter_client.manager import KernelManager

    manager = KernelManager(transport="ipc")
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    client.allow_stdin = tools_on_host

    def answer(message: dict) -> None:
        name, arguments = json.loads(message["content"]["prompt"])
        client.input(json.dumps(workloads.TOOLS[name](*arguments)))

    def run(code: str) -> None:
        reply = client.execute_interactive(
            code, store_history=False, output_hook=lambda _: None, stdin_hook=answer, allow_stdin=tools_on_host
        )
        assert reply["content"]["status"] == "ok", reply["content"]

    run(IPC_TOOLS if tools_on_host else Path(workloads.__file__).read_text(encoding="utf-8"))
    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@contextlib.contextmanager
def smolagents() -> Iterator[Run]:
    """An AST interpreter in the harness's own process."""
    from smolagents.local_python_executor import LocalPythonExecutor  # pyright: ignore[reportMissingImports]

    executor = LocalPythonExecutor(additional_authorized_imports=["json"])
    executor.send_tools(dict(workloads.TOOLS))
    executor("import json")
    yield executor


@contextlib.contextmanager
def cave_agent() -> Iterator[Run]:
    """CaveAgent's kernel runtime; its functions are shipped into the kernel."""
    from cave_agent.runtime import Function, IPyKernelRuntime  # pyright: ignore[reportMissingImports]

    loop = asyncio.new_event_loop()
    runtime = IPyKernelRuntime(functions=[Function(function) for function in workloads.TOOLS.values()])
    start = getattr(runtime, "start", None)
    if start is not None:
        loop.run_until_complete(start())
    loop.run_until_complete(runtime.execute(Path(workloads.__file__).read_text(encoding="utf-8")))

    def run(code: str) -> None:
        loop.run_until_complete(runtime.execute(code))

    yield run
    stop = getattr(runtime, "stop", None)
    if stop is not None:
        loop.run_until_complete(stop())


CONTENDERS: dict[str, Callable[[], contextlib.AbstractContextManager[Run]]] = {
    "ours_persistent": lambda: ours("persistent"),
    "ours_stateless": lambda: ours("stateless"),
    "thread": thread,
    "ipykernel_local_tools": lambda: ipykernel(tools_on_host=False),
    "ipykernel_host_tools": lambda: ipykernel(tools_on_host=True),
    "smolagents": smolagents,
    "cave_agent": cave_agent,
}


def main(name: str, workload: str, step_count: int, pause_seconds: float) -> None:
    """Run one contender and print when it was ready, and each step's seconds, as JSON.

    It waits for a line before the steps and after them, so that whoever counts processor time can look at its clock.
    """
    code = workloads.WORKLOADS[workload]
    started = time.perf_counter()
    with CONTENDERS[name]() as run:
        start_seconds = time.perf_counter() - started
        for _ in range(10):
            run(code)
        print("ready", flush=True)
        sys.stdin.readline()
        seconds = []
        for _ in range(step_count):
            step_started = time.perf_counter()
            run(code)
            seconds.append(time.perf_counter() - step_started)
            if pause_seconds:
                time.sleep(pause_seconds)
        print(json.dumps({"start_seconds": start_seconds, "seconds": seconds}), flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
