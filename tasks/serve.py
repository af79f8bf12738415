"""Stage 4: the endpoint that answers for the trained models."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tasks.plans.models import StudyModel, served_models
from tasks.plans.run import Run
from tasks.plans.spec import StudyPart
from tasks.running.progress import waiting_line
from tasks.serving.server import RunningServer, open_server


@contextmanager
def serve_models(run: Run, part: StudyPart, models: Sequence[StudyModel]) -> Iterator[RunningServer]:
    """Yield a running endpoint for the models; no task, because it lasts for as long as others use it.

    Raises:
        ServerError: The server does not start, dies, or does not serve a model.
    """
    spec = run.plan.serving
    log = run.places.logs / f"serving-{run.run_id}-{part.variant}.log"
    with ExitStack() as stack:
        with waiting_line(f"starting the {spec.engine} server") as tell:
            server = stack.enter_context(
                open_server(spec, served_models(models), log, on_progress=lambda progress: tell(progress.last_log_line))
            )
        yield server
