"""Every made-up recording is read as it was kept."""

import json

import pytest

from tests.tasks.readers.whole_traces import KEPT, RECORDINGS, whole

WHOLE = json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_is_read_whole(tmp_path, name):
    """Texts, outcomes, tokens, scores and identifiers; `whole_traces` writes the file anew."""
    path = tmp_path / "recording"
    path.write_bytes(RECORDINGS[name])
    assert whole(path) == WHOLE[name]
