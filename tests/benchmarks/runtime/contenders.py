"""Runtimes of others and ours behind one shape: a worker that opens live episodes, in which blocks run.

`python contenders.py NAME` runs one of them; whoever starts it counts its processor time. It runs in any environment
that has what the contender needs.
"""

import asyncio
import contextlib
import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import workloads

Run = Callable[[str], object]


class Episode(NamedTuple):
    """A live episode."""

    run: Run
    settle: Callable[[], object] = lambda: None
    """Waits until nothing more is done for the block that has run."""


Open = Callable[[], contextlib.AbstractContextManager[Episode]]
"""Opens one more episode of a worker."""
IPC_TOOLS = Path(__file__).with_name("host_tools.py").read_text(encoding="utf-8")
OWN_TOOLS = Path(workloads.__file__).read_text(encoding="utf-8")


@contextlib.contextmanager
def ours(contract: str, *, has_files: bool = False) -> Iterator[Open]:
    """The fork tree, behind bubblewrap and seccomp or not at all, forking at every step."""
    from carryover.tasks.runtime.contract import CONTRACTS
    from carryover.tasks.runtime.open import open_runtime
    from carryover.tasks.runtime.runtime_spec import RuntimeSpec

    spec = RuntimeSpec(require_sandbox="bwrap+seccomp")
    runtime = open_runtime(spec.with_folder() if has_files else spec)

    @contextlib.contextmanager
    def episode() -> Iterator[Episode]:
        interpreter = runtime.open_interpreter(CONTRACTS[contract], workloads.TOOLS, instance_id="benchmark")

        def run(code: str) -> None:
            result = interpreter.run_block(code)
            assert result.error is None, result.error

        yield Episode(run, interpreter.verify_contract)  # which waits for the next block's process
        interpreter.close()

    yield episode
    runtime.close()


@contextlib.contextmanager
def thread() -> Iterator[Episode]:
    """`exec` in a thread of the harness, unprotected, as the study's authors do."""
    namespace: dict[str, object] = {"json": json, **workloads.TOOLS}

    def run(code: str) -> None:
        def target() -> None:
            with contextlib.redirect_stdout(None):
                exec(code, namespace)

        worker = threading.Thread(target=target)
        worker.start()
        worker.join()

    yield Episode(run)


@contextlib.contextmanager
def ipykernel(*, tools_on_host: bool) -> Iterator[Episode]:
    """A stock ipykernel over ipc, asked with the defaults of `jupyter_client`.

    Its tools are local to the kernel, or on the host by Jupyter's own input channel.
    """
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
            code, output_hook=lambda _: None, stdin_hook=answer, allow_stdin=tools_on_host
        )
        assert reply["content"]["status"] == "ok", reply["content"]

    run(IPC_TOOLS if tools_on_host else OWN_TOOLS)
    yield Episode(run)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@contextlib.contextmanager
def smolagents() -> Iterator[Episode]:
    """An AST interpreter in the harness's own process."""
    from smolagents.local_python_executor import LocalPythonExecutor  # pyright: ignore[reportMissingImports]

    executor = LocalPythonExecutor(additional_authorized_imports=["json"])
    executor.send_tools(dict(workloads.TOOLS))
    executor("import json")
    yield Episode(executor)


@contextlib.contextmanager
def cave_agent() -> Iterator[Episode]:
    """CaveAgent's kernel runtime; its functions are shipped into the kernel."""
    from cave_agent.runtime import Function, IPyKernelRuntime  # pyright: ignore[reportMissingImports]

    loop = asyncio.new_event_loop()
    runtime = IPyKernelRuntime(functions=[Function(function) for function in workloads.TOOLS.values()])
    loop.run_until_complete(runtime.start())
    loop.run_until_complete(runtime.execute(OWN_TOOLS))

    def run(code: str) -> None:
        loop.run_until_complete(runtime.execute(code))

    yield Episode(run)
    loop.run_until_complete(runtime.stop())


@contextlib.contextmanager
def pipe() -> Iterator[Episode]:
    """No runtime: a byte to another process and one back, the floor under every tool call."""
    ours, theirs = multiprocessing.Pipe()
    other = multiprocessing.get_context("fork").Process(target=_echo, args=(theirs.fileno(),), daemon=True)
    other.start()
    descriptor = ours.fileno()

    def run(code: str) -> None:
        os.write(descriptor, b"x")
        os.read(descriptor, 1)

    yield Episode(run)
    other.kill()
    other.join()


def _echo(descriptor: int) -> None:
    while os.read(descriptor, 1):
        os.write(descriptor, b"x")


@contextlib.contextmanager
def alone(open_episode: Open) -> Iterator[Open]:
    """A worker whose episodes share nothing."""
    yield open_episode


CONTENDERS: dict[str, Callable[[], contextlib.AbstractContextManager[Open]]] = {
    "ours_persistent": lambda: ours("persistent"),
    "ours_stateless": lambda: ours("stateless"),
    "ours_persistent_files": lambda: ours("persistent", has_files=True),
    "ours_stateless_files": lambda: ours("stateless", has_files=True),
    "thread": lambda: alone(thread),
    "ipykernel": lambda: alone(lambda: ipykernel(tools_on_host=False)),
    "ipykernel_host_tools": lambda: alone(lambda: ipykernel(tools_on_host=True)),
    "smolagents": lambda: alone(smolagents),
    "cave_agent": lambda: alone(cave_agent),
    "pipe": lambda: alone(pipe),
}


def main(name: str) -> None:
    """Start a contender, then do what each line of standard input asks for.

    `["run", workload, step count, pause]` runs blocks in the first episode, `["end"]` ends that one, `["open", count]`
    opens others that stay live.
    Prints the seconds that the start took, then those of each step, as JSON.
    """
    started = time.perf_counter()
    with contextlib.ExitStack() as live:
        open_episode = live.enter_context(CONTENDERS[name]())
        first_alone = live.enter_context(contextlib.ExitStack())
        first = first_alone.enter_context(open_episode())
        print(json.dumps(time.perf_counter() - started), flush=True)
        for line in sys.stdin:
            match json.loads(line):
                case ["run", workload, step_count, pause_seconds]:
                    code = workloads.WORKLOADS[workload]
                    print(json.dumps(list(timed(first.run, code, step_count, pause_seconds))), flush=True)
                case ["end"]:
                    first_alone.close()
                    print(json.dumps(0), flush=True)
                case ["open", count]:
                    episodes = [live.enter_context(open_episode()) for _ in range(count)]
                    for episode in episodes:
                        episode.run(workloads.TRIVIAL)
                        episode.run(workloads.SIX_CALLS)
                        episode.settle()
                    print(json.dumps(count), flush=True)


def timed(run: Run, code: str, step_count: int, pause_seconds: float) -> Iterator[float]:
    """Run a block so often, and yield each run's seconds."""
    for _ in range(step_count):
        started = time.perf_counter()
        run(code)
        yield time.perf_counter() - started
        if pause_seconds:
            time.sleep(pause_seconds)


if __name__ == "__main__":
    main(sys.argv[1])
