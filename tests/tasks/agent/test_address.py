import traceback

import pytest

from carryover.tasks.agent.credentials import plain_address
from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.services.errors import UserError
from carryover.tasks.serving.serving_spec import ServingSpec

FIELDS = {
    "teacher": lambda url: EndpointSpec(base_url=url),
    "models": lambda url: ServingSpec(engine="external", url=url),
    "teacher_url": lambda url: Overrides(teacher_url=url),
    "endpoint_url": lambda url: Overrides(endpoint_url=url),
}


@pytest.mark.parametrize("build", FIELDS.values(), ids=FIELDS)
@pytest.mark.parametrize(
    "address",
    [
        "http://user:SECRET@host/v1",
        "https://SECRET@host/v1",
        "https://host/v1?key=SECRET",
        "https://host/v1?sig=SECRET",
        "https://host/v1#SECRET",
        "user:SECRET@host/v1",
        "ftp://user:SECRET@host/v1",
        "http://[SECRET",
    ],
)
def test_kept_addresses_and_refusals_hold_no_credential(build, address):
    with pytest.raises(UserError, match="an endpoint's url") as raised:
        build(address)
    assert "SECRET" not in "".join(traceback.format_exception_only(raised.value))


@pytest.mark.parametrize("address", ["", "host:8000", "ftp://host/v1", "http://"])
def test_what_is_no_http_address_is_refused_with_an_example(address):
    with pytest.raises(UserError, match=r"write e\.g\. http://127\.0\.0\.1:8000/v1"):
        plain_address(address)


def test_address_is_kept_without_its_last_slash():
    assert plain_address("https://gpu-host:8000/models@here/v1/") == "https://gpu-host:8000/models@here/v1"
