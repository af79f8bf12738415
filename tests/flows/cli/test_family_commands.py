"""`carryover family` writes a family that its own check finds sound, and tells the faults of another."""

from typer.testing import CliRunner

from carryover.flows.cli.main import app
from tests.flows.cli.calling import run
from tests.tasks.families.written import written


def test_a_new_family_is_sound_on_the_seeds_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("family", "new", "boxes").splitlines() == [
        "boxes.py is a family that runs; change it, then",
        "  carryover family check boxes.py:Boxes",
        "  carryover run --family boxes.py:Boxes --scale smoke",
    ]
    first, *notes = run(
        "family", "check", "boxes.py:Boxes", "--seeds", "1", "--contracts", "recent-1,recent-2"
    ).splitlines()
    assert first == "boxes: 2 instances are sound"  # one of each bucket
    assert [note.partition(":")[0] for note in notes[:4]] == [
        f"teacher of {contract}" for contract in ("persistent", "stateless", "recent-1", "recent-2")
    ]


def test_faults_are_listed_with_an_exit_code_of_their_own(tmp_path):
    endless = written(tmp_path, {"    finish()\\n": "    pass\\n"})
    done = CliRunner().invoke(app, ["family", "check", endless, "--seeds", "1"])
    *faults, last = done.stdout.splitlines()
    assert done.exit_code == 2
    assert all(fault.startswith("- ") for fault in faults)
    assert last == f"boxes: {len(faults)} faults; correct and check again"


def test_the_prompts_are_printed_before_a_study(tmp_path):
    said = run("family", "check", written(tmp_path), "--prompt")
    assert "are sound" not in said
    full, compact = said.split("--- compact prompts, bucket few, seed 0, persistent\n")
    assert full.startswith("--- full prompts, bucket few, seed 0, persistent\n\n[system]\n")
    assert 'def peek(box: str) -> int:\n    """Return the number of coins in a box."""' in full
    assert compact.rstrip().endswith("Tools: list_boxes, peek, choose, finish.")
    assert "def peek" not in compact
