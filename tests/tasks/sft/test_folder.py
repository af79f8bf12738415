"""Whose a training's folder is, and where it goes on."""

import pytest

from tasks.running.errors import UserError
from tasks.sft.folder import claim, digest_of_tensors, last_checkpoint, start_digests


def _checkpoint(folder, step, state: str | None = '{"global_step": 1}'):
    path = folder / f"checkpoint-{step}"
    path.mkdir()
    if state is not None:
        (path / "trainer_state.json").write_text(state)
    return path


def test_the_newest_whole_checkpoint_counts_and_torn_ones_go(tmp_path):
    _checkpoint(tmp_path, 90)
    newest = _checkpoint(tmp_path, 100)
    torn = [_checkpoint(tmp_path, 110, state='{"global_step": 11'), _checkpoint(tmp_path, 120, state=None)]
    assert last_checkpoint(tmp_path) == str(newest)
    assert not any(path.exists() for path in torn)


def test_a_training_that_has_not_started_has_no_checkpoint(tmp_path):
    assert last_checkpoint(tmp_path / "checkpoints") is None


def test_a_folder_keeps_its_first_training(tmp_path):
    claim(tmp_path / "model", {"seed": 1})
    claim(tmp_path / "model", {"seed": 1})
    with pytest.raises(UserError, match="holds a training of another start"):
        claim(tmp_path / "model", {"seed": 2})


def test_a_start_is_told_by_its_tokenizer_and_card_and_a_hub_id_by_itself(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    first = start_digests(str(tmp_path))
    assert list(first) == ["tokenizer.json"]
    (tmp_path / "tokenizer.json").write_text("{ }")
    assert start_digests(str(tmp_path)) != first
    assert start_digests("Qwen/Qwen3-8B") == {"hub": "Qwen/Qwen3-8B"}


def test_the_digest_is_of_the_tensors_alone(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"1")
    first = digest_of_tensors(tmp_path)
    (tmp_path / "README.md").write_text("words")
    assert digest_of_tensors(tmp_path) == first
    (tmp_path / "model.safetensors").write_bytes(b"2")
    assert digest_of_tensors(tmp_path) != first
