"""What the stages take that ask no endpoint."""

from carryover.tasks.knapsack.spec import KNAPSACK
from carryover.tasks.plans.machine_stages import INSTANCE_SECONDS


def test_every_bucket_has_its_time():
    assert set(INSTANCE_SECONDS) == set(KNAPSACK)
