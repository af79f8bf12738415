"""Acts of a block that no interpreter survives: the block is undone, the model is told why, the next one works."""
# ruff: noqa: E501 - one act to a line

import pytest

ACTS = {
    "builtins": "import builtins; vars(builtins).clear()",
    "files": "import os\nkept = []\ntry:\n    while len(kept) < 4090: kept.append(os.open('/dev/null', os.O_RDONLY))\nexcept OSError: pass",
    "processes": "import os, time\nfor _ in range(64):\n    try: process = os.fork()\n    except OSError: break\n    if process == 0: time.sleep(600); os._exit(0)",
    "limits": "import resource\nfor limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_STACK): resource.setrlimit(limit, (1, 1))",
    "memory": "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))",
    "timer": "import signal\ndef ring(*_): raise ValueError('ring')\nsignal.signal(signal.SIGALRM, ring)\nsignal.setitimer(signal.ITIMER_REAL, 0.05, 0.001)",
    "file size": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
    "smaller files": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))",
}  # fmt: skip
WORDS = {
    "builtins": "removed builtins",
    "files": "files open",
    "processes": "processes or threads",
    "limits": "resource limits",
    "memory": "no memory",
    "timer": "timer running",
    "file size": "resource limits",
    "smaller files": "resource limits",
}


@pytest.mark.parametrize("act", ACTS)
def test_block_is_undone_and_its_act_named(open_one, contract, act):
    interpreter = open_one(contract)
    interpreter.run_block("x = [1]")
    result = interpreter.run_block(f"print('before')\nx = [2]\n{ACTS[act]}")
    assert (result.error.type, result.output, result.state_event) == ("StateNotKept", "before\n", "rolled_back")
    assert WORDS[act] in result.error.message
    assert result.notices[0] == "The interpreter was rolled back to its state before this step."
    kept = contract.name == "persistent"
    assert interpreter.run_block("print(len(str(globals().get('x')))); x" if kept else "print(4)\n[1]").result == "[1]"
    assert interpreter.verify_contract()


def test_patched_builtin_is_kept(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("import builtins; builtins.kept = 1")
    assert interpreter.run_block("kept").result == "1"


def test_block_that_closes_what_it_opened_is_kept(open_one, contract):
    code = "import os\nfor n in [os.open('/dev/null', os.O_RDONLY) for _ in range(3000)]: os.close(n)\nos.fork() or os._exit(0)"
    result = open_one(contract).run_block(code)
    assert (result.error, result.state_event) == (None, "kept")


@pytest.mark.parametrize(
    "code", ["x = '\ud800'", "raise ValueError('\\ud800')", "x = '\\udfff'; x", "print('\\ud800')"]
)
def test_surrogates_raise_nothing_on_the_host(open_one, contract, code, tmp_path):
    interpreter = open_one(contract)
    result = interpreter.run_block(code)
    interpreter.save(tmp_path / "journal")
    repr(result).encode()
    assert interpreter.run_block("'alive'").result == "'alive'"


def test_surrogates_in_a_tools_error_are_replaced(open_one, contract, tmp_path):
    def refuse(text):
        raise ValueError(text)

    interpreter = open_one(contract, {"refuse": refuse})
    (call,) = interpreter.run_block("refuse('\\ud800')").tool_calls
    interpreter.save(tmp_path / "journal")
    assert call.error_message == "ValueError: ?"
