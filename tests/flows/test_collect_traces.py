import pytest

from carryover.flows.cli.command import run_as_command
from carryover.flows.collect_traces import collect_traces


@pytest.mark.parametrize("option", ["--teacher-url", "--endpoint-url"])
def test_credential_in_an_address_is_refused_unprinted(option, capsys):
    with pytest.raises(SystemExit) as ending:
        run_as_command(collect_traces, [option, "http://user:SECRET@127.0.0.1:9/v1"])
    assert ending.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("carryover: an endpoint's url carries a credential; ")
    assert "SECRET" not in line
