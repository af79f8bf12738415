from carryover.tasks.runtime import surroundings
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.lifetime import lifetime_of
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.surroundings import describe_surroundings, importable_libraries


def test_surroundings_say_what_a_block_has():
    spec = RuntimeSpec(scratch_limit_bytes=64 << 20, block_timeout_seconds=5)
    assert describe_surroundings(spec, lifetime_of(CONTRACTS["stateless"]), "bwrap+seccomp").splitlines()[:3] == [
        "Files: the working directory takes 64 MiB of them; they are gone after the block. "
        "Figures of matplotlib are shown to the user.",
        "Network and other programs: none.",
        "Time: a block is interrupted after 5 seconds.",
    ]


def test_surroundings_without_a_folder_say_so():
    told = describe_surroundings(RuntimeSpec(), lifetime_of(CONTRACTS["persistent"]), "none")
    assert told.startswith("Files: none can be written.\nNetwork and other programs: not restricted;")


def test_libraries_that_are_told_can_be_imported(open_one):
    names = importable_libraries()
    assert "numpy" in names
    found = open_one("persistent").run_block(
        f"import importlib.util\n[n for n in {names!r} if importlib.util.find_spec(n) is None]"
    )
    assert found.result == "[]"


def test_figures_are_told_where_they_can_be_drawn(monkeypatch):
    monkeypatch.setattr(surroundings, "importable_libraries", lambda: ("numpy",))
    spec = RuntimeSpec(scratch_limit_bytes=3 << 19)
    told = describe_surroundings(spec, lifetime_of(CONTRACTS["persistent"]), "none").splitlines()
    assert told[0] == "Files: the working directory takes 1.5 MiB of them; they stay for later blocks."
    assert told[1] == "Network and other programs: not restricted; do not use them."
    assert "numpy" in told[3]
