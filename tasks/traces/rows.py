"""Rows of a recorded episode: one frozen model per table.

A row model is the only place where a table's columns are declared: the landing zone derives its Arrow schemas from
it (`storage/zone/schemas.py`), and a merge brings an older warehouse to it. A column that is added later is nullable or
has a default, which rows of older bundles get. `KEY` names the columns that identify a row by
content, so that landing the same row twice is harmless.
"""

from datetime import datetime
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, model_validator

from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.vocabulary import (
    PAPER_FAMILY,
    ErrorKind,
    EventKind,
    FinishReason,
    Header,
    Purpose,
    RowTokenSource,
    RunScale,
    Split,
    Visibility,
)


class Row(FrozenModel):
    """A row of one table, landed by the run it names."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]
    LATEST_WINS: ClassVar[bool]
    """Whether a row landed later replaces one of the same key; set for rows computed from other rows."""

    run_id: str
    """Run that landed the row."""

    def __init_subclass__(cls, *, table: str, key: tuple[str, ...], latest_wins: bool = False, **config: Any) -> None:
        """Set the constants of a table, which its class statement names."""
        super().__init_subclass__(**config)
        cls.TABLE = table
        cls.KEY = key
        cls.LATEST_WINS = latest_wins


HARMLESS_ERRORS = ("ToolRuntimeException", "Tool call limit exceeded")
"""Texts of errors that no density counts: the environment refused, or the per-turn cap was spent."""


class InstanceRow(Row, table="instances", key=("instance_id", "split")):
    """An instance with its solution; never shown to an agent.

    Columns about items, weights and classes are the Opaque Knapsack's, and null or empty for other families.
    """

    instance_id: str
    """Content hash of the instance."""
    split: Split
    """What the instance is for."""
    bucket: str
    """Difficulty bucket, e.g. `easy`."""
    task_id: str
    """Family and seed, `knapsack-%010d` as the authors write it, kept for export."""
    seed: int
    """Seed that the instance is a function of."""
    item_count: int | None = None
    capacity: int | None = None
    """Largest total weight, in weight units."""
    inspection_budget: int | None = None
    """Number of distinct items that may be inspected."""
    class_universe: tuple[str, ...] = ()
    """Classes that occur among the items, sorted."""
    allowed_classes: tuple[str, ...] = ()
    """Classes that may be taken, sorted; hidden from the agent."""
    optimal_item_ids: tuple[str, ...] = ()
    """Items of one optimal set, sorted; hidden from the agent."""
    optimal_value: int | None = None
    optimal_weight: int | None = None
    spec_json: str
    """The bucket's spec as canonical JSON."""
    family: str = PAPER_FAMILY
    """Task family."""
    content_json: str | None = None
    """The instance as canonical JSON, for families other than the knapsack; hidden from the agent."""


class ItemRow(Row, table="items", key=("instance_id", "item_id")):
    """An item of an instance."""

    instance_id: str
    item_id: str
    weight: int
    value: int
    item_class: str
    is_allowed: bool
    """Whether the item's class may be taken."""
    is_optimal: bool
    """Whether the item is in the stored optimal set."""


