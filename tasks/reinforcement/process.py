"""A reinforcement in a process of its own.

`python -m carryover.tasks.reinforcement.process JOB.json` runs a job and ends when its standard input does: the starter
holds the other end, so that no training outlives a killed starter.
"""

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from carryover.tasks.reinforcement.grpo import reinforce
from carryover.tasks.reinforcement.reinforcement_spec import Reinforcement
from carryover.tasks.reinforcement.update_log import LOG_NAME, read_updates
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.whole_files import write_whole
from carryover.tasks.sft.card import CARD_NAME, ModelCard, read_card, write_card
from carryover.tasks.sft.child_process import USER_ERROR_CODE, Child, end_with_starter, run_child, training_environment
from carryover.tasks.sft.folder import claim, digest_of_tensors, held, start_digests
from carryover.tasks.sft.training_log import LOG_NAME as METRICS_NAME
from carryover.tasks.sft.training_log import log_callback, read_log
from carryover.tasks.traces.training_rows import PolicyUpdate

DESCRIPTION_NAME = "reinforcement_job.json"
OUTPUT_NAME = "reinforcement_output.txt"
"""Output of the process, in the folder of the model."""


class ReinforcementJob(FrozenModel):
    """Inputs of one reinforcement."""

    played: Reinforcement
    start: Path
    """Folder of the trained model that it starts from."""
    output: Path
    """Folder of the model; a finished reinforcement of the same inputs there is returned as it is."""
    seed: int
    plan_digest: str | None = None
    cpu_threads: int = 1

    @property
    def is_finished(self) -> bool:
        """Whether the reinforced model lies in its folder."""
        return (self.output / CARD_NAME).exists()


def reinforce_in_process(
    job: ReinforcementJob, on_update: Callable[[PolicyUpdate], None], check: Callable[[], None]
) -> ModelCard:
    """Run a job in a process, and return the model's card.

    Updates are reported as they come. The process ends when the caller is interrupted, or `check`, called at every
    look, raises. Raise what `run_child` does.
    """
    job.output.mkdir(parents=True, exist_ok=True)
    description = job.output / DESCRIPTION_NAME
    write_whole(description, job.model_dump_json())
    last_update = 0

    def tell() -> None:
        nonlocal last_update
        for update in read_updates(job.output / LOG_NAME):
            if update.policy_update > last_update:
                last_update = update.policy_update
                on_update(update)

    child = Child(
        title="reinforcement",
        arguments=("-m", "carryover.tasks.reinforcement.process", str(description)),
        printed=job.output / OUTPUT_NAME,
        environment=training_environment(job.cpu_threads, os.environ, gpus=[]) | {"TRL_EXPERIMENTAL_SILENCE": "1"},
    )
    run_child(child, tell, check)
    return read_card(job.output)


def run_job(job: ReinforcementJob) -> None:
    """Reinforce in the job's folder, and write the card of the model."""
    start = str(job.start)
    identity = job.model_dump(mode="json", include={"played", "seed"}) | {"start": start_digests(start)}
    with held(job.output):
        claim(job.output, identity)
        if job.is_finished:
            return
        began = datetime.now(UTC)
        callback = log_callback(job.output / METRICS_NAME, None)
        done = reinforce(job.played, start, job.output, seed=job.seed, callback=callback, cpu_threads=job.cpu_threads)
        metrics = tuple(read_log(job.output / METRICS_NAME))
        changed = {
            "base_model": start,
            "plan_digest": job.plan_digest,
            "model_digest": digest_of_tensors(job.output),
            "token_count": done.token_count,
            "step_count": done.update_count,
            "final_loss": metrics[-1].loss,
            "validation_loss": None,
            "wall_seconds": metrics[-1].wall_seconds,
            "started_at": began,
            "metrics": metrics,
        }
        write_card(job.output, read_card(job.start).model_copy(update=changed))


def main(description: str) -> int:
    """Run a JSON file's job and return the exit code."""
    end_with_starter()
    try:
        run_job(ReinforcementJob.model_validate_json(Path(description).read_text(encoding="utf-8")))
    except UserError as error:
        print(error, file=sys.stderr)
        return USER_ERROR_CODE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
