"""What a family's tools, goals and instances become in prompts and rows, whole."""

import json
import random
from typing import Any, ClassVar

import pytest

from carryover.tasks.agent.family import Score
from carryover.tasks.agent.protocol import Message
from carryover.tasks.families.family import Environment, Family, Habits, Lesson
from carryover.tasks.families.own_family import OwnFamily
from carryover.tasks.families.problem import Problem
from carryover.tasks.families.teacher import family_teacher
from carryover.tasks.knapsack.teachers.small import PlayedTurn
from carryover.tasks.services.errors import UserError
from tests.tasks.agent.playing import block


class World(Environment):
    def __init__(self, instance):
        super().__init__(self.look, self.take)
        self.instance = instance
        self.taken = 0.0

    def look(self, place: str = "here") -> int:
        """Look at a place.

        Costs nothing, not even $1.
        """
        return len(place)

    def take(self, count: int) -> None:
        self.taken += count

    def score(self):
        return self.taken / 2

    def metrics(self):
        return {"taken": self.taken}

    def known(self):
        return {"taken": self.taken}


class Places(Family):
    buckets = ("few", "many")
    known: ClassVar = {"taken": "what was taken", "room": "what is left"}
    taught = ("persistent", "stateless")

    def sample(self, bucket, seed):
        return {"seed": seed, "in": [bucket]}

    def goal(self, instance):
        return f"Take 2 of {instance['seed']}."

    def open(self, instance):
        return World(instance)

    def solve(self, instance, tools):
        tools["take"](2)

    def teach(self, lesson):
        return f"I take {len(lesson.turns)} of {lesson.goal}", f"\ntake({lesson.kept_blocks})\n"


class Varying(Places):
    tools_vary = True
    known: ClassVar = {}


DOCUMENTED = '''Tools that you can call inside a block:

```python
def look(place: str = 'here') -> int:
    """Look at a place.

    Costs nothing, not even $1.
    """


def take(count: int) -> None:
    """take"""


def finish() -> None:
    """End the episode; what has been done so far is the answer."""
```

A tool that fails raises an exception.'''
BOUND = (
    "Before each block these names are bound to what is known by then: `taken`, what was taken; `room`, what is left."
)
RUNTIMES = {
    "runtime_injected": f"Runtime: INJECTED. Every block runs in a fresh environment. {BOUND}",
    "runtime_injected+persistent": (f"Runtime: INJECTED, PERSISTENT. Names stay defined after every block. {BOUND}"),
}


@pytest.fixture
def own():
    return OwnFamily("places", Places())


@pytest.mark.parametrize(("prompt_set", "goal"), [("full", "$goal"), ("compact", "$goal Tools: look, take, finish.")])
def test_prompts_document_the_tools_and_what_is_bound(own, prompt_set, goal):
    tools = f"{DOCUMENTED}\n$cap_sentence".replace("$1", "$$1")
    assert own.prompts(prompt_set) == {"goal": goal, "tools": tools, **RUNTIMES}
    assert own.goal_values(own.sample("few", 3)) == {"goal": "Take 2 of 3."}
    assert own.known_names == ("taken", "room")


def test_goals_document_tools_that_vary():
    own = OwnFamily("places", Varying())
    assert own.prompts("full") == own.prompts("compact") == {"goal": "$goal", "tools": "$cap_sentence"}
    assert own.goal_values(own.sample("few", 3)) == {"goal": f"Take 2 of 3.\n\n{DOCUMENTED}"}


def test_an_instance_is_a_row_and_comes_back_from_it(own):
    problem = own.sample("many", 12)
    assert problem == Problem(family="places", bucket="many", seed=12, content_json='{"in":["many"],"seed":12}')
    row, items = own.rows(problem, "run", "train")
    told = row.model_dump(exclude={"spec_json", "content_json"}, exclude_defaults=True)
    assert told == {
        "run_id": "run", "instance_id": problem.instance_id, "split": "train", "family": "places", "bucket": "many",
        "task_id": "places-0000000012", "seed": 12,
    }  # fmt: skip
    assert json.loads(row.spec_json) == {
        "family": "places", "bucket": "many", "tools": ["look", "take", "finish"], "known": ["taken", "room"],
    }  # fmt: skip
    assert items == []
    assert own.instance_of_row(row.model_dump()) == problem
    assert own.instance_of_row({**row.model_dump(), "content_json": None}).content is None


def test_an_instances_name_is_that_of_its_content(own):
    first = own.sample("few", 1)
    assert len(first.instance_id) == 24
    assert first.model_copy(update={"seed": 9}).instance_id == first.instance_id
    names = {each.instance_id for each in (first, own.sample("few", 2), OwnFamily("p", Places()).sample("few", 1))}
    assert len(names) == 3


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({1: 2}, "key 1 is no text; write str(key)"),
        ([{"a": ({None: 1},)}], "key None is no text; write str(key)"),
        ({"a": {"b": {2: 1}}}, "key 2 is no text; write str(key)"),
        ({"a": {1}}, "Object of type set is not JSON serializable"),
        ([float("nan")], "Out of range float values are not JSON compliant"),
    ],
)
def test_content_that_is_no_json_is_refused(own, monkeypatch, content, told):
    monkeypatch.setattr(own.family, "sample", lambda bucket, seed: content)
    with pytest.raises(UserError) as refused:
        own.sample("few", 7)
    assert str(refused.value).startswith(f"family places, seed 7: sample() must return JSON values: {told}")


