"""Which models an evaluation asks for."""

from pathlib import Path

from carryover.tasks.plans.models import served_models
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.serve import find_models
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.training_spec import TokenizerSpec
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


def test_an_untrained_base_is_saved_once(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    tokenizer = build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), tmp_path / "tokenizer")
    with start_run("toy", resolve_plan("smoke"), Limits()) as run:
        planned = run.plan.parts[0]
    without_contracts = planned.teacher.model_copy(update={"contracts": ()})
    part = planned.model_copy(update={"training_seeds": (0,), "teacher": without_contracts})
    other_seed = part.model_copy(update={"training_seeds": (7,)})
    (first,) = find_models.fn(run, part, tokenizer)
    weights = Path(first.path) / "model.safetensors"
    saved = weights.stat()
    (again,) = find_models.fn(run, part, tokenizer)
    assert (again, weights.stat()) == (first, saved)
    (other,) = find_models.fn(run, other_seed, tokenizer)
    assert other.path != first.path
    assert other.identity != first.identity
