"""Whose a training's folder is, and where it goes on."""

import hashlib
import re
import subprocess
import sys

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.sft.card import CARD_NAME
from carryover.tasks.sft.folder import (
    LOCK_FILE,
    base_identity,
    claim,
    clear,
    digest_of_tensors,
    held,
    last_checkpoint,
    start_digests,
)

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
def test_a_half_removed_checkpoint_is_not_resumed_from(tmp_path, name):
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
    with pytest.raises(UserError, match="holds a different training"):
        claim(tmp_path, {"seed": 1})


def test_a_training_is_the_same_in_whatever_order_it_is_told(tmp_path):
    claim(tmp_path, {"seed": 1, "start": {"b": 1, "a": 2}})
    (tmp_path / CARD_NAME).write_text("{}")
    claim(tmp_path, {"start": {"a": 2, "b": 1}, "seed": 1})
    with pytest.raises(UserError, match="holds a different training"):
        claim(tmp_path, {"start": {"a": 1, "b": 2}, "seed": 1})


def test_a_finished_training_keeps_its_folder(tmp_path):
    claim(tmp_path, {"seed": 1})
    (tmp_path / "carryover.json").write_text("{}")
    with pytest.raises(UserError, match="holds a different training"):
        claim(tmp_path, {"seed": 2})


HOLD = """
import sys
from pathlib import Path

from carryover.tasks.sft.folder import held

with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_folder_that_another_process_holds_is_waited_for(tmp_path, capsys):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        def interrupt() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), held(tmp_path, interrupt):
            pass
        with held(tmp_path, holder.kill):
            pass
    assert re.fullmatch(
        rf"waiting for process {holder.pid} on \S+ since .+ UTC, which trains in {tmp_path}\n", capsys.readouterr().out
    )


def test_a_folder_is_emptied_under_its_lock(tmp_path):
    (tmp_path / "checkpoints" / "checkpoint-1").mkdir(parents=True)
    (tmp_path / CARD_NAME).write_text("{}")
    clear(tmp_path, lambda: None)
    assert [path.name for path in tmp_path.iterdir()] == [LOCK_FILE]


def test_a_base_is_told_by_its_content_or_commit(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(b"1")
    one, two = (base_identity(str(tmp_path / name), None) for name in ("one", "two"))
    assert one == two
    (tmp_path / "two" / "model.safetensors").write_bytes(b"2")
    assert base_identity(str(tmp_path / "two"), None) != one
    assert base_identity("somebody/base", "1" * 40) != base_identity("somebody/base", "2" * 40)
    with pytest.raises(UserError, match="base model somebody/base has no revision; pass --base-revision"):
        base_identity("somebody/base", None)


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "model.safetensors", "carryover.json"])
def test_start_digests_cover_tokenizer_configuration_weights_and_card(tmp_path, name):
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


def test_the_digest_of_several_tensor_files_is_in_their_names_order(tmp_path):
    names = [f"model-{number}.safetensors" for number in range(8)]
    for name in reversed(names):
        (tmp_path / name).write_text(name)
    text = "".join(name + hashlib.sha256(name.encode()).hexdigest() for name in names)
    assert digest_of_tensors(tmp_path) == hashlib.sha256(text.encode()).hexdigest()
