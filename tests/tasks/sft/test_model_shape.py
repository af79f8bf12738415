"""Parameters of a model from its shape."""

import json

from carryover.tasks.sft.model_shape import KNOWN_SHAPES, shape_of
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
