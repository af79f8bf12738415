"""The page of trainings."""

from typing import Any

from carryover.tasks.analysis.asking import Ask
from carryover.tasks.viewer.warehouse_rows import rows


def training_page(ask: Ask, plan_digest: str) -> dict[str, Any]:
    """Return a plan's fine-tunings with curves, and its teacher traces."""
    runs = rows(ask, "training_runs", plan_digest=plan_digest)
    curves: dict[str, dict[str, list[Any]]] = {}
    names = [run["training_run_id"] for run in runs]
    metrics = rows(ask, "training_metrics", training_run_ids=names) if names else []
    for metric in metrics:
        curve = curves.setdefault(metric.pop("training_run_id"), {})
        for name, value in metric.items():
            curve.setdefault(name, []).append(value)
    return {"runs": runs, "curves": curves, "examples": rows(ask, "training_examples", plan_digest=plan_digest)}
