"""Stage 3: teacher traces checked, gated and turned into training data."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

import polars as pl
from prefect import task

from carryover.storage.study.attempts import landed_episode_ids, missing_episodes
from carryover.storage.study.stages import note_stage, stage_result
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.objects import fetch_files, has_objects, keep_file
from carryover.tasks.caching import StageIdentity, in_run, refreshing_once, say_reused
from carryover.tasks.checks.run import FailedChecksError
from carryover.tasks.datasets.dataset import prepare_dataset
from carryover.tasks.datasets.plain_corpus import write_plain_corpus
from carryover.tasks.datasets.suite import gate_examples, gate_traces
from carryover.tasks.datasets.validation import verdict_rows
from carryover.tasks.plans.identity import Stage, stage_digest
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import ShardSpec, teacher_shards, tokenizer_identity
from carryover.tasks.plans.spec import OwnBaseSpec, StudyPart
from carryover.tasks.running.errors import UserError
from carryover.tasks.running.folders import Folders
from carryover.tasks.running.frozen_model import FrozenModel
from carryover.tasks.running.hub import load_tokenizer
from carryover.tasks.running.progress import progress_bar
from carryover.tasks.running.whole_files import digest_of_file
from carryover.tasks.sft.load import with_template
from carryover.tasks.traces.result_rows import CheckResultRow


class TrainingData(FrozenModel):
    """One dataset per contract, as files; small enough to be a task's result."""

    dataset_id: str
    paths: dict[str, Path]
    """JSONL of conversations by contract; relative to the data folder until they are opened."""
    digests: dict[str, str]
    """SHA-256 of each of these files."""
    tokens: dict[str, int]
    """Training tokens of one pass by contract."""

    def opened(self, folders: Folders) -> Self:
        """Return them with their files in a data folder; those that are missing there are fetched."""
        paths = {contract: folders.home / path for contract, path in self.paths.items()}
        fetch_files(folders, {path: self.digests[contract] for contract, path in paths.items()})
        return self.model_copy(update={"paths": paths})

    def changed_files(self) -> list[Path]:
        """Return the files that are gone or no longer hold what was written."""
        kept = ((path, self.digests[contract]) for contract, path in self.paths.items())
        return [path for path, digest in kept if not path.is_file() or digest_of_file(path) != digest]


class _Traces(NamedTuple):
    """The teacher traces of a part that have landed, whichever plan played them."""

    zone: LandingZone
    shards: list[ShardSpec]
    episode_ids: list[str]

    def scan(self, table: str, plan_digest: str) -> pl.LazyFrame:
        """Return a table's rows of the traces, as those of one plan."""
        rows = self.zone.scan(table).filter(pl.col("episode_id").is_in(self.episode_ids))
        return rows.with_columns(plan_digest=pl.lit(plan_digest)) if table == "episodes" else rows


def _traces(run: Run, part: StudyPart, tokenizer: Path) -> _Traces:
    zone, shards = LandingZone(run.landing), teacher_shards(run, part, tokenizer)
    return _Traces(zone, shards, sorted(name for shard in shards for name in landed_episode_ids(run, zone, shard)))


def _identify(run: Run, part: StudyPart, tokenizer: Path) -> str:
    """Return the identity of a part's data: the ids of its traces count, because rows of the data name them."""
    training = part.training.base, part.training.chat_template  # both decide the length of an example
    spec = part.dataset, part.validation, part.variant, part.teacher.contracts, training
    return stage_digest(
        Stage.DATA, *spec, tokenizer_identity(part, tokenizer), _traces(run, part, tokenizer).episode_ids
    )


