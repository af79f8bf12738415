"""A family's check finds what would make a study meaningless."""

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.families.check import STUDY_INSTANCES, _Lessons, _taught, check_family
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.runtime.contract import Contract, named_contract
from carryover.tasks.traces.vocabulary import FinishReason
from tests.tasks.families.written import opened, written

SAMPLE = 'draw = random.Random(f"{bucket} {seed}")'
SCORE = "return self._coins.get(self._chosen, 0) / max(self._coins.values())"
MINE = Contract(name="mine", lifetime="functions")
NO_TEACHER = {'taught = ("persistent", "stateless")': "taught = ()", "def teach(": "def untaught("}


def faults(folder, changes, seed_count=3):
    return check_family(written(folder, NO_TEACHER | changes), seed_count).faults


def test_the_template_is_sound_for_a_hundred_seeds(tmp_path):
    report = check_family(written(tmp_path), 100)
    assert (report.name, report.instance_count, report.faults) == ("boxes", 200, [])
    assert report.notes == [
        "teacher of persistent: mean score 1.00 in 3.3 turns, 3 episodes",
        "teacher of stateless: mean score 1.00 in 3.3 turns, 3 episodes",
    ]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (SAMPLE, "draw = random.Random()", "the seed gives another instance the second time"),
        (
            SAMPLE,
            "draw = random.Random(0)",
            "bucket few: 3 seeds give 1 distinct instance by content, and a study draws each once",
        ),
        (SCORE, f"{SCORE} / 2", "the reference solution scores 0.5, not 1"),
        ('return {f"box_{number}"', "return {number", "sample() must return JSON values: key"),
        ("super().__init__(self.list_boxes, self.peek, self.choose)", "pass", "call super().__init__(tool, ...)"),
        ('return {"chosen_coins": self._coins', 'return {"chosen_coins": str, "c": self._coins', "is no finite number"),
        ("self.peek, self.choose)", "self.peek, self.choose, lambda: 1)", "has no name to call it by"),
        ('buckets = ("few", "many")', 'buckets = "few"', "buckets is the text 'few'; write a tuple of names"),
        ("taught = ()", 'taught = "persistent"', "taught is the text 'persistent'"),
        ('return {"chosen_coins": self._coins', 'return {"a": float("nan"), "c": self._coins', "is no finite number"),
        (SCORE, "return 1", "doing nothing scores 1, not 0"),
        ('return {f"box_{number}"', "return {(number, 1)", "sample() must return JSON values"),
        ('return f"Choose', 'return None and f"Choose', "goal() must return a text"),
        ("return World(instance)", "return World(None)", "AttributeError"),
        ('return {"chosen": self._chosen}', "return {}", "known() binds [], the class declares ['chosen']"),
        ('"""Choose a box; the last choice counts."""', "", "tool choose has no docstring"),
        ('spare_tool = "list_boxes"', 'spare_tool = "boxes"', "spare_tool 'boxes' is no tool"),
        (
            "self.choose)  #",
            "self.choose, *([self.known] * (len(coins) > 9)))  #",
            "bucket many: instances differ in their tools; set tools_vary = True",
        ),
        ('known = {"chosen"', 'known = {"a b"', "known names 'a b', which is not a valid identifier"),
        ("taught = ()", 'taught = ("forgetful",)', "taught: unknown contract 'forgetful'; choose from persistent"),
    ],
)
def test_a_fault_is_named_with_its_way_out(tmp_path, old, new, fault):
    found = faults(tmp_path, {old: new})
    assert any(fault in each for each in found), found


def test_every_instance_of_every_bucket_advances_the_bar(tmp_path):
    advances = []

    @contextmanager
    def open_bar(label, total, unit):
        advances.append((label, total, unit))
        yield lambda count, detail="": advances.append((count, detail))

    check_family(written(tmp_path, NO_TEACHER), 3, open_bar=open_bar)
    assert advances == [("family boxes", 6, "instances"), *[(1, "")] * 6]


def test_a_contract_of_ones_own_is_played_by_its_script(tmp_path):
    report = check_family(written(tmp_path), 3, contracts=(named_contract("recent-1"), MINE))
    assert report.faults == []
    assert report.notes[2:] == [
        "teacher of recent-1: mean score 1.00 in 3.3 turns, 3 episodes",
        "teacher of mine: mean score 1.00 in 3.3 turns, 3 episodes",
    ]


