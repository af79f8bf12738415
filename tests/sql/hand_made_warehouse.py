"""A warehouse in memory whose rows a test makes by hand, each factory taking only what matters."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import count
from typing import Any, Literal

from duckdb import DuckDBPyConnection

from carryover.storage.warehouse.mart_sources import MartSource, read_mart_sources
from carryover.storage.zone.schemas import to_arrow
from carryover.tasks.analysis.queries import table_query
from carryover.tasks.traces.events import name_event_rows, parse_block
from carryover.tasks.traces.result_rows import ClaimRow, StatisticRow
from carryover.tasks.traces.rows import EpisodeRow, ErrorRow, InstanceRow, Row, StepRow
from carryover.tasks.traces.study_rows import RunRow
from carryover.tasks.traces.tables import TABLES
from carryover.tasks.traces.training_rows import TrainingExampleRow
from carryover.tasks.traces.vocabulary import LETTERS, ErrorKind, FinishReason

TOOLS = ("inspect", "take_item", "list_items", "finish")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
TEACHERS = {"laptop": "scripted", "paper": "gemini-3-flash-preview", "import": "large"}
CONTRACTS = {**{letters: contract for contract, letters in LETTERS.items()}, "base": None}

HELD = " union all ".join(f"(select '{table}' from main.{table} limit 1)" for table in TABLES)
"""Names of the tables that hold a row: to ask takes a third of the time of emptying every table."""


@cache
def marts_behind(query: str) -> tuple[MartSource, ...]:
    """Return the marts that a query reads, in the order of their dependencies."""
    text = query
    marts = []
    for source in reversed(read_mart_sources()):
        if re.search(rf"\b{source.name}\b", text):
            text += source.statement
            if source.schema == "marts":
                marts.append(source)
    return tuple(reversed(marts))


class HandMade:
    """Rows of one small warehouse; `table` answers a query of `sql/tables` on them.

    Marts are computed when a query reads them: as views, they would be planned anew within every query.
    """

    def __init__(self, connection: DuckDBPyConnection) -> None:
        for (table,) in connection.execute(HELD).fetchall():
            connection.execute(f"delete from main.{table}")
        self._connection = connection
        self._added: dict[type[Row], list[Row]] = defaultdict(list)
        self._computed: set[str] = set()
        self._numbers = count(1)

    def add(self, *rows: Row) -> None:
        for row in rows:
            self._added[type(row)].append(row)

    def add_again(self, changed: Callable[[Row], Row | None]) -> None:
        """Add the rows once more as a function changes them; it returns None for what it leaves out."""
        rows = [row for of_model in self._added.values() for row in of_model]
        self.add(*(again for again in map(changed, rows) if again is not None))

    @property
    def connection(self) -> DuckDBPyConnection:
        """The database, to be read or changed in other ways."""
        self._bring_up_to_date(" ".join(source.name for source in read_mart_sources()))
        self._computed.clear()
        return self._connection

    def _bring_up_to_date(self, query: str) -> None:
        for model, rows in self._added.items():
            self._connection.register("arrived", to_arrow(rows))
            insert = "insert or ignore" if model is InstanceRow else "insert"  # cells share instances
            self._connection.execute(f"{insert} into main.{model.TABLE} by name select * from arrived")
            self._computed.clear()
        self._added.clear()
        for source in marts_behind(query):
            if source.name not in self._computed:
                self._connection.execute(source.creation("table"))
                self._computed.add(source.name)

    def instance(
        self,
        instance_id: str,
        *,
        capacity: int = 50,
        budget: int = 10,
        split: Literal["train", "evaluation"] = "evaluation",
    ) -> None:
        self.add(
            InstanceRow(
                run_id="run",
                instance_id=instance_id,
                split=split,
                bucket="small",
                task_id="knapsack-0000000001",
                seed=1,
                item_count=12,
                capacity=capacity,
                inspection_budget=budget,
                class_universe=("A", "B"),
                allowed_classes=("A",),
                optimal_item_ids=("item_1",),
                optimal_value=100,
                optimal_weight=40,
                spec_json="{}",
            )
        )

    def run(
        self,
        run_id: str = "run",
        plan_digest: str = "plan",
        scale: Literal["laptop", "pretrained", "paper"] = "laptop",
        base_model: str = "Qwen/Qwen3-8B",
        base_title: str | None = None,
    ) -> None:
        """Add a run; the bases of a plan on a hub's model are of one model."""
        training = {"base_model": base_model, "base_title": base_title}
        parts = [{"base": base, "training": training} for base in ("common", "hub")]
        self.add(
            RunRow(
                run_id=run_id,
                flow="reproduce_study",
                plan_name=scale,
                plan_digest=plan_digest,
                scale=scale,
                plan_json=json.dumps({"parts": [] if scale == "laptop" else parts}),
                environment_json="{}",
                started_at=NOW,
            )
        )

    def episode(self, cell: str = "P->P", instance_id: str = "i1", score: float | None = 0.5, **values: Any) -> str:
        """Add an episode of a cell such as `P->S`, `base->P` or `teacher->S` and return its id."""
        train, runtime = cell.split("->")
        is_teacher = train == "teacher"
        defaults: dict[str, Any] = {
            "run_id": "run",
            "episode_id": f"e{next(self._numbers):02d}",
            "plan_digest": "plan",
            "scale": "laptop",
            "purpose": "teacher" if is_teacher else "evaluation",
            "variant": "main",
            "base": "teacher" if is_teacher else "common",
            "model_name": TEACHERS[values.get("scale", "laptop")] if is_teacher else "model",
            "model_digest": None,
            "train_contract": None if is_teacher else CONTRACTS.get(train, train),
            "runtime_contract": CONTRACTS.get(runtime, runtime),
            "shown_contract": CONTRACTS.get(runtime, runtime),
            "visibility": "declared",
            "header": "names",
            "bucket": "small",
            "split": "evaluation",
            "is_out_of_distribution": False,
            "instance_id": instance_id,
            "training_seed": None if is_teacher or train == "base" else 0,
            "replicate": 0,
            "attempt": 0,
            "tool_call_cap": 25,
            "max_turns": 40,
            "finish_reason": FinishReason.FINISH_TOOL,
            "score": score,
            "is_solved": score == 1,
            "value_taken": 50,
            "weight_taken": 20,
            "taken_count": 2,
            "inspected_count": 8,
            "turn_count": 4,
            "step_count": 4,
            "call_site_count": 6,
            "executed_call_count": 12,
            "prompt_tokens": 900,
            "cached_prompt_tokens": 600,
            "completion_tokens": 100,
            "token_source": "server",
            "training_tokens": None,
            "injected_fault_count": 0,
            "model_seconds": 1.0,
            "execution_seconds": 0.5,
            "wall_seconds": 2.0,
            "started_at": NOW,
            "contract_json": "{}",
            "sandbox_level": "none",
            "backend": "fork_tree",
            "is_contract_verified": True,
            "error_message": None,
        }
        row = EpisodeRow(**{**defaults, **values})
        self.add(row)
        return row.episode_id

    def steps(self, episode_id: str, blocks: Sequence[tuple[str, Sequence[str]]], outputs: Sequence[str] = ()) -> None:
        """Add executed blocks, each with the user names alive after it, and the events that they parse to.

        `outputs` are what the first ones printed; the others printed nothing.
        """
        alive: tuple[str, ...] = ()
        printed = [*outputs, *[""] * len(blocks)]
        for step, (code, alive_after) in enumerate(blocks, start=1):
            parsed = parse_block(code, TOOLS)
            self.add(
                StepRow(
                    run_id="run",
                    episode_id=episode_id,
                    step=step,
                    turn=step,
                    code=code,
                    output=printed[step - 1],
                    result=None,
                    error=None,
                    error_kind=None,
                    error_type=None,
                    is_parsed=parsed.is_parsed,
                    import_count=parsed.import_count,
                    call_site_count=parsed.call_site_count,
                    executed_call_count=0,
                    active_globals_before=alive,
                    active_globals=tuple(alive_after),
                    last_step_globals=tuple(alive_after),
                    state_event="kept",
                    state_hash=None,
                    injected_fault=None,
                    execution_seconds=0.1,
                ),
                *name_event_rows(parsed, run_id="run", episode_id=episode_id, step=step, active_globals_before=alive),
            )
            alive = tuple(alive_after)

    def error(self, episode_id: str, step: int, message: str, kind: str = "interpreter", **values: Any) -> None:
        self.add(
            ErrorRow(
                run_id="run",
                episode_id=episode_id,
                turn=step,
                error_index=next(self._numbers),
                step=step,
                kind=ErrorKind(kind),
                error_type=message.partition(":")[0],
                message=message,
                is_caught=values.get("is_caught", False),
                is_injected=values.get("is_injected", False),
                is_missing_name=message.startswith(("NameError", "UnboundLocalError")),
            )
        )

    def statistic(self, analysis: str, **values: Any) -> None:
        defaults: dict[str, Any] = dict.fromkeys(StatisticRow.model_fields)
        defaults |= {
            "run_id": "run",
            "statistic_id": f"s{next(self._numbers)}",
            "plan_digest": "plan",
            "variant": "main",
            "base": "common",
            "visibility": "declared",
            "header": "names",
            "bucket": "small",
            "analysis": analysis,
            "comparison_group": "",
            "metric": "score",
            "pair_count": 2,
            "method": "bootstrap percentile, by hand",
            "interval_kind": "percentile",
        }
        self.add(StatisticRow(**{**defaults, **values}))

    def example(self, episode_id: str, contract: str, status: str, **values: Any) -> None:
        defaults: dict[str, Any] = dict.fromkeys(TrainingExampleRow.model_fields)
        defaults |= {
            "run_id": "run",
            "dataset_id": f"set-{contract}",
            "variant": "main",
            "contract": contract,
            "episode_id": episode_id,
            "instance_id": "i1",
            "position": next(self._numbers),
            "status": status,
            "is_truncated": False,
            "text_format": "paper",
            "retention": "keep_first",
            "matching": "episodes",
        }
        self.add(TrainingExampleRow(**{**defaults, **values}))

    def claim(self, **values: Any) -> None:
        self.add(ClaimRow(run_id="run", **values))

    def sql(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        """Run a query and return its rows."""
        self._bring_up_to_date(query)
        relation = self._connection.sql(query, params=parameters or None)
        return relation.to_arrow_table().to_pylist()

    def table(self, name: str, plan_digest: str = "plan", **parameters: Any) -> list[dict[str, Any]]:
        """Return the rows of a table of the study; floats rounded to six digits."""
        query = table_query(name)
        known = {"plan_digest": plan_digest, **parameters}
        rows = self.sql(query.sql, **{parameter: known[parameter] for parameter in query.parameters})
        return [
            {key: round(value, 6) if isinstance(value, float) else value for key, value in row.items()} for row in rows
        ]
