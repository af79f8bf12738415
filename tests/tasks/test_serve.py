"""Which models an evaluation asks for, and the endpoint that serves them."""

import errno
import json
import os
import sys
from pathlib import Path

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.models import ChosenCells, StudyModel, served_models
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.serve import find_models, serve_models
from carryover.tasks.sft.card import ContractMismatchError, write_card
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.training_spec import TokenizerSpec
from carryover.tasks.stages.runs import SERVER_KEY, start_run
from tests.tasks.cards import make_card


def test_served_base_has_the_commit_of_the_plan(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    with start_run("toy", resolve_plan("paper"), Limits()) as run:
        (part,) = run.plan.parts
    untrained = part.model_copy(
        update={"training": part.training.model_copy(update={"base_revision": "b968826"}), "training_seeds": ()}
    )
    served = served_models(find_models.fn(run, untrained, None))
    assert (served.base, served.base_revision) == ("Qwen/Qwen3-8B", "b968826")


@pytest.fixture
def untrained(tmp_path, monkeypatch):
    """A run, its part with a scratch base and no trained model, and the base's tokenizer."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    tokenizer = build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), tmp_path / "tokenizer")
    with start_run("toy", resolve_plan("smoke"), Limits()) as opened:
        planned = opened.plan.parts[0]
    without_contracts = planned.teacher.model_copy(update={"contracts": ()})
    return opened, planned.model_copy(update={"training_seeds": (0,), "teacher": without_contracts}), tokenizer


def test_an_untrained_base_is_saved_once(untrained):
    run, part, tokenizer = untrained
    other_seed = part.model_copy(update={"training_seeds": (7,)})
    (first,) = find_models.fn(run, part, tokenizer)
    weights = Path(first.path) / "model.safetensors"
    saved = weights.stat()
    (again,) = find_models.fn(run, part, tokenizer)
    assert (again, weights.stat()) == (first, saved)
    (other,) = find_models.fn(run, other_seed, tokenizer)
    assert other.path != first.path
    assert other.identity != first.identity


def test_untrained_base_on_a_full_disk_leaves_no_folder(untrained, monkeypatch):
    """A folder of its name counts as saved, for this process and for others."""

    def fill_the_disk(architecture, tokenizer, folder, seed):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        assert [*folder.parent.glob("untrained-*")] == []
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run, part, tokenizer = untrained
    monkeypatch.setattr("carryover.tasks.serve.save_untrained", fill_the_disk)
    with pytest.raises(OSError, match="No space left"):
        find_models.fn(run, part, tokenizer)
    assert [*run.folders.models.iterdir()] == []


# It stands for the server and for its supervisor, whose standard input the run closes to end both.
STUB_SERVER = """#!{python}
import http.server, json, os, sys, threading

MODELS = {{"data": [{{"id": name}} for name in ("base", "persistent-0")], "version": "stub 1"}}

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(MODELS).encode())

def end_with_the_run():
    sys.stdin.read()
    os._exit(0)

threading.Thread(target=end_with_the_run, daemon=True).start()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of the smoke plan, whose CPU server is a stub."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    program = tmp_path / "python"
    program.write_text(STUB_SERVER.format(python=sys.executable))
    program.chmod(0o755)
    with start_run("toy", resolve_plan("smoke"), Limits()) as opened:
        monkeypatch.setattr(sys, "executable", str(program))
        yield opened


@pytest.fixture
def models(tmp_path):
    """The base and a model of the persistent contract."""
    folder = tmp_path / "persistent-0"
    folder.mkdir()
    write_card(folder, make_card())
    base = StudyModel(name="base", kind="base", path=str(tmp_path / "base"), identity="base")
    trained = {"train_contract": "persistent", "training_seed": 0, "identity": "trained"}
    return [base, StudyModel(name="persistent-0", kind="checkpoint", path=str(folder), **trained)]


def serve(run, models, **chosen):
    """Serve models of the plan's part; return the server, what was told, and the log's warnings."""
    told = []
    (part,) = run.plan.parts
    with serve_models(run, part, models, told.append, **chosen) as server:
        log = run.folders.logs / f"serving-{run.run_id}-{part.variant}.log"
        warnings = [line for line in log.read_text().splitlines() if line.startswith("warning: ")]
        return server, told, warnings


MISMATCH = "model persistent-0 was trained on the persistent contract, the runtime is stateless"


def test_a_study_warns_of_each_mismatch_by_name(run, models):
    server, told, warnings = serve(run, models)
    assert server.model_names == ("base", "persistent-0")
    assert told == [f"cross-evaluation: {MISMATCH}"]
    assert warnings == [f"warning: {MISMATCH}"]


def test_one_chosen_cell_of_another_contract_is_refused(run, models):
    stateless = ChosenCells(runtime_contract="stateless")
    with pytest.raises(ContractMismatchError, match=MISMATCH):
        serve(run, models, cells=stateless)
    crossing = stateless.model_copy(update={"is_cross_evaluation": True})
    assert serve(run, models, cells=crossing)[1] == [f"cross-evaluation: {MISMATCH}"]


def test_only_the_chosen_contract_is_compared(run, models):
    _, told, warnings = serve(run, models, cells=ChosenCells(runtime_contract="persistent"))
    assert (told, warnings) == ([], [])


def test_a_server_is_a_run_joining_the_one_served(run, models, capsys):
    (part,) = run.plan.parts
    with serve_models(run, part, models, lambda _: None) as server:
        external = run.plan.serving.elsewhere(server.base_url, None)
        serve(run, models, serving=external)
    said = capsys.readouterr().err.splitlines()
    assert said == ["starting the cpu server", f"asking {server.base_url}"]
    rows = LandingZone(run.folders.landing).read("runs").to_pylist()
    own, other = [json.loads(row["environment_json"]) for row in rows if row["flow"] == "serve_models"]
    assert own["joined_run"] == other["joined_run"] == run.run_id
    place = server.command.index("--port")
    command = [*server.command[:place], *server.command[place + 2 :]]  # another start, another port
    assert own[SERVER_KEY] == {"engine": "cpu", "url": None, "version": "stub 1", "command": command}
    assert other[SERVER_KEY] == {"engine": "external", "url": server.base_url, "version": "stub 1", "command": []}
