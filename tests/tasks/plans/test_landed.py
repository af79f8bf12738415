import json

import pytest

from carryover.tasks.plans.landed import OtherVersionError, read_plan
from carryover.tasks.plans.presets import resolve_plan

PLAN = resolve_plan("smoke")
LANDED = PLAN.model_dump_json()


def altered(alter):
    """Return the landed plan after a change."""
    plan = json.loads(LANDED)
    alter(plan)
    return json.dumps(plan)


def test_a_plan_is_read_as_it_was_resolved():
    assert read_plan(LANDED, PLAN.digest) == PLAN


@pytest.mark.parametrize(
    ("alter", "told"),
    [
        (lambda plan: plan.update(pace="slow"), "pace is unknown here"),
        (lambda plan: plan["parts"][0].pop("variant"), "it lacks parts[0].variant"),
        (lambda plan: plan["parts"][0].pop("dataset"), "it lacks parts.0.dataset"),
        (lambda plan: plan.update(scale=1), "scale: Input should be 'smoke', 'laptop' or 'paper'"),
        (
            lambda plan: [plan["serving"].pop(name) for name in ("dtype", "engine", "is_thinking", "cpu_threads")],
            "it lacks serving.cpu_threads; it lacks serving.dtype; it lacks serving.engine; and 1 more",
        ),
    ],
)
def test_a_plan_of_another_version_is_refused_by_the_fields_that_it_has_otherwise(alter, told):
    with pytest.raises(OtherVersionError) as refused:
        read_plan(altered(alter), "of-another-version")
    assert str(refused.value) == told


def test_a_plan_whose_digest_is_made_otherwise_is_refused():
    with pytest.raises(OtherVersionError, match="its digest is made otherwise"):
        read_plan(LANDED, "of-another-version")
