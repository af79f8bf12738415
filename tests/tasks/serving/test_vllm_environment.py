"""Whether vLLM's parser can be had on a machine, without asking the true package index."""

import sys

from tests.tasks.serving.vllm_environment import can_provide_vllm


def test_vllm_is_found_where_kept_and_missing_without_index(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9")
    assert not can_provide_vllm()
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    (tmp_path / "carryover" / f"vllm-0.32.0-parser-{python}").mkdir(parents=True)
    assert can_provide_vllm()
