"""A learned tokenizer comes from whole episodes of the part's own teacher."""

import json
from types import SimpleNamespace

import pytest

from carryover.storage.zone.objects import keep_folder
from carryover.tasks import provide_tokenizer
from carryover.tasks.agent.client import EndpointClientSpec, open_client
from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.provide_tokenizer import make_tokenizer, open_tokenizer
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages.runs import start_run
from carryover.tasks.stages.stage_results import stage_result
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


@pytest.fixture
def asked(run, monkeypatch):
    """What Prefect was asked for instead of a tokenizer that is made; it gives an empty folder."""
    asked = []
    folder = run.folders.datasets / "made"
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_text("{}")

    def in_run(task, run, stage, **options):
        asked.append((task, run.limits.refresh, stage, options))
        return lambda run, part: keep_folder(run.folders, folder)

    monkeypatch.setattr(provide_tokenizer, "in_run", in_run)
    return asked


def test_a_noted_tokenizer_is_opened_without_asking(run, asked):
    (part,) = run.plan.parts
    made = run.folders.datasets / "made"
    assert open_tokenizer(run, part) == made
    assert open_tokenizer(run, part) == made
    assert asked == [(provide_tokenizer.provide_tokenizer, (), Stage.TOKENIZER, {})]
    assert stage_result(run, Stage.TOKENIZER, part.variant) is not None
    other = part.model_copy(update={"variant": "other"})
    open_tokenizer(run, other)
    assert len(asked) == 2


def test_a_refreshed_tokenizer_is_asked_for_once(run, asked):
    (part,) = run.plan.parts
    open_tokenizer(run, part)
    again = run.model_copy(update={"limits": Limits(refresh=(Stage.TOKENIZER,))})
    open_tokenizer(again, part)
    open_tokenizer(again, part)
    assert [refresh for _, refresh, _, _ in asked] == [(), (Stage.TOKENIZER,)]


def test_a_lost_tokenizer_is_asked_for_as_gone(run, asked, monkeypatch):
    (part,) = run.plan.parts
    monkeypatch.setattr(provide_tokenizer, "find_folder", lambda *_: None)
    open_tokenizer(run, part)
    assert [options for _, _, _, options in asked] == [{}, {"is_there": False}]


def test_a_refreshed_tokenizer_is_learned_anew_and_another_is_kept(run, monkeypatch):
    (part,) = run.plan.parts
    built = []

    def build(texts, spec, folder):
        built.append(spec)
        folder.mkdir(parents=True)
        (folder / "tokenizer.json").write_text(str(len(built)))

    monkeypatch.setattr(provide_tokenizer, "build_tokenizer", build)
    monkeypatch.setattr(provide_tokenizer, "_sample_texts", lambda *_: iter(()))
    folder = make_tokenizer(run, part)
    assert make_tokenizer(run, part) == folder
    assert built == [part.training.tokenizer]
    again = run.model_copy(update={"limits": Limits(refresh=(Stage.TOKENIZER,))})
    assert make_tokenizer(again, part) == folder
    assert (folder / "tokenizer.json").read_text() == "2"


def test_texts_are_every_message_in_order(run, monkeypatch):
    (part,) = run.plan.parts
    ids = []

    async def play(run, part, condition, sample, runtime):
        def recorded(name):
            told = [
                (0, "", json.dumps([{"content": f"{condition.runtime_contract} {name}"}, {"content": "Go."}])),
                (1, "Reply.", "Observed."),
                (2, "Done.", None),
            ]
            turns = [SimpleNamespace(turn=turn, assistant_text=text, observation=seen) for turn, text, seen in told]
            return SimpleNamespace(turns=turns)

        ids[:] = [planned.instance.instance_id for planned in sample]
        return {name: recorded(name) for name in reversed(ids)}

    monkeypatch.setattr(provide_tokenizer, "_play", play)
    texts = list(provide_tokenizer._sample_texts(run, part))
    expected = []
    for contract in part.teacher.contracts:
        for name in ids:
            expected += [f"{contract} {name}", "Go.", "Reply.", "Observed.", "Done.", ""]
    assert (texts, len(ids)) == (expected, 2)
    monkeypatch.setattr(provide_tokenizer, "SAMPLE_COUNT", 1)
    assert len(list(provide_tokenizer._sample_texts(run, part))) == len(expected) // 2
