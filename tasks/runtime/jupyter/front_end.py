"""A Jupyter kernel for people: any front end attaches to it, and its cells are steps of a fork-tree episode.

`python -m carryover.tasks.runtime.jupyter.front_end -f FILE` is what a kernel specification starts. The kernel itself
is trusted; the cells run behind the runtime's walls.
"""

from collections.abc import Mapping
from typing import Any

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

from carryover.tasks.running.contract_name import ContractName
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.results import BlockResult
from carryover.tasks.runtime.spec import RuntimeSpec


class EpisodeKernel(Kernel):
    """Shows an interpreter as a kernel; a person opens a persistent one unless `interpreter` is set beforehand."""

    implementation = "carryover"
    implementation_version = "1"
    banner = "A sandboxed episode: every cell is a step."
    language_info = {"name": "python", "mimetype": "text/x-python", "file_extension": ".py"}  # noqa: RUF012
    interpreter: Interpreter | None = None
    """Episode to attach to."""

    async def do_execute(self, code: str, silent: bool, *_settings: Any, **_others: Any) -> dict[str, Any]:
        """Run a cell as a step and publish what it showed."""
        if self.interpreter is None:
            runtime = open_runtime(RuntimeSpec())
            self.interpreter = runtime.open_interpreter(CONTRACTS[ContractName.PERSISTENT], {}, instance_id="notebook")
        result = self.interpreter.run_block(code)
        if not silent:
            self._publish(result)
        reply: dict[str, Any] = {"execution_count": self.execution_count, "status": "ok"}
        if result.error is None:
            return reply | {"payload": [], "user_expressions": {}}
        return reply | {"status": "error"} | _error_content(result)

    async def do_shutdown(self, restart: bool) -> dict[str, Any]:
        """End the episode."""
        if self.interpreter is not None:
            self.interpreter.close()
            self.interpreter = None
        return {"status": "ok", "restart": restart}

    def _publish(self, result: BlockResult) -> None:
        if result.output:
            self._send("stream", {"name": "stdout", "text": result.output})
        if result.result is not None:
            content = {"data": {"text/plain": result.result}, "metadata": {}, "execution_count": self.execution_count}
            self._send("execute_result", content)
        if result.error is not None:
            self._send("error", _error_content(result))
        if result.notices:
            self._send("stream", {"name": "stderr", "text": "\n".join(result.notices) + "\n"})

    def _send(self, kind: str, content: Mapping[str, Any]) -> None:
        self.send_response(self.iopub_socket, kind, dict(content))


def _error_content(result: BlockResult) -> dict[str, Any]:
    assert result.error is not None
    lines = result.error.message.splitlines()
    return {"ename": result.error.type, "evalue": lines[-1] if lines else "", "traceback": lines}


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=EpisodeKernel)
