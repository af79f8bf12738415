"""What the command `paired` says of two runs."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.flows.cli.traces import paired
from carryover.flows.cli.traces.paired import _sentence
from carryover.tasks.analysis.paired_runs import RUN_METRICS, PairedMetric
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.rows import EpisodeRow, ErrorRow
from tests.flows.cli.calling import call, import_records
from tests.storage.conftest import build_row

MESSAGES = [
    {"role": "user", "content": "Go."},
    {"role": "assistant", "content": "```python\nx\n```"},
    {"role": "user", "content": "NameError: name 'x' is not defined"},
    {"role": "assistant", "content": "Done."},
]
NOTHING = dict.fromkeys(PairedMetric._fields)


def metric(name, **values):
    return PairedMetric(**{**NOTHING, "metric": name, "instance_count": 3, **values})


def test_scores_and_tokens_are_told_with_interval_and_chance():
    score = {"difference": -0.25, "difference_low": -0.5, "difference_high": 0.0625, "p_holm": 0.01234}
    tokens = {"ratio": 1.3, "ratio_low": 0.98, "ratio_high": 1.5, "p_holm": 0.5, "instance_count": 2}
    assert _sentence([metric("score", **score), metric("total_tokens", **tokens), metric("step_count", ratio=2.0)]) == (
        "3 instances in both; score differs by -0.250 [-0.500, 0.062], p 0.0123 after Holm; "
        "tokens are 1.30 times [0.980, 1.500], p 0.5 after Holm"
    )


def test_what_could_not_be_tested_is_left_out():
    rows = [metric("score", difference=0.5, difference_low=0.1), metric("total_tokens", ratio=2.0)]
    assert _sentence(rows) == "3 instances in both; score differs by +0.500; tokens are 2.00 times"
    assert _sentence([metric("score"), metric("total_tokens")]) == "3 instances in both"


def test_a_missing_file_or_an_empty_choice_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"^no file a/b\.json; give the plan of an import, or a file or folder"):
        paired._episodes("a/b.json", None, "true")
    with pytest.raises(UserError, match=r"^no trace in .*empty; give the plan of an import, or a file or folder"):
        paired._episodes(str(tmp_path / "empty"), None, "true")


def test_two_files_are_compared_on_a_screen(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    for name, scores in (("a", (1.0, 0.5)), ("b", (0.5, 0.5))):
        records = [
            {"instance_id": str(number), "score": score, "messages": MESSAGES} for number, score in enumerate(scores)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, [*records, {"messages": 3}])))
    done = call("paired", tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["1 unread", "1 unread"]
    sentence, title, *lines = filter(None, map(str.strip, done.stdout.splitlines()))
    assert sentence == "2 instances in both; score differs by +0.250 [0.000, 0.500]"
    assert title == f"a: {tmp_path}/a.jsonl, b: {tmp_path}/b.jsonl"
    assert [line.split()[0] for line in lines[-len(RUN_METRICS) :]] == list(RUN_METRICS)
    assert "…" not in done.stdout


def test_an_episodes_metrics_are_those_of_the_warehouse():
    counted = {"score": 0.5, "token_source": "server", "prompt_tokens": 7, "completion_tokens": 3, "step_count": 2}
    errors = [build_row(ErrorRow, is_missing_name=is_missing) for is_missing in (True, False, True)]
    found: Any = SimpleNamespace(episode=build_row(EpisodeRow, instance_id="a", **counted), errors=errors)
    assert paired._metrics(found) == {
        "instance_id": "a", "score": 0.5, "total_tokens": 10, "completion_tokens": 3, "step_count": 2,
        "missing_name_count": 2,
    }  # fmt: skip


def test_a_plans_counted_episodes_are_compared_under_a_condition(tmp_path):
    records = [{"instance_id": name, "score": score, "messages": MESSAGES} for name, score in (("a", 1.0), ("b", 0.5))]
    home = tmp_path / "data"
    import_records(home, records, "--contract", "persistent", "--plan", "mine")
    with pytest.raises(UserError, match=r"^plan \'mine\' has no counted episode where score > 1; choose another"):
        paired._episodes("mine", home, "score > 1")
    assert list(paired._episodes("mine", home, "score < 1")["instance_id"]) == ["b"]

    read = paired._episodes(str(tmp_path / "data.jsonl"), None, "true")
    assert read.to_dicts()[0] == {
        "instance_id": "a", "score": 1.0, "total_tokens": None, "completion_tokens": None, "step_count": 1,
        "missing_name_count": 1,
    }  # fmt: skip
    done = call("paired", "mine", tmp_path / "data.jsonl", "--home", home, "--format", "csv")
    assert done.stderr.startswith("2 instances in both; score differs by +0.000")
    assert done.stdout.startswith(",".join(PairedMetric._fields[:2]))
    assert not done.stdout.endswith("\n\n")