@task(task_run_name="data-{part.variant}", cache_policy=StageIdentity(identify=_identify), on_completion=[say_reused])
def prepare_training_data(run: Run, part: StudyPart, tokenizer: Path) -> TrainingData:
    """Check the part's teacher traces, land verdicts and examples, and write one dataset per contract.

    Raises:
        UserError: Traces are missing, or the suite of data checks fails; the message tells reasons and counts, and the
            traces stay.
    """
    traces = _traces(run, part, tokenizer)
    _refuse_missing_traces(run, part, traces)
    digest = run.plan.digest
    prepared = prepare_dataset(
        *(traces.scan(table, digest) for table in ("episodes", "turns", "steps", "errors")),
        part.dataset.model_copy(update={"variant": part.variant}),
        with_template(part.training, load_tokenizer(tokenizer)),
        run_id=run.run_id,
        contracts=part.teacher.contracts,
        validation=part.validation,
        open_bar=progress_bar,
    )
    note_stage(run, Stage.DATA, part.variant, "")  # a gate that fails leaves nothing to train on
    folder = run.folders.datasets / prepared.dataset_id
    paths = prepared.write(folder)
    landing = {
        "trace_verdicts": verdict_rows(prepared.verdicts, run_id=run.run_id),
        "training_examples": prepared.rows,
        "training_overlaps": prepared.overlaps(),
    }
    traces.zone.write({table: rows for table, rows in landing.items() if rows}, run.run_id)
    # What the suites over traces and examples find lands, passed or not.
    common: dict[str, Any] = {"run_id": run.run_id, "checked_at": datetime.now(UTC), "open_bar": progress_bar}
    thresholds = {"spec": part.validation, "contracts": part.teacher.contracts}
    checks: list[CheckResultRow] = []
    try:
        checks += gate_traces(prepared.verdicts, folder / "trace_docs", **thresholds, **common)
        checks += gate_examples(prepared.rows, folder / "example_docs", spec=part.dataset, **common)
    except FailedChecksError as error:
        checks += error.rows
        raise
    finally:
        if checks:
            traces.zone.write({"check_results": checks}, run.run_id)
    data = TrainingData(
        dataset_id=prepared.dataset_id,
        paths={contract: path.relative_to(run.home) for contract, path in paths.items()},
        digests={contract: keep_file(run.folders, path) for contract, path in paths.items()},
        tokens={contract: prepared.token_total(contract) for contract in prepared.records},
    )
    note_stage(run, Stage.DATA, part.variant, _identify(run, part, tokenizer), data)
    return data


def provide_training_data(run: Run, part: StudyPart, tokenizer: Path) -> TrainingData:
    """Prepare a part's training data, or take those of equal identity, and note them for the training.

    No cache key sees files: a cached result is made anew where they are gone or changed, here or for other workers.

    Raises:
        UserError: As `prepare_training_data`.
    """
    run = refreshing_once(run, Stage.DATA, _identify(run, part, tokenizer))
    data = in_run(prepare_training_data, run, Stage.DATA)(run, part, tokenizer)
    if not has_objects(run.folders, data.digests.values()) or data.opened(run.folders).changed_files():
        data = in_run(prepare_training_data, run, Stage.DATA, is_there=False)(run, part, tokenizer)
    note_stage(run, Stage.DATA, part.variant, _identify(run, part, tokenizer), data)
    return data.opened(run.folders)


def _refuse_missing_traces(run: Run, part: StudyPart, traces: _Traces) -> None:
    """Raise `UserError` unless every teacher episode has ended without `error` or is given up.

    A model belongs to its traces: one of half of them could not give way to that of all.
    """
    missing = [place for shard in traces.shards for place in missing_episodes(run, traces.zone, shard)]
    total = part.train_instances.count * len(part.teacher.contracts)
    failed = sum(place.attempt > 0 for place in missing)
    plan = f"plan {run.plan.name}"
    if len(missing) == total and not failed:
        raise UserError(f"no teacher traces of {plan} in {run.landing}; run the flow collect_traces first")
    if missing:
        way_out = "start again to play them"
        if failed and part.teacher.maximum_attempts is None:
            way_out += ", or give up with --teacher-attempts 1 those that fail every time (kept replies cost nothing)"
        raise UserError(
            f"{len(missing)} of {total} teacher episodes of {plan}, {part.variant}, are missing "
            f"({failed} ended with an error): nothing is trained on the rest; {way_out}"
        )


def read_training_data(run: Run, part: StudyPart) -> TrainingData:
    """Return a part's training data, with its files as they were prepared.

    Raises:
        UserError: They are not prepared yet, or a file is gone or changed.
    """
    noted, what = stage_result(run, Stage.DATA, part.variant), f"training data of plan {run.plan.name}"
    if noted is None:
        raise UserError(f"no {what} in {run.folders.datasets}; run the flow prepare_training first")
    data = TrainingData.model_validate_json(noted).opened(run.folders)
    if changed := data.changed_files():
        files = ", ".join(map(str, changed))
        raise UserError(
            f"{what} are gone or changed since they were prepared: {files}; run the flow prepare_training again"
        )
    return data


def write_base_corpus(run: Run, part: StudyPart, own_base: OwnBaseSpec) -> Path:
    """Write the conversations of a base and return their file; equal plans give equal bytes."""
    path = run.folders.datasets / f"{run.plan.digest}-{part.variant}-{part.base}-base.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    if own_base.instances is not None:
        write_plain_corpus(path, own_base.instances.bucket, own_base.instances.seeds, part.teacher.contracts)
    else:
        data = read_training_data(run, part)
        path.write_bytes(b"".join(data.paths[contract].read_bytes() for contract in sorted(data.paths)))
    return path
