"""A block's output is its own, whatever prints it."""

import pytest


@pytest.mark.parametrize("ending", ["", "os._exit(0)"])
def test_output_of_every_origin_is_captured(open_one, contract, ending):
    code = """
import ctypes, os, subprocess, sys, threading
print("print")
sys.stdout.write("write\\n")
sys.stderr.write("stderr\\n")
sys.stdout.buffer.write(b"bytes\\n")
sys.__stdout__.write("dunder\\n"); sys.__stdout__.flush()
os.write(1, b"descriptor\\n")
ctypes.CDLL(None).printf(b"printf\\n")
thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
"""
    words = ["print", "write", "stderr", "bytes", "dunder", "descriptor", "printf", "thread"]
    result = open_one(contract).run_block(code + ending)
    assert result.output.splitlines() == words
    assert (result.state_event == "kept") == (ending == "")


def test_output_of_c_code_survives_a_kill(open_one, contract):
    code = "import ctypes, os\nctypes.CDLL(None).printf(b'kept')\nos._exit(0)"
    assert open_one(contract).run_block(code).output == "kept"


@pytest.mark.parametrize(
    "code",
    [
        "sys.stdout.close()",
        "sys.stdout.detach()",
        "sys.stdout.detach().close()",
        "sys.stdout = None",
        "sys.stdout = io.StringIO()",
        "del sys.stdout, sys.stderr",
        "sys.stdout.write = None",
        "sys.stdout.reconfigure(encoding='ascii', write_through=False)",
        "sys.stdout.reconfigure(newline='\\r\\n')",
        "sys.stdout.buffer.write = len",
        "try:\n    sys.stdout.reconfigure(newline='\\r\\n', encoding='nonsense')\nexcept LookupError:\n    pass",
        "os.close(1)",
        "os.close(2)",
        "os.closerange(0, 3)",
        "os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
        "os.close(63)",
        "os.dup2(os.open('/dev/null', os.O_WRONLY), 63)",
        "os.close(1); os.dup2(os.open('/dev/null', os.O_WRONLY), 63)",
        "os.close(1); os.close(2); os.close(63)",
        "[os.dup2(os.open('/dev/null', os.O_WRONLY), number) for number in (1, 2, 63)]",
        "sys.stdout.buffer.flush = None",
        "sys.stdout.buffer.flush = sys.exit",
    ],
)
def test_output_is_captured_again_after_a_step_that_bent_it(open_one, contract, code):
    interpreter = open_one(contract)
    interpreter.run_block("kept = 1")
    bent = interpreter.run_block(f"import io, os, sys\nprint('before')\n{code}\nNone")
    assert (bent.output, bent.error, bent.state_event) == ("before\n", None, "kept")
    after = interpreter.run_block("import os, sys\nprint('é')\nsys.stderr.write('err\\n')\nos.write(2, b'raw')")
    assert (after.output, after.error) == ("é\nerr\nraw", None)
    assert interpreter.run_block("'kept' in globals()").result == str(contract.name == "persistent")


def test_output_that_a_block_held_back_is_its_own(open_one, contract):
    interpreter = open_one(contract)
    held = "import sys\nsys.stdout.reconfigure(write_through=False, line_buffering=False)\nsys.stdout.write('held')"
    assert interpreter.run_block(held).output == "held"
    assert interpreter.run_block("print('next')").output == "next\n"
