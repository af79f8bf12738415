"""Training data of a part: teacher traces checked, written and landed.

And read back for training.
"""

from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Self

import polars as pl

from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.objects import fetch_files, keep_file
from carryover.tasks.agent.own_contracts import script_of
from carryover.tasks.checks.suites import FailedChecksError
from carryover.tasks.datasets.dataset import prepare_dataset
from carryover.tasks.datasets.plain_corpus import write_plain_corpus
from carryover.tasks.datasets.suite import gate_examples, gate_traces
from carryover.tasks.datasets.validation import verdict_rows
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import teacher_shards
from carryover.tasks.plans.study_plan import OwnBaseSpec, StudyPart
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import Folders
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.services.progress import progress_bar
from carryover.tasks.services.whole_files import digest_of_file, write_whole
from carryover.tasks.sft.load import with_template
from carryover.tasks.stages.attempts import landed_episode_ids, missing_episodes
from carryover.tasks.stages.stage_results import note_stage, stage_result, zone_of
from carryover.tasks.traces.result_rows import CheckResultRow


class TrainingData(FrozenModel):
    """One dataset per contract, as files.

    Small enough to be a task's result.
    """

    dataset_id: str
    paths: dict[str, Path]
    """JSONL of conversations by contract; relative to the data folder until they are opened."""
    digests: dict[str, str]
    """SHA-256 of each of these files."""
    tokens: dict[str, int]
    """Training tokens of one pass by contract."""

    def opened(self, folders: Folders) -> Self:
        """Return them with their files in a data folder.

        Those that are missing there are fetched.
        """
        paths = {contract: folders.home / path for contract, path in self.paths.items()}
        fetch_files(folders, {path: self.digests[contract] for contract, path in paths.items()})
        return self.model_copy(update={"paths": paths})

    def changed_files(self) -> list[Path]:
        """Return files that are gone or changed since they were written."""
        kept = ((path, self.digests[contract]) for contract, path in self.paths.items())
        return [path for path, digest in kept if not path.is_file() or digest_of_file(path) != digest]


def trace_ids(run: Run, part: StudyPart, tokenizer: Path) -> list[str]:
    """Return the ids of a part's landed teacher traces, sorted.

    Any plan may have played them.
    """
    zone = zone_of(run)
    shards = teacher_shards(run, part, tokenizer)
    return sorted(chain.from_iterable(landed_episode_ids(run, zone, shard) for shard in shards))


def gate_and_land(run: Run, part: StudyPart, tokenizer: Path) -> TrainingData:
    """Check a part's teacher traces and write one dataset per contract.

    Verdicts, examples and checks land.

    Raise `UserError` where traces are missing or the data checks fail; what these found lands, passed or not.
    """
    zone = zone_of(run)
    is_asked = pl.col("episode_id").is_in(trace_ids(run, part, tokenizer))  # what lands from here on is not judged
    _refuse_missing_traces(run, part, tokenizer, zone)
    episodes = zone.scan("episodes").filter(is_asked)
    prepared = prepare_dataset(
        episodes.with_columns(plan_digest=pl.lit(run.plan.digest)),  # as those of one plan
        zone.scan("turns").filter(is_asked),
        zone.scan("steps").filter(is_asked),
        zone.scan("errors").filter(is_asked),
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
    zone.write(landing, run.run_id)
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
            zone.write({"check_results": checks}, run.run_id)
    return TrainingData(
        dataset_id=prepared.dataset_id,
        paths={contract: path.relative_to(run.home) for contract, path in paths.items()},
        digests={contract: keep_file(run.folders, path) for contract, path in paths.items()},
        tokens={contract: prepared.token_total(contract) for contract in prepared.records},
    )


def _refuse_missing_traces(run: Run, part: StudyPart, tokenizer: Path, zone: LandingZone) -> None:
    """Raise `UserError` for teacher episodes that may still be retried.

    A model belongs to its traces: one of half of them could not give way to that of all.
    """
    missing = []
    for shard in teacher_shards(run, part, tokenizer):
        missing += missing_episodes(run, zone, shard)
    total = part.train_instances.count * len(part.teacher.contracts)
    failed = sum(place.attempt > 0 for place in missing)
    plan = f"plan {run.plan.name}"
    if len(missing) == total and not failed:
        raise UserError(f"no teacher traces of {plan} in {run.landing}; run `carryover stage collect-traces` first")
    if missing:
        way_out = "start again to play them"
        if failed and part.teacher.maximum_attempts is None:
            way_out += ", or give up with --teacher-attempts 1 those that fail every time (kept replies cost nothing)"
        raise UserError(
            f"{len(missing)} of {total} teacher episodes of {plan}, {part.variant}, are missing "
            f"({failed} ended with an error): nothing is trained on the rest; {way_out}"
        )


def read_training_data(run: Run, part: StudyPart) -> TrainingData:
    """Return a part's training data.

    Raise `UserError` if they are not prepared yet, or a file is gone or changed.
    """
    noted = stage_result(run, Stage.DATA, part.variant)
    what = f"training data of plan {run.plan.name}"
    if noted is None:
        raise UserError(f"no {what} in {run.folders.datasets}; run `carryover stage prepare-training` first")
    data = TrainingData.model_validate_json(noted).opened(run.folders)
    if changed := data.changed_files():
        files = ", ".join(map(str, changed))
        raise UserError(
            f"{what} are gone or changed since they were prepared: {files}; "
            "run `carryover stage prepare-training` again"
        )
    return data


def write_base_corpus(run: Run, part: StudyPart, own_base: OwnBaseSpec) -> Path:
    """Write the conversations of a base and return their file.

    Equal plans give equal bytes.
    """
    path = run.folders.datasets / f"{run.plan.digest}-{part.variant}-{part.base}-base.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    if own_base.instances is not None:
        scripts = dict.fromkeys(script_of(part.defined(name)).contract for name in part.teacher.contracts)
        write_plain_corpus(path, own_base.instances.bucket, own_base.instances.seeds, tuple(scripts))
    else:
        data = read_training_data(run, part)
        write_whole(path, b"".join(data.paths[contract].read_bytes() for contract in sorted(data.paths)))
    return path
