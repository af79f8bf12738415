"""The scratch folder: private, as long-lived as the contract says, and rolled back with the block that failed."""

import colorsys
from pathlib import Path

import pytest

from carryover.tasks.runtime import notices
from carryover.tasks.runtime.contract import CONTRACTS, Contract
from carryover.tasks.runtime.objects import InjectionError, RetrievalError
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.session import session
from tests.tasks.runtime.conftest import SCRATCH_BYTES
from tests.tasks.runtime.opened import opener

FILES_ALONE = Contract(name="files", lifetime="block", keeps_files=True)
NAMES_ALONE = Contract(name="names", lifetime="episode", keeps_files=False)
CONTRACT = {"persistent": CONTRACTS["persistent"], "stateless": CONTRACTS["stateless"]}
CONTRACT |= {"files alone": FILES_ALONE, "names alone": NAMES_ALONE}
WRITE = """
x = 1
import os
os.makedirs('made/deep')
open('made/deep/a.txt', 'w').write('first')
os.symlink('made', 'link')
"""
READ = "import os\nsorted(os.listdir()), os.path.exists('link/deep/a.txt') and open('link/deep/a.txt').read()"
HELD = "(['link', 'made'], 'first')"
EMPTY = "([], False)"


@pytest.mark.parametrize("name", CONTRACT)
def test_files_and_names_live_as_the_contract_says(open_files, name):
    interpreter = open_files(CONTRACT[name])
    assert interpreter.run_block(WRITE).error is None
    assert interpreter.verify_contract()
    keeps_names, keeps_files = name in ("persistent", "names alone"), name in ("persistent", "files alone")
    assert interpreter.run_block(READ).result == (HELD if keeps_files else EMPTY)
    assert interpreter.run_block("'x' in globals()").result == str(keeps_names)
    assert interpreter.verify_contract()


def test_folder_is_home_and_working_directory(open_files, contract):
    code = (
        "import os, pathlib, tempfile\nos.getcwd() == str(pathlib.Path.home()) == tempfile.gettempdir(), os.listdir()"
    )
    assert open_files(contract).run_block(code).result == "(True, [])"


