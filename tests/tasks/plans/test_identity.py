"""Which identities an edit of the source changes, without running a stage."""

import shutil

import pytest

from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.plans import identity
from carryover.tasks.plans.identity import PACKAGES, PROMPTS, SOURCES, Stage, current_source, prompts_of, stage_digest
from carryover.tasks.services import environment, source_digest
from carryover.tasks.stages.training_data import gate_and_land
from tests.flattening import flat

COLLECTING = {"traces", "evaluation"}
PLAYING = {"tokenizer", "reinforcement", *COLLECTING}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the source, to be edited and restored, parsed once for every edit; and its identities."""
    copy = tmp_path_factory.mktemp("source")
    for folder in ("tasks", "sql", "storage"):
        shutil.copytree(source_digest.ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_digest, "ROOT", copy)
        yield copy, digests()
    identity.stage_source.cache_clear()


def digests():
    identity.stage_source.cache_clear()
    return {stage: stage_digest(stage) for stage in Stage}


UNUSED = "\n\ndef unused():\n    return None\n"


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("tasks/collect.py", "import asyncio\n", "import asyncio  # a comment\n", set()),
        ("tasks/collect.py", "", UNUSED, COLLECTING),
        ("tasks/serving/cpu_server.py", "", UNUSED, {"evaluation"}),
        ("tasks/agent/prompts/compact/base.md", "", "Be brief.\n", set()),
        ("tasks/runtime/contract.py", "", UNUSED, PLAYING),
        ("tasks/knapsack/sampling.py", "ATTEMPT_STRIDE = ", "ATTEMPT_STRIDE = 1 + ", {"instances", *PLAYING, "data"}),
        ("tasks/datasets/validation.py", "GIVEN_UP = ", "GIVEN_UP = 2 * ", {"data"}),
        ("tasks/datasets/validation.py", "", UNUSED, set()),
        ("tasks/sft/trainer.py", "def open_trainer(\n", "def open_trainer(\n    unused, ", {"training"}),
        ("tasks/sft/training_spec.py", "", UNUSED, set()),
        ("tasks/train.py", "", UNUSED, {"training"}),
        ("tasks/reinforcement/grpo.py", "def open_grpo(\n", "def open_grpo(\n    unused, ", {"reinforcement"}),
        ("tasks/plans/presets.py", "", UNUSED, set()),
        ("tasks/services/progress.py", "", UNUSED, set()),
        ("tasks/services/progress.py", "def progress_bar(", "def progress_bar(unused, ", set()),
        ("tasks/traces/rows.py", "", UNUSED, set()),
        ("tasks/traces/rows.py", "class ItemRow(Row,", "class ItemRow(Row, ABC,", {"instances", *PLAYING, "analysis"}),
        ("tasks/traces/result_rows.py", "class ClaimRow(Row,", "class ClaimRow(Row, ABC,", {"analysis"}),
        ("tasks/agent/protocol.py", "class Completion(NamedTuple):", "class Completion(NamedTuple, ABC):", PLAYING),
        ("tasks/analysis/compute.py", "", UNUSED, {"analysis"}),
        ("sql/marts/episode_metrics.sql", "", "-- a comment\n", set()),
        ("sql/marts/episode_metrics.sql", "select", "select distinct", {"analysis"}),
        ("sql/macros/minus_published.sql", "ours - published", "published - ours", {"analysis"}),
        ("sql/published/table_1.csv", "", "\n", {"analysis"}),
        ("storage/warehouse/mart_sources.py", "order by started_at desc", "order by started_at asc", {"analysis"}),
    ],
)  # fmt: skip
def test_an_edit_changes_the_identities_of_the_stages_behind_it(source, file, old, new, changed):
    folder, before = source
    path = folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1) if old else text + new)
    after = digests()
    path.write_text(text)
    assert {stage for stage, digest in after.items() if digest != before[stage]} == changed


@pytest.mark.parametrize(("edited", "other"), [("compact", "full"), ("full", "compact")])
def test_a_prompt_set_counts_where_it_is_played(source, edited, other):
    folder, _ = source
    played, unplayed = (EpisodeSpec(prompt_set=name) for name in (edited, other))
    before = prompts_of(played), prompts_of(unplayed)
    path = folder / PROMPTS[0] / edited / "base.md"
    text = path.read_text()
    path.write_text(text + "Be brief.\n")
    after = prompts_of(played), prompts_of(unplayed)
    path.write_text(text)
    assert (after[0] == before[0], after[1] == before[1]) == (False, True)


def test_a_plan_is_of_another_source_after_an_edit_of_any_prompt(source):
    folder, _ = source
    identity.current_source.cache_clear()
    before = current_source()
    path = folder / PROMPTS[0] / "full" / "base.md"
    text = path.read_text()
    path.write_text(text + "Be brief.\n")
    identity.current_source.cache_clear()
    after = current_source()
    path.write_text(text)
    identity.current_source.cache_clear()
    assert after != before


@pytest.mark.parametrize(
    ("package", "changed"),
    [
        ("torch", {"training", "reinforcement", "evaluation"}),
        ("trl", {"training", "reinforcement"}),
        ("scipy", {"analysis"}),
        ("tokenizers", {*PLAYING, "data", "training"}),
        ("prefect", set()),
    ],
)
def test_a_minor_version_changes_the_stages_it_stands_behind(monkeypatch, package, changed):
    versions = dict.fromkeys((*PACKAGES[Stage.TRAINING], *PACKAGES[Stage.ANALYSIS]), "2.13.0") | {"prefect": "3.9.1"}
    monkeypatch.setattr(identity, "package_versions", lambda: versions)
    before = {stage: stage_digest(stage) for stage in Stage}
    versions[package] = versions[package].rpartition(".")[0] + ".7+cpu"
    assert {stage: stage_digest(stage) for stage in Stage} == before
    versions[package] = "9.1"
    assert {stage for stage in Stage if stage_digest(stage) != before[stage]} == changed


def test_packages_of_training_are_recorded_with_every_run():
    recorded = set(environment.PACKAGES)
    assert set(flat(PACKAGES.values())) <= recorded
    assert {"torch", "transformers", "trl", "peft"} <= set(PACKAGES[Stage.TRAINING])


def test_an_input_counts_by_value():
    assert stage_digest(Stage.DATA, {"b": 1, "a": (2,)}) == stage_digest(Stage.DATA, {"a": [2], "b": 1})
    assert stage_digest(Stage.DATA, 1) != stage_digest(Stage.DATA, 2)
    assert len(current_source()) == 16
    assert identity.analysis_source() == stage_digest(Stage.ANALYSIS)
    assert set(SOURCES) == set(Stage)
    assert gate_and_land.__module__ in SOURCES[Stage.DATA]
