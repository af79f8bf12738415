"""Rows about training: verdicts on traces, the examples of datasets, fine-tunings."""

from datetime import datetime

from pydantic import ConfigDict

from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.rows import Row
from carryover.tasks.traces.vocabulary import KeptStatus, Labels, Matching, Retention, TextFormat


class TraceVerdictRow(Row, table="trace_verdicts", key=("validation_digest", "episode_id")):
    """A trace's data checks, and the first rule that it fails (C.1.1)."""

    validation_digest: str
    """Digest of the thresholds."""
    episode_id: str
    contract: str
    """Contract in force."""
    instance_id: str
    replicate: int
    is_valid: bool
    reason: str | None
    """First failing rule, or `given_up` for an episode that ended with `error` for good; null for a valid trace."""
    measured: float | None
    """What that rule measured."""
    threshold: float | None
    """The bound that it broke."""
    recorded_step_count: int
    result_count: int
    """1 where the episode has a score, else 0."""
    score: float | None
    finish_call_count: int
    """Steps that call finish() among the last ones looked at."""
    loop_similarity: float | None
    """Smallest similarity of the last text with the ones before it: exact above the threshold, else an upper bound."""
    error_density: float | None
    """Steps that end with a bad error, over all steps; injected faults left out."""


class TrainingExampleRow(Row, table="training_examples", key=("dataset_id", "episode_id")):
    """A teacher trace as training data, kept or not."""

    dataset_id: str
    """Digest of the dataset's spec and its source episodes."""
    variant: str
    contract: str
    episode_id: str
    instance_id: str
    position: int
    """Place in the shuffled order, from 0."""
    status: KeptStatus
    reason: str | None
    """Why it was skipped."""
    measured: float | None
    threshold: float | None
    token_count: int | None
    """Tokens after truncation, with the per-message cost of arXiv 2603.01209, C.1."""
    assistant_token_count: int | None
    message_count: int | None
    is_truncated: bool
    text_format: TextFormat
    retention: Retention
    matching: Matching
    content_digest: str | None
    labels: Labels | None = None
    """Whether the arms are their own contract's traces; null before that was recorded."""
    other_share: float | None = None
    """Share of instances whose traces train the other contract's arm; null before that was recorded."""
    fault_weight: int | None = None
    """Training weight of replies that met an injected fault; null before that was recorded."""
    sequence_token_count: int | None = None
    """Tokens that the training sees, chat template included; null for what is not retained."""


class TrainingOverlapRow(Row, table="training_overlaps", key=("dataset_id", "contract", "other_contract")):
    """The instances that two arms of a dataset have in common."""

    dataset_id: str
    variant: str
    contract: str
    other_contract: str
    instance_count: int
    """Instances that the first arm keeps."""
    other_instance_count: int
    shared_count: int
    """Instances that both keep."""


class TrainingRunRow(Row, table="training_runs", key=("training_run_id",), latest_wins=True):
    """One fine-tuning."""

    training_run_id: str
    dataset_id: str
    variant: str
    contract: str | None
    """Contract of the training traces; null for a base."""
    base: str
    training_seed: int
    base_model: str
    model_digest: str
    output_path: str
    parameter_count: int
    trained_parameter_count: int
    token_count: int
    """Tokens seen, all epochs."""
    step_count: int
    """Optimizer steps."""
    final_loss: float
    settings_json: str
    device: str
    attention: str
    """Implementation of attention that computed it, e.g. `flex_attention`."""
    wall_seconds: float
    started_at: datetime


class PolicyUpdate(FrozenModel):
    """Episodes of an update, played with the weights before it."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    policy_update: int
    """From 1."""
    episode_count: int
    missed_share: float
    """Episodes with a block that met a missing name."""
    unfinished_share: float
    """Episodes that did not end by the finishing tool."""
    mean_score: float
    mean_reward: float
    """Score less the price of the replies: what the update learned from."""
    mean_reply_count: float
    """Replies per episode."""
    mean_completion_tokens: float
    """Tokens that the model wrote, per episode."""
    mean_tokens: float
    """Tokens of the conversation, per episode."""
    wall_seconds: float
    """Of playing the episodes."""


class PolicyUpdateRow(
    PolicyUpdate, Row, table="policy_updates", key=("reinforcement_id", "policy_update"), latest_wins=True
):
    """An update of a reinforcement: the episodes that it learned from, played with the weights before it."""

    reinforcement_id: str
    """Folder of the reinforced model."""
    train_contract: str
    """Contract of the traces that the model was trained on before."""
    runtime_contract: str
    """Contract of the runtime that it is reinforced in."""
    training_seed: int


class TrainingMetricRow(Row, table="training_metrics", key=("training_run_id", "optimizer_step"), latest_wins=True):
    """A logging step of a fine-tuning."""

    training_run_id: str
    optimizer_step: int
    epoch: float
    loss: float
    learning_rate: float
    gradient_norm: float | None
    token_count: int
    """Tokens seen so far, all epochs."""
    wall_seconds: float
    token_accuracy: float | None
    """Share of learned tokens that were the most likely ones, since the previous row."""
    entropy: float | None
    """Mean entropy of the next token at learned positions, in nats, since the previous row."""
    peak_memory_bytes: int | None
    """Largest allocation of the GPU so far; without one, of the process."""
    utilization: float | None
    """Share of the GPU's peak operations since the previous row; null without a known GPU."""
    validation_loss: float | None
    """Loss on the held-out conversations at this step; null where it was not taken."""
