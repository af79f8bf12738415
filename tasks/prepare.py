"""Stage 3: teacher traces checked, gated and turned into training data."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
from prefect import task
from pydantic import BaseModel, ConfigDict

from carryover.storage.study.attempts import missing_episodes
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.checks.run import FailedChecksError
from carryover.tasks.datasets.conversations import digest_of_file
from carryover.tasks.datasets.dataset import PreparedDataset, prepare_dataset
from carryover.tasks.datasets.suite import gate_examples, gate_traces
from carryover.tasks.datasets.validation import verdict_rows
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.spec import StudyPart, teacher_conditions
from carryover.tasks.running.errors import UserError
from carryover.tasks.running.progress import progress_bar
from carryover.tasks.running.source_digest import stage_key
from carryover.tasks.running.whole_files import write_whole
from carryover.tasks.sft.load import load_training_tokenizer


class TrainingData(BaseModel):
    """One dataset per contract, as files; small enough to be a task's result."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset_id: str
    paths: dict[str, Path]
    """JSONL of conversations by contract."""
    digests: dict[str, str]
    """SHA-256 of each of these files."""
    tokens: dict[str, int]
    """Training tokens of one pass by contract."""

    def changed_files(self) -> list[Path]:
        """Return the files that are gone or no longer hold what was written."""
        return [
            path
            for contract, path in self.paths.items()
            if not path.is_file() or digest_of_file(path) != self.digests[contract]
        ]


@task(cache_key_fn=stage_key("prepare_training_data", 2, ("carryover.tasks.sft",)), persist_result=True)
def prepare_training_data(run: Run, part: StudyPart, tokenizer: Path, traces: str) -> TrainingData:
    """Check the part's teacher traces, land verdicts and examples, and write one dataset per contract.

    `traces` is their digest (`digest_traces`), so that traces played again are another input.

    Raises:
        UserError: Traces are missing, or the suite of data checks fails; the message tells reasons and counts, and the
            traces stay.
    """
    zone = LandingZone(run.landing)
    _refuse_missing_traces(run, part, zone)
    rows = {table: _teacher_rows(zone, run, part, table) for table in ("episodes", "turns", "steps", "errors")}
    prepared = prepare_dataset(
        rows["episodes"],
        rows["turns"],
        rows["steps"],
        rows["errors"],
        part.dataset.model_copy(update={"variant": part.variant}),
        load_training_tokenizer(part.training, tokenizer),
        run_id=run.run_id,
        contracts=part.teacher.contracts,
        validation=part.validation,
        open_bar=progress_bar,
    )
    folder = run.places.datasets / prepared.dataset_id
    data_file(run, part).unlink(missing_ok=True)  # a gate that fails leaves nothing to train on, nor an earlier success
    paths = prepared.write(folder)
    data = TrainingData(
        dataset_id=prepared.dataset_id,
        paths=paths,
        digests={contract: digest_of_file(path) for contract, path in paths.items()},
        tokens={contract: prepared.token_total(contract) for contract in prepared.contracts},
    )
    verdicts = verdict_rows(prepared.verdicts, run_id=run.run_id)
    overlaps = prepared.overlaps()
    landing = {"trace_verdicts": verdicts, "training_examples": prepared.rows, "training_overlaps": overlaps}
    zone.write({table: rows for table, rows in landing.items() if rows}, run.run_id)
    _gate(run, part, prepared, folder, zone)
    _note(run, part, data)
    return data


def provide_training_data(run: Run, part: StudyPart, tokenizer: Path) -> TrainingData:
    """Prepare a part's training data, from the cache where its files are still there, and note them for the training.

    Files are side effects that no cache key sees: an earlier result is made anew where they are gone or changed, and
    noted again where another has been noted since.

    Raises:
        UserError: As `prepare_training_data`.
    """
    traces = digest_traces(run, part)
    data = prepare_training_data(run, part, tokenizer, traces)
    if data.changed_files():
        data = prepare_training_data.with_options(refresh_cache=True)(run, part, tokenizer, traces)
    _note(run, part, data)
    return data


def _note(run: Run, part: StudyPart, data: TrainingData) -> None:
    write_whole(data_file(run, part), data.model_dump_json())


def _refuse_missing_traces(run: Run, part: StudyPart, zone: LandingZone) -> None:
    """Raise `UserError` unless every teacher episode has ended without `error` or is given up.

    A model belongs to its plan, and so do its episodes: one of half the traces could not give way to that of all.
    """
    missing = [
        place
        for condition in teacher_conditions(part)
        for place in missing_episodes(
            run, zone, condition, part.train_instances, maximum_attempts=part.teacher.maximum_attempts
        )
    ]
    total = part.train_instances.count * len(part.teacher.contracts)
    failed = sum(place.attempt > 0 for place in missing)
    if len(missing) == total and not failed:
        raise UserError(
            f"no teacher traces of plan {run.plan.name} in {run.landing}; run the flow collect_traces first"
        )
    if missing:
        way_out = "start again to play them"
        if failed and part.teacher.maximum_attempts is None:
            way_out += ", or give up with --teacher-attempts 1 those that fail every time (kept replies cost nothing)"
        raise UserError(
            f"{len(missing)} of {total} teacher episodes of plan {run.plan.name}, {part.variant}, are missing "
            f"({failed} ended with an error): nothing is trained on the rest; {way_out}"
        )


def _gate(run: Run, part: StudyPart, prepared: PreparedDataset, folder: Path, zone: LandingZone) -> None:
    """Run the suites over traces and examples and land what they found, passed or not."""
    common: dict[str, Any] = {"run_id": run.run_id, "checked_at": datetime.now(UTC), "open_bar": progress_bar}
    traces = {"spec": part.validation, "contracts": part.teacher.contracts}
    try:
        checks = gate_traces(prepared.verdicts, folder / "trace_docs", **traces, **common)
        zone.write({"check_results": checks}, run.run_id)
        checks = gate_examples(prepared.rows, folder / "example_docs", spec=part.dataset, **common)
    except FailedChecksError as error:
        zone.write({"check_results": error.rows}, run.run_id)
        raise
    zone.write({"check_results": checks}, run.run_id)


def data_file(run: Run, part: StudyPart) -> Path:
    """Return where a part's training data are noted, so that every flow finds them."""
    return run.places.datasets / f"{run.plan.digest}-{part.variant}.json"


def read_training_data(run: Run, part: StudyPart) -> TrainingData:
    """Return a part's training data as they were prepared.

    Raises:
        UserError: They are not prepared yet, or a file is gone or changed.
    """
    try:
        data = TrainingData.model_validate_json(data_file(run, part).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(
            f"no training data of plan {run.plan.name} in {run.places.datasets}; run the flow prepare_training first"
        ) from error
    if changed := data.changed_files():
        raise UserError(
            f"training data of plan {run.plan.name} are gone or changed since they were prepared: "
            f"{', '.join(map(str, changed))}; run the flow prepare_training again"
        )
    return data


def digest_traces(run: Run, part: StudyPart) -> str:
    """Return a digest over the ids of the part's teacher traces that have landed."""
    zone = LandingZone(run.landing)
    ids = _teacher_rows(zone, run, part, "episodes").select(pl.col("episode_id").sort()).collect()["episode_id"]
    return hashlib.sha256("".join(ids).encode()).hexdigest()[:16]


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
