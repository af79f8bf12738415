"""Whose a training's folder is, and where it goes on."""

import subprocess
import sys

import pytest

from carryover.tasks.running.errors import UserError
from carryover.tasks.sft.folder import claim, digest_of_tensors, held, last_checkpoint, start_digests

FILES = ("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth")


def _checkpoint(folder, step, state: str | None = '{"global_step": 1}'):
    path = folder / f"checkpoint-{step}"
    path.mkdir()
    for name in FILES:
        (path / name).write_bytes(b"")
    if state is not None:
        (path / "trainer_state.json").write_text(state)
    return path


def test_the_newest_whole_checkpoint_counts_and_torn_ones_go(tmp_path):
    _checkpoint(tmp_path, 90)
    newest = _checkpoint(tmp_path, 100)
    torn = [_checkpoint(tmp_path, 110, state='{"global_step": 11'), _checkpoint(tmp_path, 120, state=None)]
    assert last_checkpoint(tmp_path) == str(newest)
    assert not any(path.exists() for path in torn)


@pytest.mark.parametrize("name", FILES)
def test_a_checkpoint_that_was_being_removed_is_not_gone_on_from(tmp_path, name):
    half_removed, newest = _checkpoint(tmp_path, 100), _checkpoint(tmp_path, 110)
    (half_removed / name).unlink()
    assert last_checkpoint(tmp_path) == str(newest)
    assert not half_removed.exists()
    (newest / name).unlink()
    assert last_checkpoint(tmp_path) is None


def test_a_training_that_has_not_started_has_no_checkpoint(tmp_path):
    assert last_checkpoint(tmp_path / "checkpoints") is None


def test_a_folder_keeps_the_first_training_that_reached_a_checkpoint(tmp_path):
    claim(tmp_path, {"seed": 1})
    claim(tmp_path, {"seed": 2})  # the first came to nothing, e.g. because its base was missing
    (tmp_path / "checkpoints").mkdir()
    _checkpoint(tmp_path / "checkpoints", 10)
    claim(tmp_path, {"seed": 2})
    with pytest.raises(UserError, match="holds a training of another start"):
        claim(tmp_path, {"seed": 1})


def test_a_finished_training_keeps_its_folder(tmp_path):
    claim(tmp_path, {"seed": 1})
    (tmp_path / "carryover.json").write_text("{}")
    with pytest.raises(UserError, match="holds a training of another start"):
        claim(tmp_path, {"seed": 2})


HOLD = """
import sys
from pathlib import Path

from carryover.tasks.sft.folder import held

with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_held_by_one_process_and_free_when_that_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("carryover.tasks.sft.folder.PATIENCE_SECONDS", 0.0)
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        expected = rf"process {holder.pid} on .* is training in {tmp_path}; wait for it"
        with pytest.raises(UserError, match=expected), held(tmp_path):
            pass
        holder.kill()
        holder.wait()
    with held(tmp_path):
        pass


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "model.safetensors", "carryover.json"])
def test_a_start_is_told_by_its_tokenizer_configuration_weights_and_card(tmp_path, name):
    for file in ("tokenizer.json", "config.json", "model.safetensors", "carryover.json", "README.md"):
        (tmp_path / file).write_text("{}")
    first = start_digests(str(tmp_path))
    (tmp_path / "README.md").write_text("words")
    assert start_digests(str(tmp_path)) == first
    (tmp_path / name).write_text("[]")
    changed = start_digests(str(tmp_path))
    assert {key for key in first if first[key] != changed[key]} == {name}


def test_a_hub_id_stands_for_itself():
    assert start_digests("Qwen/Qwen3-8B") == {"hub": "Qwen/Qwen3-8B"}


def test_the_digest_is_of_the_tensors_alone(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"1")
    first = digest_of_tensors(tmp_path)
    (tmp_path / "README.md").write_text("words")
    assert digest_of_tensors(tmp_path) == first
    (tmp_path / "model.safetensors").write_bytes(b"2")
    assert digest_of_tensors(tmp_path) != first
