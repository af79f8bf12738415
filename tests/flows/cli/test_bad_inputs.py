"""Bad inputs of every command: exit code, one line, no traceback."""

import json
import shlex

import pytest

from tests.flows.cli.calling import import_records, refused

CHAT = [
    {"role": "user", "content": "Count."},
    {"role": "assistant", "content": "```python\nfinish()\n```"},
]
EXITS = {
    # the command itself
    "tabels": (2, "No such command 'tabels'"),
    "--verbose": (2, "No such option: --verbose"),
    # run, reevaluate, stage
    "run --scale huge": (2, "'huge' is not one of"),
    "run --scael smoke": (2, "No such option: --scael"),
    "run smoke": (2, "unexpected extra argument"),
    "run --train-count many": (2, "'--train-count'"),
    "run --train-count 0": (1, "bad value 0 for overrides.train_count"),
    "run --training-seeds [1,": (2, "is not JSON"),
    "run --prices cheap": (2, "is not JSON"),
    "run --max-cost 3": (1, "give prices with it"),
    "run --train-on moon": (2, "'moon' is not one of"),
    "run --teacher-url http://me:secret@host/v1": (1, "name an environment variable"),
    "run --parts nowhere": (1, "nowhere"),
    "run --config LATIN": (1, "is not UTF-8 text: byte 0xe9 at offset 3; save it as UTF-8"),
    "reevaluate --scale huge": (2, "'huge' is not one of"),
    "reevaluate --cells": (2, "No such option: --cells"),
    "stage train": (2, "No such command 'train'"),
    "stage train-models --scale huge": (2, "'huge' is not one of"),
    # query
    "query": (2, "Missing argument 'sql'"),
    "query ''": (1, "no statements in ''; give one query"),
    "query 'select 1; select 2'": (1, "2 statements"),
    "query 'selct 1'": (1, "Parser Error"),
    "query 'select * from episods'": (1, 'Did you mean "episodes"?'),
    "query 'select nothing from episodes'": (1, "Binder Error"),
    "query 'drop table episodes'": (1, "read-only"),
    "query 'select $name'": (1, "name"),
    "query 'select 1' --format morse": (2, "'morse' is not one of"),
    "query 'select 1' --home NOWHERE": (1, "no data folder"),
    # tables, hypotheses, keep, questions
    "tables 99": (1, "unknown table '99'; choose from"),
    "tables 2 --formta csv": (2, "Possible options: --format"),
    "tables --plan nope": (1, "no run of plan 'nope'; the latest plans are import"),
    "tables --results nope": (1, "no results 'nope'; give a folder"),
    "tables --home NOTES": (1, "no data folder"),
    "hypotheses --plan nope": (1, "no run of plan 'nope'"),
    "hypotheses --results NOTES": (1, "no results"),
    "keep": (2, "Missing argument 'folder'"),
    "keep OUT --plan nope": (1, "no run of plan 'nope'"),
    "keep OUT --where nothing": (1, "nothing"),
    "keep NOWHERE --recompute": (1, "absent"),
    "questions 11": (1, "no question 11; choose from 1 to 10"),
    "questions eleven": (2, "'eleven'"),
    "questions --plan nope": (1, "no run of plan 'nope'"),
    "questions --write NOWHERE": (1, "No such file"),
    "questions --write NOTES": (1, "asks none of these questions; give a copy of sql/questions.md"),
    "questions --write LATIN": (1, "is not UTF-8 text: byte 0xe9 at offset 3; save it as UTF-8"),
    # episode, diff, merge, doctor
    "episode": (1, "name an episode: its id, or --cell and --instance"),
    "episode zzz": (1, "no episode has the instance 'zzz'"),
    "episode zzz --plan nope": (1, "no run of plan 'nope'"),
    "diff 1": (2, "Missing argument 'second_run'"),
    "diff zzz zzz": (1, "no run 'zzz'; the latest are"),
    "merge --home NOWHERE": (1, "no data folder"),
    "merge now": (2, "unexpected extra argument"),
    "doctor --hoem .": (2, "No such option: --hoem"),
    # figures, report
    "figures --plan nope": (1, "no run of plan 'nope'"),
    "figures --folder NOWHERE/deep --plan import": (1, "No such file or directory"),
    "figures --folder NOTES --plan import": (1, "File exists"),
    "report --path NOWHERE/page.html --plan import": (1, "No such file or directory"),
    "report --path OUT --plan import": (1, "Is a directory"),
    # lint
    "lint NOWHERE": (1, "no file"),
    "lint NOTES": (1, "no code found in 0 traces"),
    "lint OUT": (1, "no code found in 0 traces"),
    "lint CHATS --contract sideways": (1, "unknown contract 'sideways'; choose from persistent, stateless"),
    "lint TALK": (1, "no code found in 1 trace"),
    "lint CHATS --runtime LATIN": (1, "is not UTF-8 text: byte 0xe9 at offset 3; save it as UTF-8"),
    "lint CHATS --runtime NOTES": (1, "is no report of `carryover probe --format json`"),
    # probe
    "probe": (2, "Missing argument 'runtime'"),
    "probe persistnt": (1, "unknown runtime 'persistnt'; choose from persistent, stateless"),
    "probe ''": (1, "unknown runtime ''; choose from persistent, stateless"),
    'probe "it\'s mine/x"': (
        1,
        'cannot split the command "it\'s mine/x": no closing quotation; quote it as for a shell',
    ),
    'probe "mcp:it\'s mine"': (1, 'cannot split the command "it\'s mine": no closing quotation'),
    "probe mcp:": (1, "mcp: names no server; write a command or an address after it"),
    "probe mcp:NOWHERE": (1, "No such file or directory; name a command"),
    "probe persistent --claims sideways": (1, "unknown claim 'sideways'; choose from persistent, stateless"),
    "probe persistent --claims LATIN": (1, "is not UTF-8 text: byte 0xe9 at offset 3; save it as UTF-8"),
    "probe persistent --channel moon": (1, "unknown channel 'moon'; choose from"),
    # export, import
    "export": (2, "Missing argument 'folder'"),
    "export NOTES": (1, "; pass a folder for the episodes"),
    "export NOTES/deep": (1, "Not a directory"),
    "export OUT --to csv": (2, "'csv' is not one of"),
    "export OUT --plan nope": (1, "no run of plan 'nope'"),
    "export OUT --where nothing": (1, "Binder Error"),
    "export OUT --where 'score > 2'": (1, "no episode matches 'score > 2'"),
    "import CHATS": (2, "Missing option '--contract'"),
    "import NOWHERE --contract persistent": (1, "no file"),
    "import NOTES --contract persistent": (1, "no trace in"),
    "import OUT --contract persistent": (1, "no trace in"),
    "import CHATS --contract sideways": (1, "unknown contract 'sideways'; choose from persistent, stateless"),
    "import CHATS --contract persistent --bucket medium": (1, "unknown bucket 'medium'; choose from"),
    "import CHATS --contract persistent --plan '1 plan'": (1, "bad plan name '1 plan'"),
    "import CHATS --contract persistent --split test": (2, "'test' is not one of"),
}


