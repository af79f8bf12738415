from collections.abc import Iterator

import pytest

from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec


@pytest.fixture(scope="session")
def runtime() -> Iterator[Runtime]:
    """A fork tree at the best sandbox level of the machine."""
    runtime = open_runtime(RuntimeSpec())
    yield runtime
    runtime.close()
