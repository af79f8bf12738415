"""Models trained for CaveAgent's suites: trained, served, asked, and their turns landed."""

import errno
import json
import os
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks import train_arms
from carryover.tasks.cave.arms import lessons
from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.lessons import LEARNING_ARMS
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.datasets.conversations import Conversation
from carryover.tasks.play_cases import play_suite
from carryover.tasks.services.folders import HOME_VARIABLE, open_folders
from carryover.tasks.sft.training_spec import TRAINING


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_trained_model_plays_its_arm(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    monkeypatch.setattr(lessons, "SEED_COUNT", 1)
    monkeypatch.setattr(lessons, "DRILL_COUNT", 10)
    monkeypatch.setattr(train_arms, "TRAINING_SPEC", TRAINING["smoke"].model_copy(update={"max_steps": 2}))
    monkeypatch.setattr(train_arms, "_CONTEXT_TOKENS", 1600)
    arm = "stateless_code"
    plan = SuitePlan(model="laptop", suites=("multi_variable",), arms=(arm,), case_limit=1, replicates=1, max_steps=1)
    prepared = train_arms.prepare_lessons.fn(plan.case_seed)
    folder = train_arms.train_arm.fn(arm, prepared)
    assert train_arms.train_arm.fn(arm, train_arms.prepare_lessons.fn(plan.case_seed)) == folder
    with train_arms.served_plans(plan, {arm: folder}) as plans:
        assert play_suite.fn(plans[arm], "multi_variable", arm, "run") == (1, 0)
    turns = LandingZone(open_folders().landing).scan("cave_turns").collect()
    assert turns.height == 3
    assert set(turns["model_name"]) == {"laptop"}
    assert set(turns["is_oracle"]) == {False}
    assert turns["completion_tokens"].sum() > 0


def conversation(number):
    said = [("system", "Code."), ("user", f"Question {number}."), ("assistant", f"Reply {number}.")]
    return Conversation.model_validate({"messages": [{"role": role, "content": text} for role, text in said]})


@pytest.fixture
def learnt(tmp_path, monkeypatch):
    """Four conversations of each arm in place of its lessons; return what the tokenizer was learned from."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    seen = []

    def build(texts, spec, folder):
        seen.append((texts, spec))
        folder.mkdir()
        (folder / "tokenizer.json").write_text("{}")

    def draw(arm, seed):
        first = 10 * seed + 4 * LEARNING_ARMS.index(arm)
        return [conversation(number) for number in range(first, first + 4)]

    monkeypatch.setattr(train_arms, "lessons", draw)
    monkeypatch.setattr(train_arms, "build_tokenizer", build)
    monkeypatch.setattr(train_arms, "_TOKENIZER_SAMPLE", 2)
    return seen


def test_each_arm_has_its_dataset_and_all_one_tokenizer(learnt, tmp_path):
    prepared = train_arms.prepare_lessons.fn(7)
    again = train_arms.prepare_lessons.fn(7)
    assert prepared == again
    assert set(prepared.datasets) == set(LEARNING_ARMS)
    for place, arm in enumerate(LEARNING_ARMS):
        file = tmp_path / "datasets" / f"cave-{arm}-{prepared.digest}.jsonl"
        assert prepared.datasets[arm] == file
        lines = [json.loads(line)["messages"] for line in file.read_text().splitlines()]
        assert [messages[1]["content"] for messages in lines] == [
            f"Question {70 + 4 * place + number}." for number in range(4)
        ]
    assert prepared.tokenizer == tmp_path / "datasets" / f"tokenizer-cave-{prepared.digest}"
    assert prepared.tokenizer.is_dir()

    ((texts, spec),) = learnt  # learned once, from every second conversation
    assert spec == train_arms.TRAINING_SPEC.tokenizer
    expected = []
    for number in (70, 72, 74, 76):
        expected += ["Code.", f"Question {number}.", f"Reply {number}."]
    assert texts == expected


def test_tokenizer_on_a_full_disk_leaves_no_folder(learnt, monkeypatch):
    """A folder of its name counts as learned, for this process and for others."""

    def fill_the_disk(texts, spec, folder):
        folder.mkdir()
        (folder / "tokenizer.json").write_text("{")
        assert [*folder.parent.glob("tokenizer-*")] == []
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(train_arms, "build_tokenizer", fill_the_disk)
    with pytest.raises(OSError, match="No space left"):
        train_arms.prepare_lessons.fn(7)
    assert [path for path in open_folders().datasets.iterdir() if path.is_dir()] == []


def test_few_conversations_are_all_learned_from(learnt, monkeypatch):
    monkeypatch.setattr(train_arms, "_TOKENIZER_SAMPLE", 5)
    train_arms.prepare_lessons.fn(7)
    ((texts, _),) = learnt
    assert [text for text in texts if text.startswith("Question")] == [
        f"Question {70 + number}." for number in range(8)
    ]


def test_other_lessons_or_settings_are_other_data(learnt, monkeypatch):
    digests = {train_arms.prepare_lessons.fn(seed).digest for seed in (1, 2)}
    spec = train_arms.TRAINING_SPEC.model_copy(update={"max_steps": 3})
    monkeypatch.setattr(train_arms, "TRAINING_SPEC", spec)
    digests.add(train_arms.prepare_lessons.fn(1).digest)
    assert len(digests) == 3
    assert {len(digest) for digest in digests} == {16}
    assert len(learnt) == 3


def test_an_arm_is_trained_on_its_data_under_its_contract(learnt, monkeypatch, tmp_path):
    jobs = []
    monkeypatch.setattr(
        train_arms, "train_in_process", lambda job: jobs.append(job) or SimpleNamespace(path=job.output)
    )
    prepared = train_arms.prepare_lessons.fn(0)
    for arm in LEARNING_ARMS:
        assert train_arms.train_arm.fn(arm, prepared) == tmp_path / "models" / f"cave-{arm}-{prepared.digest}"
    for arm, job in zip(LEARNING_ARMS, jobs, strict=True):
        assert (job.spec, job.contract, job.seed) == (train_arms.TRAINING_SPEC, ARMS[arm].contract, 0)
        assert (job.dataset, job.tokenizer) == (prepared.datasets[arm], prepared.tokenizer)


def test_each_model_is_served_at_an_address_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    told = []

    @contextmanager
    def serve(spec, models, log):
        told.append((spec, models, log))
        yield SimpleNamespace(base_url=f"http://{models.base}/v1")
        told.append(models.base)

    monkeypatch.setattr(train_arms, "open_server", serve)
    plan = SuitePlan(model="laptop", suites=("multi_variable",), arms=LEARNING_ARMS, concurrency=5)
    folders: Any = dict(zip(LEARNING_ARMS, ("one", "two"), strict=True))
    with train_arms.served_plans(plan, folders) as plans:
        assert plans == {
            arm: plan.model_copy(update={"endpoint_url": f"http://{name}/v1"}) for arm, name in folders.items()
        }
        assert len(told) == 2
    for (spec, models, log), name in zip(told[:2], ("one", "two"), strict=True):
        assert (spec.context_tokens, spec.max_concurrent) == (4096, 5)
        assert (models.base, models.base_name) == (name, "laptop")
        assert log == tmp_path / "logs" / "serving-arms.log"
    assert told[2:] == ["two", "one"]

    with train_arms.served_plans(SuitePlan(), {}) as plans:
        assert plans == dict.fromkeys(SuitePlan().arms, SuitePlan())
