import subprocess
import sys
from pathlib import Path

HEAD = """
import os, sys
from carryover.tasks.runtime.inside.capture import redirect_output, restore_output
def redirect(): redirect_output(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT))
def is_null(descriptor): return os.path.samestat(os.fstat(descriptor), os.stat("/dev/null"))
def put_null_at(descriptor): os.dup2(os.open("/dev/null", os.O_WRONLY), descriptor)
"""


def output_of(program: str, path: Path) -> str:
    """Return what a program writes to a file, in a process of its own."""
    subprocess.run([sys.executable, "-c", HEAD + program, str(path)], check=True)
    return path.read_text(encoding="utf-8")


def test_what_is_open_stays_open_when_output_is_redirected(tmp_path):
    program = "put_null_at(63)\nredirect()\nos.write(1, repr(is_null(63)).encode())"
    assert output_of(program, tmp_path / "output") == "True"


def test_file_put_in_place_of_the_output_stays_there(tmp_path):
    program = "redirect()\nput_null_at(63)\nrestore_output()\nrestore_output()\nos.write(1, repr(is_null(63)).encode())"
    assert output_of(program, tmp_path / "output") == "True"


def test_output_is_found_again_at_whichever_descriptor_is_left(tmp_path):
    for gone in ((1, 2), (1, 63), (2, 63), (63,)):
        program = (
            f"redirect()\nfor gone in {gone}: os.close(gone)\nrestore_output()\nos.write(1, b'a')\nos.write(2, b'b')"
        )
        assert output_of(program, tmp_path / f"without-{gone}") == "ab"


def test_output_that_is_closed_everywhere_goes_nowhere(tmp_path):
    program = "redirect()\nfor gone in (1, 2, 63): os.close(gone)\nrestore_output()\nassert is_null(1) and is_null(2)"
    assert output_of(program, tmp_path / "output") == ""


def test_redirecting_again_leaves_no_descriptor_behind(tmp_path):
    program = (
        "def count(): return sum(is_open(number) for number in range(200))\n"
        "def is_open(number):\n    try: os.fstat(number)\n    except OSError: return False\n    return True\n"
        "redirect()\nbefore = count()\nredirect()\nassert count() == before"
    )
    assert output_of(program, tmp_path / "output") == ""
