"""The tables on pages of results are what the commands print of the kept rows."""

import pytest
from typer.testing import CliRunner

from carryover.flows.cli.main import app
from tests.sql.kept_results import RESULTS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "study", "command"),
    [
        ("batches", "batches", "tables batches"),
        ("batches", "batches", "hypotheses"),
        ("families", "map_exploration", "tables cells"),
        ("families", "map_exploration", "tables family_metrics"),
        ("families", "map_exploration", "hypotheses"),
        ("families", "log_triage", "tables cells"),
        ("families", "log_triage", "tables family_metrics"),
        ("families", "log_triage", "hypotheses"),
        ("lifetimes", "lifetimes", "tables lifetimes"),
        ("lifetimes", "lifetimes", "hypotheses"),
        ("mixture", "mixture", "tables mixture"),
        ("mixture", "mixture", "hypotheses"),
        ("reinforcement", "laptop_rl", "tables reinforcement"),
        ("reinforcement", "laptop_rl", "tables cells"),
        ("reinforcement", "laptop_rl", "hypotheses"),
    ],
)
def test_a_page_shows_what_its_command_prints(page, study, command):
    printed = CliRunner().invoke(app, [*command.split(), "--results", study, "--format", "markdown"])
    assert printed.exit_code == 0
    assert printed.stdout.strip() in (RESULTS / f"{page}.md").read_text(encoding="utf-8")
