"""Channels through which state could survive a stateless step: none does.

Each channel is written by one block and probed by the next. The same pair under the persistent contract shows that
the probe can see the state at all; `test_channel_controls.py` shows it of the channels that are closed to both.
"""

import pytest

from tests.tasks.runtime.channels import CHANNELS, FILES, HELD_BACK_FROM, HELPERS, PAGES, Channel, processors


@pytest.fixture
def skip_open(skip_below, runtime):
    """Skip a channel that this machine cannot close: nothing can be shown there."""

    def skip(name: str) -> None:
        skip_below(HELD_BACK_FROM.get(name, "none"), runtime.sandbox_level)

    return skip


def survives(interpreter, channel: Channel) -> bool:
    helpers = HELPERS + FILES * ("files" in channel.write) + PAGES * ("page" in channel.write) + processors()
    written = interpreter.run_block(f"{helpers}\n{channel.write}")
    assert written.error is None, written.error
    probed = interpreter.run_block(f"{helpers}\n{channel.probe}")
    assert probed.result in ("True", "False"), probed
    return probed.result == "True"


@pytest.mark.parametrize("name", CHANNELS)
def test_nothing_survives_a_stateless_step(open_one, skip_open, name):
    skip_open(name)
    assert not survives(open_one("stateless", {"look": lambda: 1}), CHANNELS[name])


@pytest.mark.parametrize("name", [name for name, channel in CHANNELS.items() if channel.is_open_to_persistent])
def test_probe_sees_what_a_persistent_interpreter_keeps(open_one, name):
    assert survives(open_one("persistent", {"look": lambda: 1}), CHANNELS[name])


@pytest.mark.parametrize("name", [name for name, channel in CHANNELS.items() if not channel.is_open_to_persistent])
def test_closed_channel_does_not_survive_a_persistent_step_either(open_one, skip_open, name):
    skip_open(name)
    assert not survives(open_one("persistent", {"look": lambda: 1}), CHANNELS[name])


def test_no_block_reads_the_clock_of_another_process(open_one, skip_below, runtime):
    skip_below("seccomp", runtime.sandbox_level)
    code = """
import os, time
def read(process):
    try: return time.clock_gettime(((~process) << 3) | 2)
    except OSError: return None
found = [process for process in {*range(1, 100), os.getppid()} if read(process) is not None]
time.sleep(0.001)
found, time.process_time() > 0, time.thread_time() > 0, time.monotonic() > 0
"""
    result = open_one("stateless").run_block(code)
    assert (result.error, result.result) == (None, "([], True, True, True)")


def test_libraries_read_files_without_the_calls_that_are_denied(open_one):
    code = """
import io, numpy, polars, pyarrow, pyarrow.parquet
path, written = numpy.__file__, io.BytesIO()
size = len(pyarrow.OSFile(path).read())
polars.DataFrame({"a": [1, 2, 3]}).write_parquet(written)
content = written.getvalue()
lines = polars.scan_csv(path, separator="|", has_header=False, truncate_ragged_lines=True, quote_char=None).collect()
(
    len(lines) > 100,
    pyarrow.memory_map(path).size() == len(numpy.fromfile(path, "u1")) == len(numpy.memmap(path, "u1", "r")) == size,
    len(polars.read_parquet(content)), pyarrow.parquet.read_table(io.BytesIO(content)).num_rows,
)
"""
    result = open_one("persistent").run_block(code)
    assert (result.error, result.result) == (None, "(True, True, 3, 3)")


def test_process_of_a_stateless_step_cannot_reach_the_next_one(open_fork_tree):
    interpreter = open_fork_tree("stateless")
    interpreter.run_block(
        "import os, signal, time\nif os.fork() == 0:\n    while True:\n"
        "        try: os.kill(-1, signal.SIGTERM)\n        except OSError: pass\n"
    )
    for _ in range(3):
        assert interpreter.run_block("import time; time.sleep(0.05); 'untouched'").result == "'untouched'"
