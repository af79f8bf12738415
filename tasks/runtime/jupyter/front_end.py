"""A Jupyter kernel for people, on a fork-tree episode.

`python -m carryover.tasks.runtime.jupyter.front_end -f FILE` is what a kernel specification starts. The kernel itself
is trusted; the cells run behind the runtime's walls.
"""

from collections.abc import Mapping
from typing import Any

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.results import BlockResult
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.traces.vocabulary import ContractName


class EpisodeKernel(Kernel):
    """Shows an interpreter as a kernel, a persistent one by default."""

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
        outcome: dict[str, Any] = {"status": "ok", "payload": [], "user_expressions": {}}
        if result.error is not None:
            lines = result.error.message.splitlines()
            evalue = ""
            if lines:
                evalue = lines[-1]
            outcome = {"status": "error", "ename": result.error.type, "evalue": evalue, "traceback": lines}
        if not silent:
            self._publish(result, outcome)
        return {"execution_count": self.execution_count, **outcome}

    async def do_shutdown(self, restart: bool) -> dict[str, Any]:
        """End the episode."""
        if self.interpreter is not None:
            self.interpreter.close()
            self.interpreter = None
        return {"status": "ok", "restart": restart}

    def _publish(self, result: BlockResult, outcome: Mapping[str, Any]) -> None:
        if result.output:
            self.send_response(self.iopub_socket, "stream", {"name": "stdout", "text": result.output})
        if result.result is not None:
            content = {"data": {"text/plain": result.result}, "metadata": {}, "execution_count": self.execution_count}
            self.send_response(self.iopub_socket, "execute_result", content)
        if result.error is not None:
            content = {field: outcome[field] for field in ("ename", "evalue", "traceback")}
            self.send_response(self.iopub_socket, "error", content)
        if result.notices:
            content = {"name": "stderr", "text": "\n".join(result.notices) + "\n"}
            self.send_response(self.iopub_socket, "stream", content)


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=EpisodeKernel)
