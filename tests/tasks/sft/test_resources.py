"""Memory and disk of a training from its model's shape."""

from carryover.tasks.sft.model_shape import KNOWN_SHAPES
from carryover.tasks.sft.resources import GIB, TILE_POSITIONS, TILE_VOCABULARY, download_bytes, estimate_resources
from carryover.tasks.sft.spec import TRAINING

QWEN3_8B = KNOWN_SHAPES["Qwen/Qwen3-8B"]


def test_the_paper_preset_fits_the_papers_gpu():
    estimate = estimate_resources(TRAINING["paper"], QWEN3_8B)
    # 6.95 G in NF4, 1.24 G of embedding and head in two bytes: 3.3 + 2.3 GiB, and the adapter
    assert 5.5 * GIB < estimate.weight_bytes < 6.5 * GIB
    assert estimate.memory_bytes < 80 * GIB


def test_the_loss_of_packed_sequences_holds_tiles_as_wide_and_high_as_the_library_s():
    from trl.kernels.chunked_logprob import TOKEN_CHUNK_SIZE
    from trl.trainer.utils import _CHUNKED_LOGPROB_CHUNK_SIZE

    assert (TILE_POSITIONS, TILE_VOCABULARY) == (TOKEN_CHUNK_SIZE, _CHUNKED_LOGPROB_CHUNK_SIZE)


def test_logits_of_packed_sequences_take_a_tile_and_of_others_all_their_tokens():
    packed = TRAINING["paper"]
    tokens = packed.batch.max_length
    beside = packed.model_copy(update={"batch": packed.batch.model_copy(update={"packing": False, "tokens": tokens})})
    taken = [estimate_resources(spec, QWEN3_8B).activation_bytes for spec in (packed, beside)]
    assert taken[1] - taken[0] == (tokens * QWEN3_8B.vocabulary_size - TILE_POSITIONS * TILE_VOCABULARY) * 4


def test_a_model_of_the_hub_is_downloaded_and_no_other(tmp_path):
    # two bytes a parameter
    assert download_bytes(TRAINING["paper"], "Qwen/Qwen3-8B", QWEN3_8B) == 16_381_470_720
    assert download_bytes(TRAINING["paper"], str(tmp_path), QWEN3_8B) == 0
    assert download_bytes(TRAINING["laptop_common"], "", QWEN3_8B) == 0
    assert download_bytes(TRAINING["laptop_scratch"], "some/tokenizer", QWEN3_8B) == 0
