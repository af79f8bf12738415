import pytest

from carryover.flows import collect_traces as flow_module
from carryover.flows.cli.command import run_as_command
from carryover.flows.collect_traces import collect_traces
from carryover.tasks.plans.resolve import resolve_plan


@pytest.mark.parametrize("option", ["--teacher-url", "--endpoint-url"])
def test_credential_in_an_address_is_refused_unprinted(option, capsys):
    with pytest.raises(SystemExit) as ending:
        run_as_command(collect_traces, [option, "http://user:SECRET@127.0.0.1:9/v1"])
    assert ending.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("carryover: an endpoint's url carries a credential; ")
    assert "SECRET" not in line


def test_teachers_are_collected_before_the_scripts_beside_them(steps, own_home):
    calls = steps(
        flow_module,
        check_teachers=None,
        open_tokenizer=lambda run, part: f"tokenizer of {part.name}",
        teacher_shards=lambda run, part, tokenizer: [("teacher", part.name, tokenizer)],
        script_shards=lambda run, part, tokenizer: [("script", part.name, tokenizer)],
        collect_shards=None,
    )
    collect_traces.fn("smoke_rl")
    plan = resolve_plan("smoke_rl")
    assert calls[0] == ("check_teachers", plan)
    expected = []
    for part in plan.parts:
        expected += [[(kind, part.name, f"tokenizer of {part.name}")] for kind in ("teacher", "script")]
    assert [call[2] for call in calls if call[0] == "collect_shards"] == expected
