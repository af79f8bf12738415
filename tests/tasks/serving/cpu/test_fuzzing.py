"""schemathesis against the server's own OpenAPI document: no 5xx, no undeclared answer, no death.

The test draws some 200 requests. For ten minutes of them (32,000 requests on two cores), with any model:

    python -m carryover.tasks.serving.cpu_server --model MODEL --max-model-len 96 --port 8000 &
    pip install schemathesis   # in an environment of its own
    schemathesis run http://127.0.0.1:8000/openapi.json --max-time 600 --continue-on-failure \\
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance

The other checks report what is meant: a null is taken as the default, and `1.0` is no integer.
"""

import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from carryover.tasks.serving.process import find_free_port
from tests.tasks.serving.schemathesis_program import provide_schemathesis

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.fixture(scope="module")
def schemathesis():
    return provide_schemathesis()


@pytest.fixture
def server(base_path, tmp_path):
    """A server in a process of its own, and its address."""
    port = find_free_port()
    options = ["--model", base_path, "--served-model-name", "base", "--max-model-len", "96", "--port", str(port)]
    process = subprocess.Popen([sys.executable, "-m", "carryover.tasks.serving.cpu_server", *options])
    while not _is_healthy(f"http://127.0.0.1:{port}"):
        assert process.poll() is None
        time.sleep(0.1)
    yield process, f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait()


def _is_healthy(url):
    try:
        with urllib.request.urlopen(f"{url}/health") as answer:
            return answer.status == 200
    except urllib.error.URLError:
        return False


@pytest.mark.slow
def test_no_request_of_schemathesis_brings_the_server_down(server, schemathesis, tmp_path):
    process, url = server
    options = ["--phases", "fuzzing", "--max-examples", "100", "--seed", "1", "--generation-database", "none"]
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", *options, "--checks", CHECKS]
    run = subprocess.run(command, env=schemathesis, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    assert process.poll() is None
    assert _is_healthy(url)
