import json
from dataclasses import asdict
from typing import Any

import pytest

from carryover.tasks.lint.probed import PROBED, losses_of_report, read_losses
from carryover.tasks.probe.probing import FAILED_BLOCK, ProbeReport
from carryover.tasks.services.errors import UserError

CHANNELS = {
    "global": {"block": "kept", "error": "lost"},
    "function": {"block": "kept", "error": "lost"},
    "temporary file": {"block": "kept", "error": "kept"},
    "environment": {"block": "lost", "error": "lost"},
    "figure": {},
    FAILED_BLOCK: {"error": "lost"},
}


def test_a_report_shows_what_its_runtime_loses():
    losses = losses_of_report(ProbeReport("made", CHANNELS))
    assert losses.block == {"environment"}
    assert losses.error == {"environment", "names"}
    assert losses.failed_block == {"names"}
    assert losses.unknown == {"directory", "figures", "packages", "processes"}


@pytest.mark.parametrize(("channel", "kinds"), PROBED.items())
def test_every_probed_channel_of_a_kind_counts(channel, kinds):
    for lost in kinds:
        fates: Any = {kind: {"block": "lost" if kind == lost else "kept"} for kind in kinds}
        assert losses_of_report(ProbeReport("made", fates)).block == {channel}
    assert PROBED["names"] == ("global", "import", "function", "class")


def test_a_report_is_read_from_its_file(tmp_path):
    path = tmp_path / "probe.json"
    path.write_text(json.dumps(asdict(ProbeReport("made", CHANNELS))))
    assert read_losses(str(path)).runtime == "made"
    path.write_text("[]")
    with pytest.raises(UserError, match=r"is no report of `carryover probe --format json`"):
        read_losses(str(path))


def test_a_published_report_is_read_by_its_name():
    assert read_losses("persistent").block <= {"figures"}
    with pytest.raises(UserError, match="no report 'sideways'; name a file"):
        read_losses("sideways")
