"""Training data of both contracts, from recorded episodes."""

import hashlib
import io
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet

from carryover.tasks.datasets.conversations import TrainingMessage
from carryover.tasks.datasets.dataset_spec import DatasetSpec, ValidationSpec
from carryover.tasks.datasets.extraction import Extraction, extract_conversations
from carryover.tasks.datasets.selection import Candidate, order_candidates, select
from carryover.tasks.datasets.token_costs import TokenCosts, tokenizer_digest
from carryover.tasks.datasets.truncation import CostedMessage, TokenBudget, Truncation, truncate
from carryover.tasks.datasets.validation import GIVEN_UP, judge_traces
from carryover.tasks.services.errors import UserError, name_write_remedy
from carryover.tasks.services.progress import Advance, OpenBar, no_bar
from carryover.tasks.services.whole_files import write_whole
from carryover.tasks.traces.frames import Frame
from carryover.tasks.traces.training_rows import TrainingExampleRow, TrainingOverlapRow
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS, TextFormat

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TRACES_AT_A_TIME = 100
"""Traces tokenized in one go: enough texts for every core, few enough that a bar moves and encodings stay small."""

OMITTED = "[output omitted to fit the context]"
PLACEHOLDERS: dict[TextFormat, str] = {
    "paper": json.dumps({"output": OMITTED}),
    "exact_wire": json.dumps({"observation": {"output": OMITTED}}),
}
"""Placeholder for an observation that does not fit; the only text that no trace holds."""


@dataclass(frozen=True)
class PreparedDataset:
    """Training data of every contract; equal inputs give equal bytes."""

    dataset_id: str
    """Digest of the spec, the tokenizer, and what became of every trace."""
    rows: list[TrainingExampleRow]
    """One row per trace, retained or not, in the order of the contracts and of the shuffle."""
    verdicts: pl.DataFrame
    """Measurements of the data checks, as `judge_traces` returns them."""
    records: dict[str, list[dict[str, Any]]]
    """Retained examples by contract, in order: ids, `token_count`, the dataset's options, and `messages` with role,
    content and `weight`."""

    def jsonl(self, contract: str) -> bytes:
        """Return a contract's examples as JSON lines.

        They are ASCII, so that no reader takes a sign of a text for a line's end. They hold no ids of episodes: equal
        traces give equal bytes, also where they were played twice.
        """
        lines = []
        for record in self.records[contract]:
            kept = {field: value for field, value in record.items() if field != "episode_id"}
            lines.append(json.dumps(kept).encode() + b"\n")
        return b"".join(lines)

    def parquet(self, contract: str) -> bytes:
        """Return a contract's examples as Parquet for Hugging Face `datasets`."""
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(pa.Table.from_pylist(self.records[contract]), buffer)
        return buffer.getvalue()

    def write(self, folder: Path) -> dict[str, Path]:
        """Write `CONTRACT.jsonl` and `CONTRACT.parquet`, each whole.

        Return the JSONL paths, or raise `UserError`.
        """
        for contract in self.records:
            for ending, content in (("parquet", self.parquet), ("jsonl", self.jsonl)):
                path = folder / f"{contract}.{ending}"
                try:
                    write_whole(path, content(contract))
                except OSError as error:
                    way_out = f"{name_write_remedy(error)} and start again"
                    raise UserError(f"cannot write {path}: {error.strerror}; {way_out}") from error
        return {contract: folder / f"{contract}.jsonl" for contract in self.records}

    def token_total(self, contract: str) -> int:
        """Return the tokens of a contract's examples."""
        return sum(record["token_count"] for record in self.records[contract])

    def overlaps(self) -> list[TrainingOverlapRow]:
        """Return how many instances each two arms have in common.

        Keep-first retention does not make it all (C.1).
        """
        kept = {contract: {record["instance_id"] for record in records} for contract, records in self.records.items()}
        return [
            TrainingOverlapRow(
                run_id=self.rows[0].run_id,
                dataset_id=self.dataset_id,
                variant=self.rows[0].variant,
                contract=contract,
                other_contract=other,
                instance_count=len(kept[contract]),
                other_instance_count=len(kept[other]),
                shared_count=len(kept[contract] & kept[other]),
            )
            for contract, other in combinations(self.records if self.rows else (), 2)
        ]


def prepare_dataset(  # noqa: PLR0917 - four tables, a spec and a tokenizer
    episodes: Frame,
    turns: Frame,
    steps: Frame,
    errors: Frame,
    spec: DatasetSpec,
    tokenizer: "PreTrainedTokenizerBase",
    *,
    run_id: str,
    contracts: Sequence[str] = PAPER_CONTRACTS,
    validation: ValidationSpec | None = None,
    open_bar: OpenBar = no_bar,
) -> PreparedDataset:
    """Turn recorded teacher episodes into training data.

    The tables hold rows of `EpisodeRow`, `TurnRow`, `StepRow` and `ErrorRow`. `tokenizer` is that of training with its
    chat template; every length is its count. Each of the `contracts` gets a dataset. The thresholds of the data checks
    are the paper's by default.
    """
    verdicts = judge_traces(episodes, turns, steps, errors, validation or ValidationSpec(), open_bar=open_bar)
    traces = verdicts.filter(pl.col("reason").ne_missing(GIVEN_UP))
    candidates = order_candidates(traces, contracts, spec.shuffle_seed)
    costs = TokenCosts(tokenizer, spec.message_overhead_tokens)
    good = Counter(each.contract for each in candidates if each.reason is None)
    most_kept = sum(min(count, spec.maximum_kept) for count in good.values())

    with open_bar("training text", most_kept, "traces") as advance:
        give_text = partial(_give_text, turns=turns, steps=steps, spec=spec, costs=costs, advance=advance)
        select(candidates, contracts, spec, give_text)
    fates = [[each.contract, each.episode_id, each.status, each.content_digest] for each in candidates]
    identity = [spec.model_dump(mode="json"), tokenizer_digest(tokenizer), fates]
    dataset_id = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
    rows = [_row(each, spec, dataset_id=dataset_id, run_id=run_id) for each in candidates]
    records = {contract: list(_records(candidates, contract, contracts, spec)) for contract in contracts}
    return PreparedDataset(dataset_id, rows, verdicts, records)


