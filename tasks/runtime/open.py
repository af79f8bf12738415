"""The door to the runtime: from a spec to interpreters."""

import sys

from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.sandbox.level import SandboxUnavailableError


def open_runtime(spec: RuntimeSpec) -> Runtime:
    """Start a worker's runtime; close it when the worker ends.

    Raises:
        SandboxUnavailableError: The machine does not reach the sandbox level that the spec wants or requires, or its
            system is not Linux.
        SandboxStartError: The sandbox did not start.
    """
    if sys.platform != "linux":
        raise SandboxUnavailableError(
            f"unsupported platform {sys.platform}: no sandbox level is available; run on Linux or in a Linux container"
        )
    match spec.backend:
        case "fork_tree":
            from carryover.tasks.runtime.fork_tree.runtime import ForkTreeRuntime

            return ForkTreeRuntime(spec)
        case "jupyter":
            from carryover.tasks.runtime.jupyter.runtime import JupyterRuntime

            return JupyterRuntime(spec)
