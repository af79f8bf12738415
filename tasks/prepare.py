"""Stage 3: teacher traces checked, gated and turned into training data."""

from pathlib import Path

import polars as pl
from prefect import task
from pydantic import BaseModel, ConfigDict

from storage.landing import LandingZone
from tasks.plans.run import Run
from tasks.plans.spec import StudyPart
from tasks.running.source_digest import stage_key
from tasks.sft.dataset import prepare_dataset
from tasks.sft.suite import gate_traces
from tasks.sft.tokenizer import load_tokenizer


class TrainingData(BaseModel):
    """One dataset per contract, as files; small enough to be a task's result."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset_id: str
    paths: dict[str, Path]
    """JSONL of conversations by contract."""
    tokens: dict[str, int]
    """Training tokens of one pass by contract."""


@task(cache_key_fn=stage_key("prepare_training_data", 1, ("tasks.sft",)), persist_result=True)
def prepare_training_data(run: Run, part: StudyPart, tokenizer: Path, trace_count: int) -> TrainingData:
    """Check the part's teacher traces, land verdicts and examples, and write one dataset per contract.

    `trace_count` is the number of traces that landed, so that more of them are another input.

    Raises:
        UserError: The suite of data checks fails; the message tells reasons and counts, and the traces stay.
    """
    zone = LandingZone(run.landing)
    rows = {table: _teacher_rows(zone, run, part, table) for table in ("episodes", "turns", "steps", "errors")}
    prepared = prepare_dataset(
        rows["episodes"],
        rows["turns"],
        rows["steps"],
        rows["errors"],
        part.dataset.model_copy(update={"variant": part.variant}),
        load_tokenizer(tokenizer),
        run_id=run.run_id,
        contracts=part.teacher.contracts,
        validation=part.validation,
    )
    folder = run.places.datasets / prepared.dataset_id
    paths = prepared.write(folder)
    gate_traces(prepared.verdicts, folder / "data_docs", part.validation)
    zone.write({"training_examples": prepared.rows}, run.run_id)
    return TrainingData(
        dataset_id=prepared.dataset_id,
        paths=paths,
        tokens={contract: prepared.token_total(contract) for contract in prepared.contracts},
    )


def _teacher_rows(zone: LandingZone, run: Run, part: StudyPart, table: str) -> pl.LazyFrame:
    """Return a table's rows of the part's teacher episodes."""
    episodes = zone.scan("episodes").filter(
        (pl.col("plan_digest") == run.plan.digest)
        & (pl.col("purpose") == "teacher")
        & (pl.col("variant") == part.variant)
    )
    if table == "episodes":
        return episodes
    return zone.scan(table).join(episodes.select("episode_id"), on="episode_id", how="semi")