def _give_text(
    batch: Sequence[Candidate], *, turns: Frame, steps: Frame, spec: DatasetSpec, costs: TokenCosts, advance: Advance
) -> None:
    extractions = extract_conversations(
        turns, steps, [each.episode_id for each in batch], spec.text_format, spec.fault_weight
    )
    placeholder = TrainingMessage(role="user", content=PLACEHOLDERS[spec.text_format])
    costs.measure([placeholder])
    budget = TokenBudget(spec.token_budget, spec.maximum_sequence_tokens)
    for start in range(0, len(batch), TRACES_AT_A_TIME):
        some = batch[start : start + TRACES_AT_A_TIME]
        found = {each.episode_id: extractions.get(each.episode_id) for each in some}
        # the tokenizer is fastest on many messages at once, so they are measured before any trace is fitted
        extracted = filter(None, found.values())
        costs.measure(chain.from_iterable(extraction.messages for extraction in extracted))
        for candidate in some:
            _fit_extraction(candidate, found[candidate.episode_id], budget, costs, placeholder)
        advance(sum(candidate.truncation is not None for candidate in some))


def _fit_extraction(
    candidate: Candidate,
    extraction: Extraction | None,
    budget: TokenBudget,
    costs: TokenCosts,
    placeholder: TrainingMessage,
) -> None:
    """Give a candidate its text, or the reason why it has none."""
    candidate.reason = _why_no_text(extraction)
    if extraction is None or candidate.reason is not None:
        return
    costed = [costs.costed(message) for message in extraction.messages]
    _fit(candidate, costed, budget, costs.costed(placeholder))


def _records(
    candidates: Sequence[Candidate], contract: str, contracts: Sequence[str], spec: DatasetSpec
) -> Iterator[dict[str, Any]]:
    retained = [each for each in candidates if each.status == "retained"]
    is_mixed = spec.labels != "true" or spec.other_share > 0
    if is_mixed:  # in order of the shuffle, so that the shares of a mixed arm are mixed
        retained.sort(key=lambda each: each.position)
    for candidate in retained:
        if _arm_of(candidate, contracts, spec) == contract:
            yield {
                "episode_id": candidate.episode_id,
                "instance_id": candidate.instance_id,
                "contract": contract,
                "token_count": candidate.token_count,
                **spec.options,
                "messages": [message.model_dump() for message in candidate.messages],
            }


def _arm_of(candidate: Candidate, contracts: Sequence[str], spec: DatasetSpec) -> str:
    """Return the contract whose arm a trace trains.

    Chance shifts all traces of an instance alike.
    """
    chance = random.Random(f"label {spec.shuffle_seed} {candidate.instance_id}").random()
    shift = int(chance < spec.other_share)
    if spec.labels == "shuffled":
        shift = int(chance * len(contracts))
    return contracts[(contracts.index(candidate.contract) + shift) % len(contracts)]


def _why_no_text(extraction: Extraction | None) -> str | None:
    if extraction is None:
        return "extraction_without_task_or_steps"
    return extraction.reason


def _fit(
    candidate: Candidate, messages: Sequence[CostedMessage], budget: TokenBudget, placeholder: CostedMessage
) -> None:
    """Truncate a candidate's messages into the budget.

    Note the exceeded bound where they do not fit.
    """
    truncation = truncate(messages, budget, placeholder)
    if not truncation.reason:
        candidate.truncation = truncation
        return
    left, bound = min(zip(budget.less(messages), budget, strict=True), key=itemgetter(0))
    candidate.reason = truncation.reason
    candidate.threshold = float(bound)
    candidate.measured = float(bound - left)


def _row(candidate: Candidate, spec: DatasetSpec, *, dataset_id: str, run_id: str) -> TrainingExampleRow:
    shared = ("contract", "episode_id", "instance_id", "position", "status")
    fields = {name: getattr(candidate, name) for name in shared}
    reasons = dict.fromkeys(("reason", "measured", "threshold"))
    if candidate.status == "skipped":
        reasons = {name: getattr(candidate, name) for name in reasons}
    return TrainingExampleRow(
        run_id=run_id,
        dataset_id=dataset_id,
        variant=spec.variant,
        **fields,
        **reasons,
        **_sizes(candidate.truncation, spec),
        content_digest=candidate.content_digest,
        other_share=spec.other_share,
        **spec.options,
    )


def _sizes(text: Truncation | None, spec: DatasetSpec) -> dict[str, Any]:
    """Return the sizes of a candidate's text, null without one."""
    if text is None:
        counts = ("token_count", "assistant_token_count", "message_count", "sequence_token_count")
        return {**dict.fromkeys(counts), "is_truncated": False}
    imitated = [each for each in text.messages if each.message.role == "assistant" and each.message.weight]
    return {
        "token_count": text.token_count,
        "assistant_token_count": sum(each.cost - spec.message_overhead_tokens for each in imitated),
        "message_count": len(text.messages),
        "sequence_token_count": text.length,
        "is_truncated": text.is_truncated,
    }
