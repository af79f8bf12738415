from prefect.settings import PREFECT_API_URL, temporary_settings

from carryover.flows.cli.lasting_server import lasting_server_lacks

NOBODY = "http://127.0.0.1:9/api"
"""An address at which nothing listens."""


def test_without_a_configured_server_it_is_said_what_to_export():
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        lack = lasting_server_lacks() or ""
    assert "no Prefect server is configured" in lack
    assert lack.endswith("export PREFECT_API_URL=http://127.0.0.1:4200/api")


def test_a_configured_server_that_does_not_answer_is_named():
    with temporary_settings({PREFECT_API_URL: NOBODY}):
        assert (lasting_server_lacks() or "").startswith(f"no answer from the Prefect server {NOBODY} (")