ORDINARY = {
    "copy": ("import shutil\nopen('a', 'w').write('x')\nshutil.copy('a', 'b')\nshutil.copy2('a', 'c')", "'c'"),
    "tree": ("import os, shutil\nos.mkdir('a')\nopen('a/b', 'w').close()\nshutil.copytree('a', 'c')", "'c'"),
    "shelf": (
        "import shelve\nwith shelve.open('shelf') as shelf: shelf['a'] = [1]\n"
        "with shelve.open('shelf') as shelf: found = dict(shelf)\nfound",
        "{'a': [1]}",
    ),
    "database by URI": (
        "import sqlite3\nshop = sqlite3.connect('file:shop.db?mode=rwc', uri=True)\n"
        "shop.execute('pragma journal_mode = wal')  # as `shelve` does from Python 3.13 on\n"
        "shop.execute('create table item (name)')\nshop.commit()\nshop.close()\n"
        "sqlite3.connect('file:shop.db', uri=True).execute('select count(*) from item').fetchone()",
        "(0,)",
    ),
    "module": ("open('own.py', 'w').write('def four(): return 4')\nimport own\nown.four()", "4"),
    "user": ("import getpass\ngetpass.getuser()", "'agent'"),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_uses_of_files_work(open_files, contract, name):
    code, expected = ORDINARY[name]
    result = open_files(contract).run_block(code)
    assert (result.error, result.result) == (None, expected)


def hue(red: float, green: float, blue: float) -> float:
    """Return a colour's hue."""
    return colorsys.rgb_to_hsv(red, green, blue)[0]


def test_template_process_imports_nothing_that_a_block_wrote(fork_tree_with_files):
    interpreter = fork_tree_with_files.open_interpreter(FILES_ALONE, {}, instance_id="a")
    interpreter.run_block("open('colorsys.py', 'w').write('raise ImportError')")
    interpreter.inject("hue", hue, runs_in="sandbox")
    assert interpreter.run_block("hue(1.0, 0.0, 0.0)").result == "0.0"


@pytest.mark.parametrize("name", ["persistent", "files alone"])
@pytest.mark.parametrize(
    "change",
    [
        "open('made/deep/a.txt', 'a').write(' more')",
        "open('made/deep/a.txt', 'w')",
        "import shutil\nshutil.rmtree('made')",
        "import os\nos.rename('made', 'gone')",
        "import os\nos.unlink('link')\nos.makedirs('link/deep')",
        "import os\nos.remove('made/deep/a.txt')\nos.mkdir('made/deep/a.txt')",
        "import os\nos.mkfifo('pipe')\nopen('b', 'w').write('b')",
        "import os\nos.remove('made/deep/a.txt')\nos.chdir('made/deep')",
    ],
)
def test_killed_block_leaves_the_files_of_before(open_files, name, change):
    interpreter = open_files(CONTRACT[name])
    interpreter.run_block(WRITE)
    undone = interpreter.run_block(f"{change}\nimport os\nos._exit(1)")
    assert (undone.state_event, undone.notices[0]) == ("rolled_back", notices.ROLLED_BACK)
    assert interpreter.verify_contract()
    assert interpreter.run_block(READ).result == HELD


@pytest.mark.parametrize("deed", ["os.mkdir('folder', 0)", "os.write(file, b'more')", "os.remove('file')"])
def test_files_that_cannot_be_put_back_are_made_again(open_files, deed):
    interpreter = open_files("persistent")
    opening = "file = os.open('file', os.O_RDWR | os.O_CREAT, 0o444)"  # write-protected, and open for writing
    interpreter.run_block(f"import os\n{opening}\nn = os.write(file, b'first')")
    assert interpreter.run_block(f"{deed}\nos._exit(1)").state_event == "rolled_back"
    assert interpreter.run_block("os.listdir(), open('file').read()").result == "(['file'], 'first')"


@pytest.mark.parametrize("directory", ["/usr", "deep/er"])
def test_killed_block_leaves_the_working_directory_of_before(open_files, directory):
    interpreter = open_files("persistent")
    interpreter.run_block(f"import os\nos.makedirs('deep/er')\nos.chdir({directory!r})\nhere = os.getcwd()")
    interpreter.run_block("import shutil, signal\nos.chdir('/')\nos.kill(os.getpid(), signal.SIGKILL)")
    assert interpreter.run_block("os.getcwd() == here").result == "True"


def test_file_of_a_block_that_raised_is_kept(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block(f"{WRITE}\n1 / 0")
    assert interpreter.run_block(READ).result == HELD


@pytest.mark.parametrize("name", ["persistent", "files alone"])
def test_snapshot_holds_files(open_files, name):
    interpreter = open_files(CONTRACT[name])
    interpreter.run_block(WRITE)
    snapshot = interpreter.snapshot()
    for change in ("open('made/deep/a.txt', 'w').write('second')", "import shutil\nshutil.rmtree('made')"):
        assert interpreter.run_block(change).error is None
        interpreter.restore(snapshot)
        assert interpreter.verify_contract()
        assert interpreter.run_block(READ).result == HELD


@pytest.mark.parametrize("name", ["persistent", "files alone"])
def test_branch_has_files_of_its_own(open_files, name):
    interpreter = open_files(CONTRACT[name])
    interpreter.run_block(WRITE)
    branch = interpreter.branch()
    branch.run_block("open('made/deep/a.txt', 'w').write('branch')\nopen('b', 'w')")
    assert interpreter.run_block(READ).result == HELD
    interpreter.run_block("open('made/deep/a.txt', 'w').write('trunk')")
    assert branch.verify_contract()
    assert branch.run_block(READ).result == "(['b', 'link', 'made'], 'branch')"
    assert interpreter.verify_contract()
    assert interpreter.run_block(READ).result == "(['link', 'made'], 'trunk')"
    branch.close()


def test_replay_makes_the_files_again(open_files, tmp_path):
    interpreter = open_files("persistent")
    interpreter.put("given.csv", b"a,b")
    interpreter.run_block(WRITE)
    interpreter.save(tmp_path / "saved")
    other = open_files("persistent")
    other.put("given.csv", b"a,b")
    assert other.reload(tmp_path / "saved") == ()
    assert other.run_block(READ).result == "(['given.csv', 'link', 'made'], 'first')"


@pytest.mark.parametrize("name", CONTRACT)
def test_file_that_was_put_is_there_for_every_block(open_files, name, tmp_path):
    interpreter = open_files(CONTRACT[name])
    (tmp_path / "table.csv").write_bytes(b"a,b\n1,2\n")
    interpreter.put(tmp_path / "table.csv")
    interpreter.put("data/raw.bin", b"\0\xff")
    for _ in range(2):
        read = "open('table.csv').read(), open('data/raw.bin', 'rb').read()"
        assert interpreter.run_block(read).result == r"('a,b\n1,2\n', b'\x00\xff')"


def test_file_that_was_put_outlives_a_rollback_of_a_folder_that_forgets(open_files):
    interpreter = open_files(Contract(name="forgetful", lifetime="episode", keeps_files=False))
    interpreter.put("kept", b"first")
    interpreter.run_block("import os\nopen('other', 'w').close()\nos._exit(1)")
    assert interpreter.run_block("import os\nos.listdir()").result == "['kept']"


def test_files_come_out(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block(WRITE)
    assert interpreter.files() == {"made/deep/a.txt": 5}
    assert interpreter.get("made/deep/a.txt") == b"first"


@pytest.mark.parametrize("path", ["/etc/passwd", "../etc/passwd", "a/../../b", "", "a\0b", ".canary"])
def test_paths_out_of_the_folder_are_refused(open_files, path):
    interpreter = open_files("persistent")
    with pytest.raises(InjectionError):
        interpreter.put(path, b"x")
    with pytest.raises(RetrievalError):
        interpreter.get(path)


def test_file_that_is_missing_or_none_is_refused_by_name(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block("import os\nos.mkdir('folder')\nos.symlink('/etc', 'away')")
    for path in ("missing", "folder", "away", "away/passwd"):
        with pytest.raises(RetrievalError, match=path):
            interpreter.get(path)


def test_put_beyond_the_limit_names_the_way_out(open_files):
    with pytest.raises(InjectionError, match="raise scratch_limit_bytes"):
        open_files("persistent").put("large", bytes(SCRATCH_BYTES + 1))


@pytest.mark.parametrize("many", [f"open('large', 'wb').write(bytes({SCRATCH_BYTES}))\nopen('b', 'wb').write(b'x')"])
def test_block_that_fills_the_folder_is_undone(open_files, many):
    interpreter = open_files("persistent")
    interpreter.run_block(WRITE)
    result = interpreter.run_block(many)
    assert (result.error.type, result.state_event) == ("StateNotKept", "rolled_back")
    assert notices.UNFIT["folder"] in result.error.message
    assert interpreter.run_block(READ).result == HELD


def test_file_beyond_the_limit_is_an_error_of_the_block(open_files, contract):
    interpreter = open_files(contract)
    result = interpreter.run_block(f"with open('large', 'wb') as file: file.write(bytes({2 * SCRATCH_BYTES}))")
    assert result.error.type == "OSError"
    assert interpreter.run_block("1").result == "1"


def test_stateless_folder_tells_nothing_of_earlier_files(open_files):
    look = (
        "import os\ns = os.stat('.')\nv = os.statvfs('.')\n(s.st_nlink, s.st_size, v.f_bfree, v.f_ffree, os.listdir())"
    )
    interpreter = open_files("stateless")
    before = interpreter.run_block(look).result
    interpreter.run_block("import os\nos.makedirs('a/b')\nopen('a/b/c', 'w').write('x' * 100_000)")
    assert interpreter.run_block(look).result == before


def test_episodes_share_no_files(open_files):
    first, second = open_files("persistent"), open_files("persistent")
    first.run_block(WRITE)
    assert second.run_block(READ).result == EMPTY


def test_own_canary_of_a_block_forges_nothing(open_files):
    interpreter = open_files("stateless")
    interpreter.run_block("import os\nos.mkdir('.canary')\nopen('.canary/x', 'w')")
    assert interpreter.verify_contract()
    assert interpreter.run_block("import os\nos.listdir()").result == "[]"


def test_a_folder_is_added_where_the_settings_leave_it_open():
    assert RuntimeSpec().with_folder().scratch_limit_bytes == 64 << 20
    assert RuntimeSpec(scratch_limit_bytes=0).with_folder().scratch_limit_bytes == 0


def test_session_has_files_by_default_and_a_study_has_none(fork_tree):
    with session("persistent") as opened:
        assert opened.run("open('a', 'w').write('x')").result == "1"
        assert opened.files() == {"a": 1}
    opened_without = opener(fork_tree)
    plain = next(opened_without)("persistent")
    refused = plain.run_block("open('/tmp/a', 'w')").error
    assert refused is not None
    assert refused.type in ("OSError", "PermissionError")
    assert plain.files() == {}
    next(opened_without, None)
    assert "scratch_limit_bytes" not in RuntimeSpec().model_dump()
    assert "keeps_files" not in CONTRACTS["persistent"].model_dump()


@pytest.mark.parametrize("level", ["landlock+seccomp", "seccomp", "none"])
def test_folder_is_there_at_every_level(level):
    runtime = open_runtime(RuntimeSpec(sandbox=level, scratch_limit_bytes=SCRATCH_BYTES))
    opened = opener(runtime)
    interpreter = next(opened)("persistent")
    interpreter.run_block(WRITE)
    interpreter.run_block("import os, shutil\nshutil.rmtree('made')\nos._exit(1)")
    assert interpreter.run_block(READ).result == HELD
    path = interpreter.run_block("os.getcwd()").result
    assert path is not None
    next(opened, None)
    runtime.close()
    assert not Path(path.strip("'")).exists()


DATABASE = """
import sqlite3
with sqlite3.connect('shop.db') as shop:
    shop.execute('create table if not exists item (name text)')
    shop.execute("insert into item values ('pen')")
shop.close()
"""
COUNT = """
import sqlite3
with sqlite3.connect('shop.db') as shop: found = shop.execute('select count(*) from item').fetchone()
"""


def test_database_in_a_file_lives_and_rolls_back_as_files_do(open_files):
    interpreter = open_files("persistent")
    assert interpreter.run_block(DATABASE).error is None
    assert interpreter.run_block(f"{DATABASE}import os\nos._exit(1)").state_event == "rolled_back"
    assert interpreter.run_block(f"{COUNT}\nfound").result == "(1,)"


def test_database_takes_memory_and_uris_as_before(open_files, contract):
    code = "import pathlib, sqlite3\nsqlite3.connect(':memory:').execute('select 1').fetchone()\n"
    code += "sqlite3.connect(pathlib.Path('a b.db')).execute('create table t (a)')\n"
    code += "sqlite3.connect('file:c.db?mode=memory', uri=True).execute('select 2').fetchone()"
    interpreter = open_files(contract)
    assert interpreter.run_block(code).result == "(2,)"
    assert set(interpreter.files()) == ({"a b.db"} if contract.name == "persistent" else set())
