"""Which models an evaluation asks for."""

from carryover.tasks.plans.models import served_models
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.serve import find_models
from carryover.tasks.stages.runs import start_run


def test_served_base_has_the_commit_of_the_plan(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    with start_run("toy", resolve_plan("paper"), Limits()) as run:
        (part,) = run.plan.parts
    untrained = part.model_copy(
        update={"training": part.training.model_copy(update={"base_revision": "b968826"}), "training_seeds": ()}
    )
    served = served_models(find_models.fn(run, untrained, None))
    assert (served.base, served.base_revision) == ("Qwen/Qwen3-8B", "b968826")
