"""A command that runs blocks from standard input: `persistent` in one process, `fresh` in a fork per block."""

import contextlib
import io
import json
import locale
import os
import sys
import traceback


def run_block(code, namespace):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, namespace)
        except Exception:  # noqa: BLE001 - whatever a block raises is its output
            traceback.print_exc(file=printed)
    os.write(1, json.dumps({"text": printed.getvalue()}).encode() + b"\n")


def run_in_fork(code):
    process = os.fork()
    if process == 0:
        run_block(code, {"__name__": "__main__"})
        os._exit(0)
    os.waitpid(process, 0)


locale.setlocale(locale.LC_ALL, "C.UTF-8")
shared = {"__name__": "__main__"}
for line in sys.stdin:
    block = json.loads(line)["code"]
    if sys.argv[1] == "fresh":
        run_in_fork(block)
    else:
        run_block(block, shared)