NAMES = {
    "NOWHERE": "absent", "NOTES": "notes.md", "LATIN": "latin.txt", "OUT": "out", "CHATS": "chats.jsonl",
    "TALK": "talk.jsonl",
}  # fmt: skip
"""Words of a line, and the files that they stand for."""
COMMANDS = (
    "run", "reevaluate", "stage train-models", "query", "tables", "hypotheses", "keep", "questions", "episode", "diff",
    "merge", "figures", "report", "lint", "export", "import", "doctor",
)  # fmt: skip
MISUSED = (
    "--nope", "--nope=1", "--nope 1", "-x", "-x 1", "-xyz", "--", "--h", "--helpp", "--version", "--verbose", "-v",
    "-q", "--home", "--hom", "--home=", "--HOME x", "--plan", "--plans x", "--plan=",
    "--Plan x", "--format", "--format morse", "--format=", "--formta csv", "--FORMAT csv", "--results",
    "--result x", "--where", "--to", "--to morse", "--contract", "--scale", "--scale huge",
    "--scael smoke", "--path", "--folder", "--split moon", "--purpose moon", "--no-home", "--base x",
)  # fmt: skip
"""Forty wrong ways to call any command."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder with one imported episode, and what commands are given."""
    folder = tmp_path_factory.mktemp("bad")
    import_records(folder / "data", [{"instance_id": "one", "messages": CHAT}], "--contract", "persistent")
    (folder / "chats.jsonl").write_text(json.dumps({"messages": CHAT}))
    (folder / "talk.jsonl").write_text(json.dumps({"messages": [{"role": "assistant", "content": "No code."}]}))
    (folder / "notes.md").write_text("Notes.")
    (folder / "latin.txt").write_bytes("café".encode("latin-1"))
    (folder / "out").mkdir()
    return folder


@pytest.mark.parametrize(("line", "code", "told"), [(line, *exit) for line, exit in EXITS.items()])
def test_a_bad_input_is_one_line_and_an_exit_code(folder, line, code, told, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(folder / "data"))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    for word, name in NAMES.items():
        line = line.replace(word, str(folder / name))
    before = sorted(folder.rglob("*"))
    found_code, said = refused(*shlex.split(line))
    assert (found_code, told in said) == (code, True), said
    assert "[Errno" not in said
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_forty_misuses_of_a_command_are_one_line_each(folder, command, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(folder / "data"))
    for misuse in MISUSED:
        many = " one two three four" if misuse in ("--", "--home=", "--plan=", "--format=") else ""
        code, said = refused(*command.split(), *shlex.split(misuse + many))
        assert (code in (1, 2), bool(said)) == (True, True), misuse
