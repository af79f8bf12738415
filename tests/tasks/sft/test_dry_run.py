"""What a training would take, without GPU or weights."""

import pytest

from carryover.tasks.datasets.conversations import Conversation, TrainingMessage, write_conversations
from carryover.tasks.running.errors import UserError
from carryover.tasks.sft.batches import LengthBatches
from carryover.tasks.sft.dry_run import plan_training
from carryover.tasks.sft.example_lengths import ExpectedExamples
from carryover.tasks.sft.load import load_training_tokenizer
from carryover.tasks.sft.prepare import prepare_data
from carryover.tasks.sft.spec import TRAINING, TokenizerSpec
from carryover.tasks.sft.tokenizer import build_tokenizer

PAPER = TRAINING["paper"]
UNVALIDATED = PAPER.model_copy(update={"validation_share": 0.0})


def _with_batch(**changes):
    return PAPER.model_copy(update={"batch": PAPER.batch.model_copy(update=changes)})


def _dataset(path, count, characters):
    messages = (TrainingMessage(role="user", content="ab"), TrainingMessage(role="assistant", content="x" * characters))
    write_conversations(path, [Conversation(messages=messages)] * count)
    return path


def _expected(*lengths):
    return ExpectedExamples(lengths, "a guess")


def test_lengths_that_are_expected_are_packed_as_the_training_packs_them():
    # four of 9,000 have a sequence each and take a 7,000 in; the 384 is with one of them
    estimate = plan_training(UNVALIDATED, _expected(9000, 9000, 9000, 9000, 7000, 7000, 7000, 7000, 384))
    assert (estimate.example_count, estimate.token_count, estimate.sequence_count) == (9, 64_384, 4)
    assert estimate.filled_share == 64_384 / (4 * 16_384)
    assert estimate.step_count == 3  # one a pass: 16 sequences are accumulated
    assert estimate.effective_batch == "1 sequence x 16 accumulated x 16,384 tokens = 262,144 tokens per step"
    assert set(estimate.hours) == {"one A100", "one H100"}


def test_examples_longer_than_half_a_sequence_share_none():
    estimate = plan_training(UNVALIDATED, _expected(*[8193] * 40))
    assert (estimate.sequence_count, estimate.step_count) == (40, 9)


def test_examples_longer_than_a_sequence_fill_one_each():
    estimate, filling = (plan_training(UNVALIDATED, _expected(*[length] * 20)) for length in (30_000, 16_384))
    assert (estimate.sequence_count, estimate.token_count, estimate.filled_share) == (20, 20 * 16_384, 1.0)
    assert estimate.hours == filling.hours
    assert len(estimate.warnings) == 1


def test_estimates_are_labelled_for_a_person():
    text = "\n".join(plan_training(PAPER, _expected(*[8193] * 40)).lines())
    for words in (
        "examples: 38 to train, 2 to validate",
        "tokens per pass: about 311,334 (estimated from a guess)",
        "sequences per pass: about 38, 50% full",
        "optimizer steps: about 9",
        "checkpoints: about every 3 steps, the last 3 are kept",
        "memory (estimate)",
        "GiB, and 15.3 for the base's download",
        "hours on one A100 (estimate)",
    ):
        assert words in text


def test_a_local_tokenizer_counts(tmp_path):
    tokenizer = build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), tmp_path / "tokenizer")
    estimate = plan_training(PAPER, _dataset(tmp_path / "data.jsonl", 20, 3), tokenizer)
    assert estimate.token_source == "counted"
    # 26 bytes and control tokens as in ChatML, and the empty think block of 19 bytes
    assert estimate.token_count == 19 * (26 + 19)
    assert (estimate.sequence_count, estimate.step_count) == (1, 3)
    assert "tokens per pass: 855 (counted)" in estimate.lines()


