"""The closed choices of plans, episodes and rows, each once."""

from enum import StrEnum
from typing import Literal


class ContractName(StrEnum):
    """Contracts on the lifetime of bindings."""

    PERSISTENT = "persistent"
    STATELESS = "stateless"
    INJECTED = "injected"
    """Stateless, with the environment's knowledge bound anew before each block (arXiv 2601.01569)."""
    INJECTED_PERSISTENT = "injected+persistent"


PAPER_CONTRACTS = (ContractName.PERSISTENT, ContractName.STATELESS)
"""The two of arXiv 2603.01209: what a plan trains on and plays under where it names no others."""
LETTERS: dict[str, str] = {
    ContractName.PERSISTENT: "P",
    ContractName.STATELESS: "S",
    ContractName.INJECTED: "I",
    ContractName.INJECTED_PERSISTENT: "IP",
}
"""Abbreviation of a contract in a cell: `P->S`."""

Purpose = Literal["teacher", "evaluation"]
"""Purpose of an episode: training traces by a teacher, or the evaluation of a model."""
Split = Literal["train", "evaluation"]
"""Purpose of an instance."""
Visibility = Literal["declared", "as_trained"]
"""Whether prompt and header follow the runtime in force or the contract of training."""
Header = Literal["names", "none"]
"""Whether the header lists names."""
Scale = Literal["smoke", "laptop", "pretrained", "paper"]
"""Scale of a plan; results of different scales are never compared."""
RunScale = Literal[Scale, "import"]
"""Scale of rows: a plan's, or that of imported episodes."""
BaseName = Literal["scratch", "common", "both", "hub"]
"""Base that models are trained from."""
Backend = Literal["fork_tree", "jupyter"]
"""Interpreter of the episodes."""
TokenSource = Literal["server", "training_tokenizer", "script"]
"""Counter of an episode's tokens."""
RowTokenSource = Literal[TokenSource, "imported"]
EventKind = Literal["bind", "read", "import", "call_site"]
"""Kind of an event of a name in a block."""
TextFormat = Literal["paper", "exact_wire"]
"""Form of a training conversation."""
Retention = Literal["keep_first", "paired"]
"""Which traces training data keep."""
Matching = Literal["episodes", "tokens"]
"""What the contracts' training data are equal in."""
Labels = Literal["true", "shuffled"]
"""Whether training data bear the contract that they were played under."""
KeptStatus = Literal["retained", "skipped", "unprocessed"]
"""Whether training data keep a trace."""
TableFormat = Literal["rich", "markdown", "latex", "csv"]
"""How a table is printed."""
ExportFormat = Literal["authors", "jsonl", "parquet", "atif", "inspect", "openinference"]
"""Layout of exported episodes: the authors' files, chat as JSON lines or Parquet, ATIF, Inspect's logs, spans."""
RunStatus = Literal["finished", "failed", "stopped"]
"""End of a run."""

PAPER_FAMILY = "knapsack"
"""The paper's task family; rows without a word for theirs are of it."""
FOREIGN_FAMILY = "foreign"
"""Family of imported episodes that name none."""
EPISODE_HEADER = "x-episode-id"
"""Request header by which a server finds the key-value cache of an episode."""


class FinishReason(StrEnum):
    """How an episode ended (arXiv 2603.01209, Table 6).

    The study's harness records the first five; `answer`, `timeout`, `max_tokens` and `max_steps` end a CaveAgent's
    episodes (arXiv 2601.01569, algorithm 1); the others come with imported traces.
    """

    FINISH_TOOL = "finish_tool"
    MAX_TURNS = "max_turns"
    MAX_TOKENS = "max_tokens"
    CONTEXT_LENGTH = "context_length"
    ERROR = "error"
    TIMEOUT = "timeout"
    ANSWER = "answer"
    MAX_STEPS = "max_steps"
    LENGTH = "length"
    EXCEPTION = "exception"
    TOOL_ERROR = "tool_error"
    OTHER = "other"


class ErrorKind(StrEnum):
    """Where an error came from."""

    INTERPRETER = "interpreter"
    TOOL = "tool"
    CAP = "cap"
    PROTOCOL = "protocol"
    MODEL = "model"
