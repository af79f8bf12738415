"""A learned tokenizer comes from whole episodes of the part's own teacher."""

import pytest

from carryover.tasks.agent.client import EndpointClientSpec, open_client
from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.provide_tokenizer import make_tokenizer
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages.runs import start_run
from tests.hub_cache import OLD_COMMIT, keep_as_downloaded, read_offline
from tests.tasks.made import make_instances

NOBODY = EndpointClientSpec(endpoint=EndpointSpec(base_url="http://127.0.0.1:9/v1", max_retries=0))
"""A teacher that is not there."""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    with start_run("toy", resolve_plan("smoke", Overrides(train_count=2)), Limits()) as opened:
        make_instances(opened, opened.plan.parts[0].train_instances)
        yield opened


def test_tokenizer_follows_whether_the_teacher_prints_tables(run, capsys):
    (part,) = run.plan.parts
    terse = part.model_copy(
        update={"variant": "no-table", "teacher": part.teacher.model_copy(update={"prints_table": False})}
    )
    learned = {(make_tokenizer(run, one) / "tokenizer.json").read_bytes() for one in (part, terse)}
    assert len(learned) == 2
    assert "tokenizer sample, persistent: 2 of 2 episodes" in capsys.readouterr().err


def test_hub_tokenizer_has_the_commit_of_the_plan(run, tmp_path, monkeypatch):
    (part,) = resolve_plan("paper").parts
    training = part.training.model_copy(update={"base_model": "tiny/base", "base_revision": OLD_COMMIT})
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "tokenizer.json").write_text("{}")
    keep_as_downloaded(tmp_path / "cache", "tiny/base", {OLD_COMMIT: tmp_path / "old"}, newest=OLD_COMMIT)
    read_offline(monkeypatch, tmp_path / "cache")
    folder = make_tokenizer(run, part.model_copy(update={"training": training}))
    assert folder == tmp_path / "cache" / "models--tiny--base" / "snapshots" / OLD_COMMIT


def test_an_episode_that_failed_is_no_sample(run, monkeypatch):
    (part,) = run.plan.parts
    monkeypatch.setattr(
        "carryover.tasks.provide_tokenizer.open_client", lambda _, *others: open_client(NOBODY, *others)
    )
    with pytest.raises(UserError, match=r"an episode of the tokenizer sample, persistent failed: .*:9/v1"):
        make_tokenizer(run, part)
    assert not list(run.folders.datasets.glob("tokenizer-*"))


def test_tokenizer_follows_the_habits_of_the_teacher(run):
    (part,) = run.plan.parts
    habits = {"names": ("long",), "shown": ("changes",)}
    other = part.model_copy(
        update={"variant": "long-names", "teacher": part.teacher.model_copy(update={"habits": habits})}
    )
    learned = {(make_tokenizer(run, one) / "tokenizer.json").read_bytes() for one in (part, other)}
    assert len(learned) == 2


def test_tokenizer_follows_the_turns_of_an_episode(run):
    (part,) = run.plan.parts
    short = part.teacher.episode.model_copy(update={"max_turns": 1})
    other = part.model_copy(
        update={"variant": "one-turn", "teacher": part.teacher.model_copy(update={"episode": short})}
    )
    learned = {(make_tokenizer(run, one) / "tokenizer.json").read_bytes() for one in (part, other)}
    assert len(learned) == 2