@pytest.mark.parametrize("seed", [0, 1])
def test_a_dry_run_holds_out_and_batches_what_the_training_does(tmp_path, seed):
    path = tmp_path / "data.jsonl"
    conversations = [
        Conversation(
            messages=(
                TrainingMessage(role="user", content="ab"),
                TrainingMessage(role="assistant", content="x" * 100 * number, weight=1 if number else 0),
            )
        )
        for number in range(20)  # the first has nothing to learn
    ]
    write_conversations(path, conversations)
    tokenizer = build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), tmp_path / "tokenizer")
    spec = TRAINING["laptop_scratch"].model_copy(update={"validation_share": 0.25})
    planned = plan_training(spec, path, tokenizer, seed=seed)
    data = prepare_data(
        conversations,
        load_training_tokenizer(spec, tokenizer),
        max_length=spec.batch.max_length,
        validation_share=spec.validation_share,
        seed=seed,
    )
    assert data.validation is not None
    assert (planned.example_count, planned.validation_count) == (len(data.train), len(data.validation)) == (14, 5)
    assert planned.token_count == data.token_count
    lengths = [len(ids) for ids in data.train["input_ids"]]
    assert planned.sequence_count == len(LengthBatches(lengths, token_budget=spec.batch.tokens, seed=seed))
    without_tokenizer = plan_training(spec, path, seed=seed)
    assert (without_tokenizer.example_count, without_tokenizer.validation_count) == (14, 5)


def test_data_without_a_reply_to_learn_are_refused_before_anything_starts(tmp_path):
    path = tmp_path / "data.jsonl"
    shown = TrainingMessage(role="assistant", content="x", weight=0)
    write_conversations(path, [Conversation(messages=(TrainingMessage(role="user", content="ab"), shown))])
    tokenizer = build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), tmp_path / "tokenizer")
    for counted_by in (None, tokenizer):
        with pytest.raises(UserError, match="there is nothing to learn"):
            plan_training(PAPER, path, counted_by)


def test_without_a_tokenizer_characters_count(tmp_path):
    estimate = plan_training(PAPER, _dataset(tmp_path / "data.jsonl", 20, 7))
    assert estimate.token_source == "estimated from characters"
    assert estimate.token_count == 19 * (5 + 1 + 5 + 2)


def test_a_small_model_is_planned_in_batches_on_a_core(tmp_path):
    estimate = plan_training(TRAINING["smoke"], _dataset(tmp_path / "data.jsonl", 20, 7))
    assert estimate.step_count == 1
    assert "3,500 tokens per step at most" in estimate.effective_batch
    assert set(estimate.hours) == {"one CPU core"}


def test_adapters_on_a_base_of_the_study_s_own_take_what_its_shape_says():
    adapter = TRAINING["laptop_common"]
    assert plan_training(adapter, _expected(500, 600)).resources is None
    estimate = plan_training(adapter, _expected(500, 600), base_training=TRAINING["laptop_base"])
    assert estimate.resources is not None
    assert adapter.lora is not None
    # per layer 64 x (128 + 128) for four projections, 64 x (128 + 256) for three; the embedding of 640 x 128
    assert estimate.resources.trained_parameter_count == 3 * 64 * (4 * 256 + 3 * 384) + 640 * 128
    assert set(estimate.hours) == {"one CPU core"}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (_with_batch(max_length=65_536), "beyond the model's 40,960 positions"),
        (_with_batch(sequences=64), "GiB and the GPU has 80"),
        (PAPER.model_copy(update={"validation_share": 0.9999}), "leaves nothing to train on"),
    ],
)
def test_a_setting_that_cannot_work_fails_before_anything_starts(spec, message):
    with pytest.raises(UserError, match=message):
        plan_training(spec, _expected(*[4631] * 1000))


def test_no_examples_at_all_are_nothing_to_learn():
    with pytest.raises(UserError, match="there is nothing to learn"):
        plan_training(PAPER, _expected())


def test_a_counted_length_is_refused_and_an_estimated_one_is_a_warning(tmp_path):
    spec = _with_batch(max_length=40)
    data = _dataset(tmp_path / "data.jsonl", 20, 350)
    tokenizer = build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), tmp_path / "tokenizer")
    with pytest.raises(UserError, match=r"conversation 1 has \d+ tokens, more than batch.max_length 40"):
        plan_training(spec, data, tokenizer)
    estimate = plan_training(spec, data)
    # 5 + 1 of the user, 5 + 100 of the reply
    assert estimate.lines()[-1] == (
        "warning: a conversation has about 111 tokens (estimated from characters), more than batch.max_length 40; "
        "truncate the dataset to the training length"
    )
    assert plan_training(spec.model_copy(update={"batch": PAPER.batch}), data).warnings == ()