@pytest.mark.parametrize("binds", ["nothing", "environment"])
def test_a_taught_contract_that_keeps_nothing_starts_anew(tmp_path, binds):
    taught = {'taught = ("persistent", "stateless")': 'taught = ("mine",)'}
    mine = Contract(name="mine", lifetime="block", binds=binds)
    report = check_family(written(tmp_path, taught), 3, contracts=(mine,))
    assert report.faults == []
    assert report.notes == ["teacher of mine: mean score 1.00 in 3.3 turns, 3 episodes"]


def test_a_contract_without_a_teacher_is_a_fault(tmp_path):
    wanted = written(tmp_path, NO_TEACHER)
    (fault,) = check_family(wanted, 3, contracts=(MINE,)).faults
    assert fault == "no teacher for contract 'mine': teach mine or stateless, and name it in taught"


def test_contracts_that_are_taught_or_given_are_played_once(tmp_path):
    own = opened(tmp_path)
    given = (MINE, named_contract("stateless"))
    assert _taught(own, given) == [named_contract("persistent"), named_contract("stateless"), MINE]
    assert _taught(own, ()) == [named_contract("persistent"), named_contract("stateless")]


def test_a_taught_contract_is_named_once(tmp_path):
    (fault,) = check_family(written(tmp_path), 3, contracts=(named_contract("injected"),)).faults
    assert fault == "no teacher for contract 'injected': teach injected, and name it in taught"


def test_a_teacher_of_no_contract_is_a_fault(tmp_path):
    untaught = {'taught = ("persistent", "stateless")': "taught = ()"}
    (fault,) = check_family(written(tmp_path, untaught), 3).faults
    assert fault.endswith("taught names no contract that it plays: taught = ('persistent', 'stateless')")


def test_a_family_without_teacher_needs_an_endpoint(tmp_path):
    report = check_family(written(tmp_path, NO_TEACHER), 3)
    assert report.faults == []
    assert report.notes == ["no scripted teacher: `carryover run` needs --teacher-url URL --teacher-model NAME"]


def test_repeated_instances_are_counted_per_bucket(tmp_path):
    (few, many) = faults(tmp_path, {SAMPLE: "draw = random.Random(seed % 8)"}, seed_count=10)
    told = "10 seeds give 8 distinct instances by content, and a study draws each once"
    assert few == f"bucket few: {told} (46 at scale smoke, 1,100 at scale laptop); let sample() draw from more"
    assert many.startswith("bucket many: 10 seeds give 8")


@pytest.mark.parametrize(("scale", "count"), STUDY_INSTANCES.items())
def test_a_plan_draws_as_many_instances_as_is_told(scale, count):
    (part,) = resolve_plan(scale).parts
    drawn = [part.train_instances, *(each.instances for each in part.evaluations)]
    counts = {each.model_dump_json(): each.count for each in drawn}  # evaluations share instances
    assert sum(counts.values()) == count


def test_a_teacher_that_trusts_ended_names_is_a_fault(tmp_path):
    changed = {"if lesson.starts_anew:": "if not turns or lesson.contract == 'stateless':"}
    report = check_family(written(tmp_path, changed), 3, contracts=(named_contract("recent-1"),))
    assert any("teacher of recent-1" in each and "NameError" in each for each in report.faults)


def test_a_teacher_that_does_not_finish_is_a_fault(tmp_path):
    found = check_family(written(tmp_path, {"    finish()\\n": "    pass\\n"}), 3).faults
    assert "teacher of persistent: an episode ended with max_turns, not with finish()" in found


@pytest.mark.parametrize("reply", ["look + ending", "None", "[sentence]"])
def test_a_teacher_without_sentence_and_block_is_a_fault(tmp_path, reply):
    found = check_family(written(tmp_path, {"return sentence, look + ending": f"return {reply}"}), 3).faults
    assert "teacher of persistent, seed 0: TypeError: teach() must return a sentence and a block, not " in found[0]


def test_a_fault_names_its_place_once(tmp_path):
    (fault,) = faults(tmp_path, {SCORE: "return 1"})
    told = "doing nothing scores 1, not 0; score what the agent has achieved"
    assert fault == f"bucket few, seed 0 and 4 more: {told}"


def test_a_single_faulty_instance_is_named_alone(tmp_path):
    broken = f"{SAMPLE}\n        if bucket == 'many' and seed == 2:\n            raise OSError('no file')"
    assert faults(tmp_path, {SAMPLE: broken}) == ["bucket many, seed 2: OSError: no file"]


