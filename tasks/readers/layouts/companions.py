"""Files beside traces that hold none, in known layouts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.readers.reader import Record

LAYOUT = "companions"
JOINS_RECORDS = False
_KINDS = (
    {"_data_files", "_fingerprint"},  # state.json of a Hugging Face data set
    {"features", "citation"},  # its dataset_info.json
    {"features", "splits"},
    {"average_is_solved", "num_tasks_executed"},  # summary.json of arXiv 2603.01209's repository
    {"status", "started_at", "finished_at", "error"},  # its result of one task
    {"eval", "plan", "status"},  # header.json of an Inspect log
    {"eval", "plan", "version"},
    {"id", "epoch", "target", "completed"},  # its summaries of samples
    {"id", "agent", "workspace"},  # base_state.json of OpenHands' SDK
    {"model_name_or_path", "instance_id", "model_patch"},  # predictions of SWE-agent
    {"env_id", "num_examples", "rollouts_per_example"},  # metadata.json of verifiers
    {"env_args", "env_id", "model"},
)


def detect(record: Any) -> bool:
    """Tell whether a record describes traces that lie elsewhere."""
    if not isinstance(record, Mapping):
        return False
    if set(record) == {"splits"}:  # dataset_dict.json
        return True
    holds_traces = any(field in record for field in ("messages", "samples", "events", "steps", "trajectory"))
    is_reduction = {"scorer", "samples"} <= record.keys()  # of an Inspect log's reductions.json
    return is_reduction or (not holds_traces and any(kind <= record.keys() for kind in _KINDS))


def read(records: Sequence[Record]) -> Iterator[Any]:
    """Yield nothing."""
    yield from ()
