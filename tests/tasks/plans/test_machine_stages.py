"""What the stages take that ask no endpoint."""

from tasks.knapsack.spec import KNAPSACK
from tasks.plans.machine_stages import INSTANCE_SECONDS


def test_every_bucket_has_its_time():
    assert set(INSTANCE_SECONDS) == set(KNAPSACK)
