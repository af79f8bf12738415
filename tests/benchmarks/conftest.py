from collections.abc import Callable, Iterator

import pytest

from tests.benchmarks.control_group import control_group


@pytest.fixture(scope="session")
def processor_seconds() -> Iterator[Callable[[], float]]:
    """Clock of the processor time of this process and everything that it starts, dead or alive."""
    with control_group() as clock:
        yield clock
