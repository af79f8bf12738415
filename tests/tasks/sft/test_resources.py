"""Memory and disk of a training from its model's shape."""

from tasks.sft.model_shape import KNOWN_SHAPES
from tasks.sft.resources import GIB, download_bytes, estimate_resources
from tasks.sft.spec import TRAINING

QWEN3_8B = KNOWN_SHAPES["Qwen/Qwen3-8B"]


def test_the_paper_preset_fits_the_papers_gpu():
    estimate = estimate_resources(TRAINING["paper"], QWEN3_8B)
    # 6.95 G in NF4, 1.24 G of embedding and head in two bytes: 3.3 + 2.3 GiB, and the adapter
    assert 5.5 * GIB < estimate.weight_bytes < 6.5 * GIB
    assert estimate.memory_bytes < 80 * GIB


def test_a_model_of_the_hub_is_downloaded_and_no_other(tmp_path):
    # two bytes a parameter
    assert download_bytes(TRAINING["paper"], "Qwen/Qwen3-8B", QWEN3_8B) == 16_381_470_720
    assert download_bytes(TRAINING["paper"], str(tmp_path), QWEN3_8B) == 0
    assert download_bytes(TRAINING["laptop_common"], "", QWEN3_8B) == 0
    assert download_bytes(TRAINING["laptop_scratch"], "some/tokenizer", QWEN3_8B) == 0
