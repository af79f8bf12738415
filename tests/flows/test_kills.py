"""A study one of whose processes is killed with SIGKILL completes at its next start: every episode once, no stray.

pytest -m long tests/flows/test_kills.py [-k "zygote and 0"]
"""

import pytest

from tests.flows.conftest import STUDY
from tests.flows.flow_process import start_flow
from tests.flows.killing import REPEATS, TARGETS, check_completed, end, find, kill

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.prefect, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("repeat", range(REPEATS))
@pytest.mark.parametrize("target", [name for name in TARGETS if name not in ("worker", "engine")])
def test_a_study_whose_process_is_killed_completes(target, repeat, tmp_path, strays, prefect_api):
    home, log = tmp_path / "data", tmp_path / "said.txt"
    server = None if target == "server" else prefect_api
    spared = find(target, home)
    with log.open("a") as said:
        study = start_flow(home, "run", *STUDY, server=server, stderr=said)
        kill(target, repeat, home, lambda: study.poll() is not None, spared)
        code, words = end(study, log)
        assert "Traceback" not in words, words
        print(f"{target} {repeat}: exit code {code}")
        assert strays() == set()
        code, words = end(start_flow(home, "run", *STUDY, server=server, stderr=said), log)
    assert code == 0, words
    assert strays() == set()
    check_completed(home)
