"""What the connector to a stock kernel makes of the kernel's messages."""

import signal
from types import SimpleNamespace

import pytest

from carryover.tasks.probe.connectors import kernel
from carryover.tasks.probe.connectors.kernel import ClearedKernelRuntime, KernelRuntime
from carryover.tasks.services.errors import UserError

MESSAGES = [
    ("status", {"execution_state": "busy"}),
    ("stream", {"text": "printed\n"}),
    ("execute_result", {"data": {"text/plain": "3"}}),
    ("display_data", {"data": {"text/plain": "shown"}}),
    ("error", {"ename": "ValueError", "evalue": "bad"}),
]


@pytest.fixture
def manager(monkeypatch):
    """Stand in for a kernel and its client; return what they were asked for."""
    asked = []

    def note(name, result=None):
        def method(*given, **named):
            asked.append((name, *given, named) if named else (name, *given))
            return result

        return method

    def execute_interactive(code, *, timeout, output_hook, allow_stdin):
        asked.append(("execute", code, timeout, allow_stdin))
        if code == "endless":
            raise TimeoutError
        for kind, content in MESSAGES:
            output_hook({"msg_type": kind, "content": content})

    client = SimpleNamespace(
        execute_interactive=execute_interactive,
        execute=note("begin", "request"),
        _recv_reply=note("receive"),
        **{name: note(name) for name in ("start_channels", "stop_channels", "wait_for_ready")},
    )
    names = ("start_kernel", "restart_kernel", "interrupt_kernel", "signal_kernel", "shutdown_kernel")
    made = SimpleNamespace(blocking_client=note("client", client), **{name: note(name) for name in names})

    def manage(*, transport):
        asked.append(("manage", transport))
        return made

    monkeypatch.setattr(kernel, "KernelManager", manage)
    monkeypatch.setattr(kernel.time, "sleep", note("sleep"))
    return SimpleNamespace(made=made, asked=asked)


CONNECTED = [("client",), ("start_channels",), ("wait_for_ready", {"timeout": kernel.START_SECONDS})]


def opened(kind, asked):
    runtime = kind()
    runtime.open()
    asked.clear()
    return runtime


def test_a_kernel_is_started_by_this_python(manager):
    KernelRuntime().open()
    assert manager.asked == [("manage", "ipc"), ("start_kernel",), *CONNECTED]
    command = [kernel.sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    assert manager.made._kernel_spec.argv == command


def test_a_cells_output_value_and_error_are_its_text(manager):
    runtime = opened(KernelRuntime, manager.asked)
    assert runtime.run("1 + 2") == "printed\n\n3\n\nValueError: bad\n"
    assert manager.asked == [("execute", "1 + 2", kernel.BLOCK_SECONDS, False)]
    with pytest.raises(UserError, match=r"^a cell took more than 30 s; probe again on an idle machine$"):
        runtime.run("endless")


def test_a_time_out_interrupts_a_running_cell(manager):
    opened(KernelRuntime, manager.asked).time_out()
    assert manager.asked == [
        ("begin", "while True: pass", {"allow_stdin": False}),
        ("sleep", kernel.TIMEOUT_SECONDS),
        ("interrupt_kernel",),
        ("receive", "request", {"timeout": kernel.BLOCK_SECONDS}),
    ]


def test_a_resume_connects_anew_and_a_reset_restarts(manager):
    runtime = opened(KernelRuntime, manager.asked)
    restarted = [("stop_channels",), ("restart_kernel", {"now": True}), *CONNECTED]
    for event, expected in (
        ("resume", [("stop_channels",), *CONNECTED]),
        ("reset", restarted),
        ("kill", [("signal_kernel", signal.SIGKILL), *restarted]),
        ("close", [("stop_channels",), ("shutdown_kernel", {"now": True})]),
        ("close", []),
    ):
        manager.asked.clear()
        getattr(runtime, event)()
        assert manager.asked == expected


def test_names_are_cleared_by_ipythons_reset(manager):
    opened(ClearedKernelRuntime, manager.asked).reset()
    assert manager.asked == [("execute", "%reset -f", kernel.BLOCK_SECONDS, False)]


def test_versions_of_kernel_and_python_are_told():
    assert kernel.version("ipykernel") in KernelRuntime().version()
    assert KernelRuntime().version().endswith(f"Python {kernel.platform.python_version()}")