def test_an_unknown_bucket_is_told_with_the_choices(own):
    with pytest.raises(UserError, match=r"^family places has no bucket 'none'; choose from few, many$"):
        own.sample("none", 0)


@pytest.mark.parametrize(
    ("idle", "solved", "told"),
    [
        (0.5, 1, "doing nothing scores 0.5, not 0; score what the agent has achieved"),
        (0, 0.5, "the reference solution scores 0.5, not 1; mend solve() or score()"),
        (0, 2, "the reference solution scores 2, not 1; mend solve() or score()"),
    ],
)
def test_a_score_is_0_for_nothing_and_1_for_the_reference(own, monkeypatch, idle, solved, told):
    own.validate(own.sample("few", 0))
    monkeypatch.setattr(World, "score", lambda world: solved if world.taken else idle)
    with pytest.raises(UserError) as refused:
        own.validate(own.sample("few", 7))
    assert str(refused.value) == f"family places, seed 7: {told}"


def test_the_machine_plays_the_authors_world(own):
    played: Any = own.open(own.sample("few", 1))
    assert (played.is_over, played.known(), [*played.tools]) == (False, {"taken": 0.0}, ["look", "take", "finish"])
    played.tools["take"](1)
    assert played.score() == Score(0.5, is_solved=False, metrics={"taken": 1.0})
    played.tools["take"](3)
    played.tools["finish"]()
    assert played.score() == Score(2.0, is_solved=True, metrics={"taken": 4.0})
    assert (played.is_over, played.known()) == (True, {"taken": 4.0})


@pytest.mark.parametrize(
    ("contract", "kept_blocks"),
    [("persistent", None), ("stateless", 0), ("recent-2", 2), ("functions", 0)],
)
def test_a_lesson_knows_how_long_names_are_kept(own, contract, kept_blocks):
    assert taken_by(own.open_teacher("few", contract)) == f"I take 0 of Take.\n```python\ntake({kept_blocks})\n```"


def taken_by(teacher, *messages):
    return teacher.open_for("i")._write_reply(messages or (said("user", "Take."),), 7)


def said(role, content):
    return Message(role=role, content=content)


def test_a_lesson_has_the_goal_of_either_prompt_format():
    teacher = family_teacher(Places(), "persistent")
    task = json.dumps({"task": "Take all.", "runtime_state": {}})
    assert taken_by(teacher, said("system", "You are."), said("user", task)).startswith("I take 0 of Take all.")
    told = [said("user", "Take."), said("assistant", block("x")), said("user", '{"output": ""}')]
    assert taken_by(teacher, *told).startswith("I take 1 of Take.")


@pytest.mark.parametrize("taught", ["take()", None, ("one", "two", "three"), ("one", 2), [3, "x"]])
def test_a_teacher_that_gives_no_sentence_and_block_is_told(monkeypatch, taught):
    monkeypatch.setattr(Places, "teach", lambda family, lesson: taught)
    with pytest.raises(TypeError) as refused:
        taken_by(family_teacher(Places(), "persistent"))
    assert str(refused.value) == f"teach() must return a sentence and a block, not {taught!r}"


def test_a_teachers_habits_are_the_instances_and_chance_the_turns(monkeypatch):
    def teach(family, lesson):
        return str(lesson.habits.choose("size", *range(1000))), str(lesson.chance.random())

    monkeypatch.setattr(Places, "teach", teach)
    model = family_teacher(Places(), "persistent").open_for("i")
    habits = Habits("i")
    chance = random.Random("turn 7").random()
    expected = f"{habits.choose('size', *range(1000))}\n```python\n{chance}\n```"
    assert (model._write_reply((said("user", "Take."),), 7), model.habits) == (expected, habits.drawn)


def test_a_world_that_says_no_more_than_its_score_knows_and_measures_nothing():
    class Bare(Environment):
        def score(self):
            return 0.0

    bare = Bare()
    assert (bare.known(), bare.metrics(), bare.is_over, [*bare.tools]) == ({}, {}, False, ["finish"])
    bare.tools["finish"]()
    assert bare.is_over


@pytest.mark.parametrize(
    ("turns", "kept_blocks", "starts_anew"),
    [
        ([], None, True),
        ([PlayedTurn("x", "", has_failed=True)], None, True),
        ([PlayedTurn("x", "", has_failed=False)], None, False),
        ([PlayedTurn("x", "", has_failed=False)], 0, True),
    ],
)
def test_a_lesson_starts_anew_where_nothing_is_kept(turns, kept_blocks, starts_anew):
    lesson = Lesson("persistent", "", turns, Habits("i"), random.Random(0), kept_blocks)
    assert lesson.starts_anew is starts_anew


def test_a_family_without_a_teacher_says_so(own):
    with pytest.raises(
        ValueError, match=r"^family places has no teacher for contract 'injected'; it has persistent, st"
    ):
        own.open_teacher("few", "injected")

    class Untaught(Places):
        taught = ()
        teach = Family.teach

    with pytest.raises(ValueError, match=r"^family places has no teacher for contract 'persistent'; it has none$"):
        OwnFamily("places", Untaught()).open_teacher("few", "persistent")
    with pytest.raises(NotImplementedError, match=r"^Untaught has no teacher for contract 'persistent'$"):
        taken_by(family_teacher(Untaught(), "persistent"))