def test_no_more_than_five_faulty_instances_are_looked_at(tmp_path):
    broken = f"{SAMPLE}\n        if seed % 2:\n            raise OSError(f'no file {{bucket}} {{seed}}')"
    told = [f"bucket few, seed {seed}: OSError: no file few {seed}" for seed in (1, 3, 5, 7, 9)]
    assert faults(tmp_path, {SAMPLE: broken}, seed_count=20) == told


def taught_lessons(monkeypatch, *played):
    """Return the lessons of a teacher that played so: messages, the end, score and replies; or what it raised."""
    left = list(played)

    def play(lessons, problem):
        errors, finish_reason, score, turn_count = left.pop(0)
        if isinstance(errors, Exception):
            raise errors
        told = [SimpleNamespace(message=message, is_caught=message == "caught") for message in errors]
        episode = SimpleNamespace(finish_reason=finish_reason, score=score, turn_count=turn_count)
        return SimpleNamespace(errors=told, episode=episode)

    monkeypatch.setattr(_Lessons, "_play", play)
    nothing: Any = None
    lessons = _Lessons(nothing, MINE, nothing)
    problems: Any = [SimpleNamespace(seed=seed) for seed in (4, 5, 6)]
    lessons.give(problems)
    return lessons, len(left)


ENDED = FinishReason.FINISH_TOOL
SOUND = ([], ENDED, 1.0, 3)


def test_lessons_without_a_fault_are_told_by_their_means(monkeypatch):
    lessons, left = taught_lessons(monkeypatch, SOUND, (["caught"], ENDED, None, 4), SOUND)
    assert (lessons.faults, left) == ([], 0)
    assert lessons.note == "teacher of mine: mean score 0.67 in 3.3 turns, 3 episodes"


@pytest.mark.parametrize(
    ("played", "found", "note"),
    [
        ((["no x"], ENDED, 0.5, 2), ["seed 5: no x"], "mean score 0.75 in 2.5 turns, 2 episodes"),
        (
            (["no x", "caught", "no y", "no z"], FinishReason.MAX_TURNS, 0.0, 9),
            ["seed 5: no x", "seed 5: 2 further blocks fail"],
            "mean score 0.50 in 6.0 turns, 2 episodes",
        ),
        ((KeyError("x"), ENDED, 0.0, 0), ["seed 5: KeyError: 'x'"], "mean score 1.00 in 3.0 turns, 1 episode"),
    ],
)
def test_the_first_lesson_that_fails_is_the_last(monkeypatch, played, found, note):
    lessons, left = taught_lessons(monkeypatch, SOUND, played, SOUND)
    ended = ["teacher of mine: an episode ended with max_turns, not with finish()"]
    assert lessons.faults == [
        *(f"teacher of mine, {each}" for each in found),
        *(ended if played[1] is FinishReason.MAX_TURNS else []),
    ]
    assert (left, lessons.note) == (1, f"teacher of mine: {note}")


def test_no_lesson_at_all_has_a_note(monkeypatch):
    lessons, _ = taught_lessons(monkeypatch, (KeyError("x"), ENDED, 0.0, 0))
    assert lessons.note == "teacher of mine: mean score 0.00 in 0.0 turns, 0 episodes"


def test_a_teacher_that_misses_a_name_is_a_fault(tmp_path):
    found = check_family(written(tmp_path, {"if lesson.starts_anew:": "if not turns:"}), 3).faults
    assert any("teacher of stateless" in each and "NameError" in each for each in found)


def test_a_failing_teacher_tells_one_error(tmp_path):
    changed = {"return sentence, look + ending": "return sentence, 'missing'"}
    first, further, ended = check_family(written(tmp_path, changed), 3).faults[:3]
    assert "ended with max_turns" in ended
    assert "NameError: name 'missing' is not defined" in first
    assert further == "teacher of persistent, seed 0: 23 further blocks fail"


def test_a_failing_class_tells_few_faults(tmp_path):
    found = faults(tmp_path, {SCORE: "return 1"}, seed_count=50)
    assert len(found) == 1


def test_an_error_that_a_teacher_catches_is_no_fault(tmp_path):
    caught = "try:\\n    peek('nothing')\\nexcept Exception:\\n    pass\\n"
    changed = {"return sentence, look + ending": f'return sentence, "{caught}" + look + ending'}
    assert check_family(written(tmp_path, changed), 3).faults == []
