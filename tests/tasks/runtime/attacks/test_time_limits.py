"""A block ends at most a second after its time limit, whatever it does to the connection or to its processes."""
# ruff: noqa: E501 - one act to a line

import time

import pytest

LIMIT_SECONDS, GRACE_SECONDS = 1.5, 0.5
KERNEL_SECONDS = 20
"""For another kernel to start, and for the state to be replayed in it."""
SOCKETS = """
import os, signal, stat, struct, threading, time
def is_socket(fd):
    try: return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError: return False
sockets = [fd for fd in range(3, 64) if is_socket(fd)]
"""
CALL = "payload = b'[\"call\",1,\"tell\",[],{}]'\nframe = struct.pack('<I', len(payload)) + payload\n"
LATE = {
    "flood that reads no reply": f"{CALL}while True:\n    for fd in sockets:\n        try: os.write(fd, frame)\n        except OSError: pass",
    "large replies that nobody reads": f"{CALL}for fd in sockets:\n    try: os.write(fd, frame * 20)\n    except OSError: pass\ntime.sleep(60)",
    "frame that trickles": "for fd in sockets: os.write(fd, struct.pack('<I', 1000))\nwhile True:\n    os.write(sockets[-1], b' '); time.sleep(0.01)",
    "stop": "os.kill(os.getpid(), signal.SIGSTOP)",
    "stop of all, then abort": "for process in range(1, 30):\n    try:\n        if process != os.getpid(): os.kill(process, signal.SIGSTOP)\n    except OSError: pass\nos.abort()",
    "interrupts that are ignored": "signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
    "stop after the block": "threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGSTOP)).start()",
}  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_block_ends_within_a_second_of_its_limit(runtime, open_one, contract, limited, name):
    interpreter = open_one(contract, {"tell": lambda: "x" * 1_000_000}, tool_call_cap=None)
    interpreter.run_block("x = 1")
    with limited(interpreter, LIMIT_SECONDS, GRACE_SECONDS):
        for code in (SOCKETS + LATE[name], "import time; time.sleep(0.5)"):
            started = time.monotonic()
            interpreter.run_block(code)
            allowed = LIMIT_SECONDS + 1 + KERNEL_SECONDS * (runtime.backend == "jupyter")
            assert time.monotonic() - started < allowed
    assert interpreter.run_block("globals().get('x')").result == ("1" if contract.name == "persistent" else None)
