"""Plans and the limits of a run, whole.

A plan is kept as the digest of each part, beside the digest of the rest: without its source, and before it is fitted to
a base that lies on this machine.
"""

import hashlib

import pytest

from carryover.tasks.plans.identity import PACKAGES, SOURCES
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import PLANS
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.study_plan import EvaluationSpec, InstanceSetSpec, StudyPart, TeacherSpec
from tests.presets import as_kept, constraints, kept_presets


def digest(model):
    return hashlib.sha256(model.model_dump_json().encode()).hexdigest()[:8]


def digests(plan):
    return {
        "plan": digest(plan.model_copy(update={"parts": ()})),
        "parts": {part.name: digest(part) for part in plan.parts},
    }


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_the_kept_one(name):
    assert digests(PLANS[name]("")) == kept_presets(__file__)[name]


SPECS = (Limits, Overrides, InstanceSetSpec, TeacherSpec, EvaluationSpec, StudyPart)


def test_limits_and_constraints_are_the_kept_ones():
    kept = kept_presets(__file__)
    assert as_kept({"limits": Limits()})["limits"] == kept["limits"]
    assert {spec.__name__: constraints(spec) for spec in SPECS} == kept["constraints"]


def test_what_decides_a_stage_is_the_kept():
    kept = kept_presets(__file__)
    assert as_kept({"sources": SOURCES, "packages": PACKAGES}) == {name: kept[name] for name in ("sources", "packages")}
