"""The shipped families: sound, taught under both contracts, with habits that vary and are paired."""

import hashlib
import random

import pytest

from carryover.tasks.families.choose import SHIPPED, open_own_family
from carryover.tasks.families.family import Habits, Lesson
from carryover.tasks.families.log_triage.events import draw_log, make_events
from carryover.tasks.knapsack.teachers.small import PlayedTurn
from carryover.tasks.services.source_digest import canonical_json
from tests.presets import kept_presets
from tests.tasks.families.playing import play

TAUGHT = [name for name in sorted(SHIPPED) if open_own_family(name).family.taught]


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_seed_is_sound(name):
    own = open_own_family(name)
    for bucket in own.family.buckets:
        problems = [own.sample(bucket, seed) for seed in range(5)]
        for problem in problems:
            own.validate(problem)
            goal = own.family.goal(problem.content)
            assert goal == goal.strip()
        assert len({problem.instance_id for problem in problems}) == 5


DRAWN = {
    "log_triage": {"calm": "0ca073c25bffb3fd", "busy": "172cc39fab046476"},
    "map_exploration": {"near": "c45cedf208eda002", "far": "299e619fb30818dd"},
}


def digest_of(values):
    return hashlib.sha256("\n".join(map(canonical_json, values)).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_a_seed_names_the_same_instance_everywhere(name):
    """A recorded episode is compared by its seed, so another drawing needs another name of the family."""
    own = open_own_family(name)
    drawn = {bucket: [own.sample(bucket, seed) for seed in range(8)] for bucket in own.family.buckets}
    assert {bucket: digest_of(instances) for bucket, instances in drawn.items()} == DRAWN[name]


def test_a_log_has_the_same_events_everywhere():
    assert digest_of([make_events(draw_log("calm", 3))]) == "853e842d3dcdca02"


def first_block(name, contract, seed):
    lesson = Lesson(contract, "", [], Habits(str(seed)), random.Random(seed))
    return open_own_family(name).family.teach(lesson)


@pytest.mark.parametrize("name", TAUGHT)
@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_habits_vary_from_episode_to_episode(name, contract):
    blocks = {first_block(name, contract, seed)[1] for seed in range(60)}
    assert len(blocks) >= 6


@pytest.mark.parametrize("name", TAUGHT)
def test_contracts_share_the_episodes_sentence_and_names(name):
    for seed in range(10):
        persistent = first_block(name, "persistent", seed)
        stateless = first_block(name, "stateless", seed)
        assert persistent[0] == stateless[0]
        assert persistent[1].splitlines()[-2:] == stateless[1].splitlines()[-2:]


@pytest.mark.parametrize("name", TAUGHT)
@pytest.mark.parametrize("others", [("stateless",), ("recent-1", "recent-3")])
def test_contracts_reach_the_persistent_score(runtime, name, others):
    own = open_own_family(name)
    for seed in range(3):
        problem = own.sample(own.family.buckets[0], seed)
        scores = set()
        for contract in ("persistent", *others):
            teacher = own.open_teacher(problem.bucket, contract)
            recorded = play(runtime, own, problem, teacher, contract)
            assert recorded.episode.finish_reason == "finish_tool"
            assert not [error for error in recorded.errors if not error.is_caught]
            scores.add(recorded.episode.score)
        assert len(scores) == 1


def taught(name, contract, kept_blocks):
    """Return the digests of a teacher's first reply, of later ones, and of repairs, over several habits."""
    teach = open_own_family(name).family.teach
    told = []
    for seed in range(6):
        turns = []
        replies = []
        for failed in (False, True, False, False, False, False):
            lesson = Lesson(contract, "Choose.", list(turns), Habits(str(seed)), random.Random(seed), kept_blocks)
            sentence, block = teach(lesson)
            replies.append([sentence, block])
            turns.append(PlayedTurn(block, "more\n", failed))
        told.append(digest_of(replies)[:8])
    return told


TAUGHT_TEXTS = [
    f"{name} {contract} {kept_blocks}"
    for name in TAUGHT
    for contract, kept_blocks in (("persistent", None), ("persistent", 1), ("persistent", 2), ("stateless", 0))
]


@pytest.mark.parametrize("which", TAUGHT_TEXTS)
def test_shipped_teachers_write_what_they_always_wrote(which):
    name, contract, kept = which.split()
    kept_blocks = None if kept == "None" else int(kept)
    assert taught(name, contract, kept_blocks) == kept_presets(__file__, "texts.json")[which]
