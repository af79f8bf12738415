"""What forks share is rolled back as well, or named: open files, shared memory, pipes, counters."""

import pytest

from carryover.tasks.runtime import notices

DIE = "\nimport os\nos._exit(1)"
READER = """
import csv
with open('rows.csv', 'w') as file:
    for number in range(5000): file.write(f'{number}\\n')
opened = open('rows.csv')
rows = csv.reader(opened)
first = next(rows)
"""
MAPPED = "import mmap\nmemory = mmap.mmap(-1, 5)\nmemory[:] = b'first'"
FILE = "import numpy\nvalues = numpy.memmap('values', 'u1', 'w+', shape=(3,))\nvalues[:] = 1"
NAMELESS = "import tempfile\nfile = tempfile.TemporaryFile()\nn = file.write(b'first')\nfile.flush()"
PIPE = "import os\nreading, writing = os.pipe()\nn = os.write(writing, b'abc')"


def test_offset_of_an_open_file_is_rolled_back(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block(READER)
    assert interpreter.run_block(f"for row in rows: pass{DIE}").state_event == "rolled_back"
    assert interpreter.run_block("sum(1 for _ in rows)").result == "4999"


def test_offset_rolls_back_by_snapshot_and_apart_in_branches(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block(READER)
    snapshot = interpreter.snapshot()
    branch = interpreter.branch()
    assert branch.run_block("sum(1 for _ in rows)").result == "4999"
    assert interpreter.run_block("sum(1 for _ in rows)").result == "4999"
    interpreter.restore(snapshot)
    assert interpreter.run_block("sum(1 for _ in rows)").result == "4999"


def test_many_open_files_are_rolled_back(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block("open('a', 'w').write('x' * 10)\nfiles = [open('a', 'rb', buffering=0) for _ in range(100)]")
    interpreter.run_block(f"[file.read() for file in files]{DIE}")
    assert interpreter.run_block("{file.tell() for file in files}").result == "{0}"


def test_file_without_a_name_is_rolled_back(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block(NAMELESS)
    interpreter.run_block(f"file.write(b'other')\nfile.flush(){DIE}")
    assert interpreter.run_block("file.seek(0), file.read()").result == "(0, b'first')"
    interpreter.run_block(f"file.truncate(1){DIE}")
    assert interpreter.run_block("file.seek(0), file.read()").result == "(0, b'first')"


def test_file_without_a_name_is_apart_in_branches_and_snapshots(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block(NAMELESS)
    snapshot = interpreter.snapshot()
    branch = interpreter.branch()
    branch.run_block("file.seek(0)\nfile.write(b'other')\nfile.flush()")
    assert interpreter.run_block("file.seek(0), file.read()").result == "(0, b'first')"
    interpreter.run_block("file.seek(0)\nfile.write(b'third')\nfile.flush()")
    assert branch.run_block("file.seek(0), file.read()").result == "(0, b'other')"
    interpreter.restore(snapshot)
    assert interpreter.run_block("file.seek(0), file.read()").result == "(0, b'first')"


@pytest.mark.parametrize("deed", ["os.remove('kept')", "os.rename('kept', 'other')", "os.replace('new', 'kept')"])
def test_open_file_is_its_path_after_a_rollback(open_files, deed):
    interpreter = open_files("persistent")
    interpreter.run_block("file = open('kept', 'w+')\nn = file.write('first')\nfile.flush()")
    interpreter.run_block(f"import os\nopen('new', 'w').close()\n{deed}{DIE}")
    interpreter.run_block("n = file.write(' again')\nfile.flush()")
    assert interpreter.run_block("open('kept').read()").result == "'first again'"


@pytest.mark.parametrize("deed", ["os.remove('values')", "os.rename('values', 'other')", "os.replace('new', 'values')"])
def test_mapping_follows_its_path_after_a_rollback(open_files, deed):
    interpreter = open_files("persistent")
    interpreter.run_block(f"{FILE}\nreaders = [open('values', 'rb') for _ in range(2)]")
    interpreter.run_block(f"import os\nopen('new', 'w').close()\nvalues[:] = 2\n{deed}{DIE}")
    assert interpreter.run_block("values.tolist()").result == "[1, 1, 1]"
    assert interpreter.run_block("values[:] = 3\nopen('values', 'rb').read()").result == repr(b"\3\3\3")


def test_mapped_file_without_a_name_is_rolled_back(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block(f"{NAMELESS}\nimport mmap\nmemory = mmap.mmap(file.fileno(), 5)")
    interpreter.run_block(f"memory[:] = b'other'{DIE}")
    assert interpreter.run_block("file.seek(0), file.read(), memory[:]").result == "(0, b'first', b'first')"
    assert interpreter.run_block("memory[:] = b'third'\nfile.seek(0), file.read()").result == "(0, b'third')"


def test_read_only_mapping_needs_no_replay(open_fork_tree_files):
    interpreter = open_fork_tree_files("persistent")
    interpreter.run_block("n = open('kept', 'w').write('first')")
    interpreter.run_block("import mmap\nfile = open('kept')\nmemory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)")
    assert interpreter.run_block(f"1{DIE}").notices == (notices.ROLLED_BACK,)
    assert interpreter.run_block("memory[:]").result == "b'first'"


def test_removed_file_that_is_only_written_is_named(open_fork_tree_files):
    interpreter = open_fork_tree_files("persistent")
    interpreter.run_block(
        "import os\nfile = open('kept', 'wb', buffering=0)\nn = file.write(b'first')\nos.remove('kept')"
    )
    undone = interpreter.run_block(f"file.write(b'more'){DIE}")
    assert any(notice.startswith("Pipes and similar objects") for notice in undone.notices)


def test_shared_memory_is_rolled_back(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block(MAPPED)
    interpreter.run_block(f"memory[:] = b'other'{DIE}")
    assert interpreter.run_block("memory[:]").result == "b'first'"
    interpreter.run_block(f"memory[:] = b'third'{DIE}")
    assert interpreter.run_block("memory[:]").result == "b'first'"


def test_shared_memory_is_apart_in_branches_and_snapshots(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block(MAPPED)
    snapshot = interpreter.snapshot()
    branch = interpreter.branch()
    branch.run_block("memory[:] = b'other'")
    assert interpreter.run_block("memory[:]").result == "b'first'"
    interpreter.run_block("memory[:] = b'third'")
    assert branch.run_block("memory[:]").result == "b'other'"
    interpreter.restore(snapshot)
    assert interpreter.run_block("memory[:]").result == "b'first'"


def test_mapped_file_is_rolled_back(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block(FILE)
    interpreter.run_block("values[:] = 2")
    interpreter.run_block(f"values[:] = 3{DIE}")
    assert (
        interpreter.run_block("values.tolist(), list(open('values', 'rb').read())").result == "([2, 2, 2], [2, 2, 2])"
    )


def test_child_shares_memory_with_a_block_that_was_rolled_back(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block(MAPPED)
    interpreter.run_block(f"1{DIE}")
    code = "if (child := os.fork()) == 0:\n    memory[:] = b'child'\n    os._exit(0)\nos.waitpid(child, 0)\nmemory[:]"
    assert interpreter.run_block(f"import os\n{code}").result == "b'child'"


def test_changed_pipe_is_named(open_fork_tree_files):
    interpreter = open_fork_tree_files("persistent")
    interpreter.run_block(PIPE)
    snapshot = interpreter.snapshot()
    undone = interpreter.run_block(f"os.read(reading, 2){DIE}")
    assert any(notice.startswith(notices.PIPES_CHANGED.partition(":")[0]) for notice in undone.notices)
    assert len(interpreter.restore(snapshot)) == 1


def test_counter_of_the_kernel_is_named(open_fork_tree_files):
    interpreter = open_fork_tree_files("persistent")
    interpreter.run_block("import os\ncounter = os.eventfd(3)")
    undone = interpreter.run_block(f"os.eventfd_write(counter, 5){DIE}")
    assert any(notice.startswith("Pipes and similar objects") for notice in undone.notices)
    (notice,) = interpreter.branch().run_block("1").notices
    assert notice.startswith("This branch shares pipes")


def test_counter_that_stays_at_nothing_is_not_named(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block("import os\ncounter = os.eventfd(0)")
    undone = interpreter.run_block(f"1{DIE}")
    assert not any(notice.startswith("Pipes") for notice in undone.notices)


def test_pipe_that_has_not_changed_is_not_named(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block(PIPE)
    undone = interpreter.run_block(f"1{DIE}")
    assert not any(notice.startswith("Pipes") for notice in undone.notices)


def test_branch_names_the_pipes_that_it_shares(open_fork_tree_files):
    interpreter = open_fork_tree_files("persistent")
    interpreter.run_block(PIPE)
    branch = interpreter.branch()
    (notice,) = branch.run_block("1").notices
    assert notice.startswith("This branch shares pipes")
    assert branch.run_block("1").notices == ()


def test_loop_of_awaits_is_named_nowhere(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block("import asyncio\nawait asyncio.sleep(0)")
    undone = interpreter.run_block(f"1{DIE}")
    assert not any(notice.startswith("Pipes") for notice in undone.notices)


@pytest.mark.slow
def test_shared_memory_of_a_library_is_named(open_fork_tree_files):
    interpreter = open_fork_tree_files("persistent")
    interpreter.run_block("import multiprocessing\nlock = multiprocessing.Lock()")
    undone = interpreter.run_block(f"1{DIE}")
    assert any(notice.startswith("Shared memory of a library") for notice in undone.notices)
