"""Parameters of a model from its shape."""

import json

import pytest

from carryover.tasks.sft.model_shape import (
    KNOWN_SHAPES,
    ModelShape,
    find_config,
    known_positions,
    shape_from_config,
    shape_of,
)
from carryover.tasks.sft.training_spec import TRAINING, LoraSpec

QWEN3_8B = KNOWN_SHAPES["Qwen/Qwen3-8B"]


def test_qwen3_8b_has_its_published_parameters():
    assert QWEN3_8B.parameter_count == 8_190_735_360


def test_a_rank_64_adapter_on_all_projections():
    # per layer 64 x (4096 + 4096) for q and o, 64 x (4096 + 1024) for k and v, 64 x (4096 + 12288) for the other three
    assert QWEN3_8B.adapter_parameter_count(LoraSpec()) == 36 * 64 * (2 * 8192 + 2 * 5120 + 3 * 16384) == 174_587_904


def test_a_scratch_models_shape_is_its_specs():
    shape = shape_of(TRAINING["laptop_scratch"], "")
    assert shape is not None
    # 3 x (4 x 128 x 128 + 3 x 128 x 256) + 640 x 128 + 3 x (256 + 64) + 128
    assert shape.parameter_count == 491_520 + 81_920 + 960 + 128


def test_a_local_models_shape_is_in_its_config(tmp_path):
    config = {
        "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
        "intermediate_size": 16, "vocab_size": 10, "max_position_embeddings": 64, "tie_word_embeddings": True,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    shape = shape_of(TRAINING["laptop_common"], str(tmp_path))
    assert shape is not None
    assert (shape.head_size, shape.is_tied) == (4, True)
    assert shape_of(TRAINING["laptop_common"], "nobody/knows") is None


CONFIG = {
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
    "intermediate_size": 16, "vocab_size": 10, "max_position_embeddings": 64,
}  # fmt: skip
SHAPE = ModelShape(8, 2, 2, 1, 4, 16, 10, 64, is_tied=False)


@pytest.mark.parametrize(
    ("changes", "shape"),
    [
        ({}, SHAPE),
        ({"head_dim": 16}, SHAPE._replace(head_size=16)),
        ({"head_dim": None, "tie_word_embeddings": True}, SHAPE._replace(is_tied=True)),
        ({"tie_word_embeddings": None}, SHAPE),
    ],
)
def test_a_configuration_gives_every_size(changes, shape):
    assert shape_from_config(CONFIG | changes) == shape


@pytest.mark.parametrize("name", CONFIG)
def test_a_configuration_without_a_size_gives_no_shape(name):
    assert shape_from_config({key: value for key, value in CONFIG.items() if key != name}) is None


def test_a_shapes_parameters_are_those_of_its_matrices():
    assert SHAPE.module_sizes == {
        "q_proj": (8, 8), "k_proj": (4, 8), "v_proj": (4, 8), "o_proj": (8, 8), "gate_proj": (16, 8),
        "up_proj": (16, 8), "down_proj": (8, 16),
    }  # fmt: skip
    # two layers of 64 + 32 + 32 + 64 + 3 x 128; two tables of 10 x 8; norms of 2 x (2 x 8 + 2 x 4) + 8
    assert (SHAPE.layer_parameter_count, SHAPE.other_parameter_count) == (1152, 160 + 56)
    assert SHAPE.parameter_count == 1152 + 216
    assert SHAPE._replace(is_tied=True).other_parameter_count == 80 + 56
    lora = LoraSpec(rank=3, target_modules=("q_proj", "down_proj"), has_trained_embedding=True)
    assert SHAPE.adapter_parameter_count(lora) == 2 * 3 * (16 + 24) + 80
    config = SHAPE.configuration(eos_token_id=7)
    assert {name: getattr(config, name) for name in CONFIG} == CONFIG
    assert (config.head_dim, config.tie_word_embeddings, config.eos_token_id) == (4, False, 7)


def test_a_models_positions_are_in_its_folder_or_known(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    assert known_positions(str(tmp_path), None) is None
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    assert known_positions(str(tmp_path), None) == 64
    (tmp_path / "config.json").write_text("{}")
    assert known_positions(str(tmp_path), None) is None
    assert known_positions("Qwen/Qwen3-8B", None) == 40960
    assert known_positions("some/body", None) is None


def test_a_pinned_models_configuration_is_downloaded_once(tmp_path, monkeypatch):
    asked = []

    def download(source, name, *, revision):
        asked.append((source, name, revision))
        if source == "pinned/gone":
            raise OSError("no such repository")
        return str(tmp_path / "config.json")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    for _ in range(2):
        assert find_config("pinned/here", "b9") == tmp_path / "config.json"
    assert find_config("pinned/gone", "b9") is None
    assert asked == [("pinned/here", "config.json", "b9"), ("pinned/gone", "config.json", "b9")]
    for source, revision in (("pinned/here", None), ("Qwen/Qwen3-8B", "b9"), ("", "b9"), (str(tmp_path), "b9")):
        assert find_config(source, revision) is None
    assert len(asked) == 2
