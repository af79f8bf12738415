"""Rules of an episode, endpoints, faults and wordings, whole."""

import pytest

from carryover.tasks.agent.episode_spec import EndpointSpec, EpisodeSpec
from carryover.tasks.agent.faults import FaultSpec
from carryover.tasks.agent.variation import CONTRAST, NO_HEADER_SHARE, SILENT_SHARE, STANDARD_SHARE, WORDINGS
from tests.presets import as_kept, constraints, kept_presets

DECLARED = {
    **{f"constraints of {spec.__name__}": constraints(spec) for spec in (EpisodeSpec, EndpointSpec)},
    "episode": EpisodeSpec(),
    "endpoint": EndpointSpec(base_url="http://127.0.0.1:1/v1"),
    "faults": FaultSpec(),
    "wordings": WORDINGS,
    "contrast": CONTRAST,
    "shares": [STANDARD_SHARE, SILENT_SHARE, NO_HEADER_SHARE],
}


@pytest.mark.parametrize("name", DECLARED)
def test_rules_and_wordings_are_the_kept_ones(name):
    assert as_kept({name: DECLARED[name]})[name] == kept_presets(__file__)[name]
