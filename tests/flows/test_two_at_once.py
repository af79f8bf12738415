"""Two studies started at once in one data folder: both complete, and every episode counts once."""

import pytest

from tests.flows.conftest import STUDY
from tests.flows.flow_process import start_flow
from tests.flows.killing import check_completed

pytestmark = [pytest.mark.slow, pytest.mark.prefect, pytest.mark.timeout(1800)]


def test_two_studies_in_one_home_both_complete(tmp_path):
    home = tmp_path / "data"
    studies = [start_flow(home, "run", *STUDY) for _ in range(2)]
    printed = [study.communicate() for study in studies]
    assert [study.returncode for study in studies] == [0, 0], [said[-8000:] for _, said in printed]
    assert printed[0][0] == printed[1][0] != ""
    check_completed(home)
    assert [path.name for path in home.rglob("*.tmp")] == []