class EpisodeRow(Row, table="episodes", key=("episode_id",)):
    """One agent run on one instance."""

    SAME_EPISODE: ClassVar[tuple[str, ...]] = (
        "plan_digest", "purpose", "variant", "base", "model_name", "train_contract", "runtime_contract", "visibility",
        "header", "bucket", "split", "instance_id", "training_seed", "replicate",
    )  # fmt: skip
    """Rows that agree in these are attempts at one episode, also of a model trained anew; the last one counts."""

    episode_id: str
    """Digest of stage identity, condition, instance, replicate and attempt."""
    plan_digest: str
    """Digest of the resolved plan that played the episode; `reused_episodes` names the others that it belongs to."""
    scale: RunScale
    """Scale of that plan; results of different scales are never mixed."""
    purpose: Purpose
    variant: str
    """Arm of an ablation or control; `main` for the study itself."""
    base: str
    """Base that the model was trained from: `scratch`, `common`, `both`, `hub`; `teacher` for a teacher's episode."""
    model_name: str
    """Name under which the model was asked."""
    model_digest: str | None
    """Digest of the weights or adapter, where known."""
    train_contract: str | None
    """Contract of the training traces; null for the base model and a teacher's traces. Of an evaluated script (base
    `teacher`), the contract that it is written for."""
    runtime_contract: str
    """Contract in force."""
    shown_contract: str
    """Contract that prompt and header state to the model."""
    visibility: Visibility
    """Whether prompt and header follow the runtime in force or the contract of training."""
    header: Header
    """Whether the header lists names."""
    bucket: str
    split: Split
    is_out_of_distribution: bool
    """Whether the bucket differs from the one of training."""
    instance_id: str
    training_seed: int | None
    replicate: int
    attempt: int
    """0 for the first; an episode that ended with `error` runs again as the next attempt."""
    tool_call_cap: int | None
    """Calls allowed per turn; null for none."""
    max_turns: int
    max_tokens: int | None = None
    """Prompt and completion tokens allowed together; null for no limit."""
    concurrency: int | None = None
    """Episodes played at a time at most, which a batching server's arithmetic can depend on; null where unknown."""
    finish_reason: FinishReason
    score: float | None
    """Normalized optimality in [0, 1]; null where the state is unknown."""
    is_solved: bool
    value_taken: int | None = None
    """Value of the items taken; null for families other than the knapsack, like the next three."""
    weight_taken: int | None = None
    taken_count: int | None = None
    inspected_count: int | None = None
    turn_count: int
    """Model replies, blocks or not."""
    step_count: int
    """Executed blocks."""
    call_site_count: int
    """Call sites of tools in the code (arXiv 2603.01209, Table 1 counts these)."""
    executed_call_count: int
    """Tool calls that reached the host; 0 for imported traces, which hold none, and null in the marts."""
    prompt_tokens: int
    cached_prompt_tokens: int
    completion_tokens: int
    total_tokens: int | None = None
    """Prompt and completion tokens together; null where nobody counted them."""
    token_source: RowTokenSource
    """Who counted the tokens; `script` is an oracle's.

    Imported sums of 0 were counted by nobody, and are null in the marts.
    """
    training_tokens: int | None
    """Tokens of the conversation, counted once with the training tokenizer; null where there is none."""
    injected_fault_count: int
    """Faults that the harness injected and that took effect."""
    model_seconds: float
    execution_seconds: float
    wall_seconds: float
    started_at: datetime
    contract_json: str
    """Declared contract: version, lifetime, scope, header, caps, prompt and code hashes, backend, sandbox level."""
    sandbox_level: str
    backend: str
    is_contract_verified: bool
    """Whether the canary agreed with the contract before every step; false where no step was run. Under a persistent
    contract the block's process tells the canary, and hostile code can forge it."""
    error_message: str | None
    """Why the harness or the client gave up, for `error`; the foreign word, for `other`."""
    agent: Literal["study", "cave", "calls"] | None = "study"
    """Which loop played it: the study's (arXiv 2603.01209), CaveAgent's (arXiv 2601.01569), or native calls'."""
    stage_digest: str | None = None
    """Identity of the stage that played the episode; null for imported ones."""
    prompt_set: str | None = None
    """Prompts: `full` as the paper's with demonstrations, or `compact` in a few lines; null before that was recorded
    and for imported episodes."""
    habits_json: str | None = None
    """Habits of a scripted teacher in this episode as a JSON object, drawn per instance and equal under all contracts;
    null for a teacher of fixed habits and for models."""
    family: str = PAPER_FAMILY
    """Task family of the instance; `cave` for a conversation of CaveAgent's suites."""
    metrics_json: str | None = None
    """Numbers of the family's own about the end of the episode, by name, as JSON; null where nobody took them."""

    @model_validator(mode="before")
    @classmethod
    def _with_total_tokens(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        prompt = values.get("prompt_tokens")
        completion = values.get("completion_tokens")
        is_uncounted = values.get("token_source") == "imported" and 0 in (prompt, completion)
        if prompt is None or completion is None or is_uncounted:
            return values
        return {**values, "total_tokens": prompt + completion}


class TurnRow(Row, table="turns", key=("episode_id", "turn")):
    """A model reply and the observation that answered it."""

    episode_id: str
    turn: int
    """Counted from 1; turn 0 holds the opening messages as JSON in `observation` and has no reply."""
    assistant_text: str
    """The raw reply."""
    observation: str | None
    """The user message that followed, exactly as sent; null after the last turn."""
    block_count: int
    """Fenced blocks in the reply; only the first runs."""
    has_system_note: bool
    model_finish_reason: str
    """What the server said: `stop`, `length`, ..."""
    prompt_tokens: int
    cached_prompt_tokens: int
    completion_tokens: int
    decoding_seed: int | None
    model_seconds: float
    active_globals: tuple[str, ...]
    last_step_globals: tuple[str, ...]
    is_replayed: bool | None = None
    """Whether the reply was kept from another episode that paid for it; null before that was recorded."""


class StepRow(Row, table="steps", key=("episode_id", "step")):
    """One executed block."""

    episode_id: str
    step: int
    """Counted from 1 over executed blocks."""
    turn: int
    code: str
    output: str
    result: str | None
    """The last expression's value as text."""
    error: str | None
    """The error text of the observation, null for none."""
    error_kind: ErrorKind | None
    error_type: str | None
    """Class name of the exception that ended the block."""
    is_parsed: bool
    """Whether the block is valid Python."""
    import_count: int
    """Import and ImportFrom statements."""
    call_site_count: int
    executed_call_count: int
    active_globals_before: tuple[str, ...]
    """User names alive when the step started."""
    active_globals: tuple[str, ...]
    """User names alive after the step under the contract in force, as the block's process claims: it can forge them."""
    last_step_globals: tuple[str, ...]
    """User names that existed when the block ended, as the block's process claims."""
    state_event: Literal["kept", "rolled_back", "lost", "unknown"]
    """What became of the interpreter: kept, rolled back to before the step, or lost; `unknown` where an imported trace
    does not hold the names alive after the step, whose lists are empty then."""
    state_hash: str | None
    """Hash over the user names that have one, as the block's process claims: it can forge it."""
    injected_fault: str | None
    """`drop:NAME` or `fail:TOOL` where the harness injected a fault that took effect."""
    execution_seconds: float


class NameEventRow(Row, table="name_events", key=("episode_id", "step", "sequence")):
    """A name bound or read, an import, or a tool's call site."""

    episode_id: str
    step: int
    sequence: int
    """Order of evaluation inside the block, from 0."""
    kind: EventKind
    name: str
    """User name, root module, or tool."""
    line: int
    is_definition: bool
    """For `bind`: by def or class."""
    is_deferred: bool
    """Inside a function body, so evaluated only when it is called."""
    is_live_before: bool
    """Whether the name was in active_globals when the step started."""


class ToolCallRow(Row, table="tool_calls", key=("episode_id", "step", "call")):
    """A tool call that reached the host."""

    episode_id: str
    step: int
    call: int
    """Counted from 1 within the step."""
    tool: str
    arguments_json: str
    result_json: str | None
    """What the tool returned."""
    error_type: str | None
    """Class name of the exception that the call raised; null where it raised none."""
    error_message: str | None
    """Message that the block got where the call failed."""
    is_caught: bool
    """For an errored call: whether the block caught the error."""
    is_injected: bool
    """Whether the harness made the call fail."""
    seconds: float


class ErrorRow(Row, table="errors", key=("episode_id", "turn", "error_index")):
    """An error of an episode, caught by the block or not."""

    episode_id: str
    turn: int
    error_index: int
    """Counted from 0 within the turn."""
    step: int | None
    """The step it happened in; null for a turn without a block."""
    kind: ErrorKind
    error_type: str
    """Class name of the exception, whether the block caught it or ended with it."""
    message: str
    is_caught: bool
    """Caught by the block, so not part of the observation."""
    is_injected: bool
    """Caused by a fault that the harness injected."""
    is_missing_name: bool
    """NameError, UnboundLocalError or `is not defined` (arXiv 2603.01209, D.1) that no injected fault caused."""
    is_injected_missing_name: bool = False
    """Such an error that an injected fault caused."""


class RuntimeEventRow(Row, table="runtime_events", key=("episode_id", "sequence")):
    """A change of an interpreter's state other than a step.

    Also a place in a block that the static policy forbids (`policy_violation`): the block was not run.
    """

    episode_id: str
    sequence: int
    step: int
    """Steps executed before the event."""
    kind: str
    name: str | None
    """Snapshot, variable or function concerned; the name that is forbidden."""
    detail_json: str | None


EPISODE_TABLES: tuple[type[Row], ...] = (
    EpisodeRow,
    TurnRow,
    StepRow,
    NameEventRow,
    ToolCallRow,
    ErrorRow,
    RuntimeEventRow,
)
"""The tables of one recorded episode; the first decides whether the others are inserted."""
