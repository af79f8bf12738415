"""CaveAgent's suites as families: the state after each question is the reward."""

from copy import deepcopy
from typing import Any

import pytest

from carryover.tasks.cave.arms.arm import Arm
from carryover.tasks.cave.arms.oracle import programs
from carryover.tasks.cave.suites.case import STAGE
from carryover.tasks.cave.suites.catalogue import suite_cases
from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.families.cave_suites.family import CaveBfcl, CaveBfclMultiTurn
from carryover.tasks.families.choose import SHIPPED, open_own_family
from carryover.tasks.families.own_family import OwnFamily
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.vocabulary import ContractName
from tests.tasks.cave.importers.made_downloads import made_multi_turn

CODE_ACT = Arm(ContractName.PERSISTENT, writes_code=True, is_injected=False)
"""Variables lie in the host: programs read and write them by functions."""


@pytest.fixture
def world():
    own = open_own_family("cave_types")
    return own.family.open(own.sample("simple", 1).content)


@pytest.mark.parametrize(
    ("name", "seed", "found"),
    [
        ("types", 1, {"tier": "simple", "case_seed": 0, "place": 1, "digest": "f1b039a1053e5367"}),
        ("types", 50, {"tier": "simple", "case_seed": 4, "place": 2, "digest": "eaf86ce644551f1a"}),
        ("printed", 15, {"tier": "printed", "case_seed": 0, "place": 2, "digest": "45b1e8106cf83f47"}),
    ],
)
def test_a_seed_is_a_case_of_its_drawing(name, seed, found):
    """The digest is that of questions and expected states: a changed suite has other instances."""
    assert open_own_family(f"cave_{name}").family.sample(found["tier"], seed) == found


def test_a_goal_tells_variables_and_how_states_are_handed_in():
    family = open_own_family("cave_types").family
    assert family.goal(family.sample("simple", 1)) == (
        "The task's variables are kept outside: read_variable(name) gives one as JSON, write_variable(name, value) "
        "replaces it. Whatever is said above, only what is written with write_variable counts.\n"
        "Variables of the task:\nsubject: int\n    A whole number, to be read and changed.\n"
        "answer: NoneType\n    Bind results to this name.\n"
        "The questions come one by one, and build on each other. `next_question()` hands in the state as it is and "
        "returns the next question; `finish()` hands in the last one and ends. The first question: Add 29 to `subject`."
    )


def test_a_world_has_the_variables_the_questions_and_an_end(world):
    tools: Any = world.tools
    assert [*tools] == ["read_variable", "write_variable", "next_question", "finish"]
    case = suite_cases("types", 0)[1]
    tools["write_variable"]("subject", case.expected[0].state["subject"])
    assert tools["read_variable"]("subject") == case.expected[0].state["subject"]
    assert tools["next_question"]() == case.turns[1].question
    assert world.metrics() == {"handed_in_count": 1, "right_count": 1}
    assert world.score() == pytest.approx(1 / 3)
    tools["finish"]()
    tools["finish"]()
    assert tools["next_question"]() == case.turns[2].question
    assert world.metrics() == {"handed_in_count": 2, "right_count": 1}


def test_a_wrong_state_earns_nothing(world):
    assert world.next_question() != world.next_question()
    world.finish()
    assert (world.score(), world.metrics()) == (0.0, {"handed_in_count": 3, "right_count": 0})


def test_handing_in_more_often_than_asked_changes_nothing(world):
    told = [world.next_question() for _ in range(5)]
    assert "last question" in told[-1]
    assert world.metrics()["handed_in_count"] == 3


def test_the_goal_tells_variables_and_the_first_question():
    own = open_own_family("cave_multi_variable")
    instance = own.sample("05", 0)
    told = own.family.goal(instance.content)
    assert "ember_stock" in told
    assert "next_question()" in told


def test_goals_document_the_functions_of_a_case():
    own = open_own_family("cave_token_efficiency")
    for bucket, function in {"iot": "list_devices", "finance": "read_account", "shop": "check_out"}.items():
        told = own.goal_values(own.sample(bucket, 0))["goal"]
        assert f"def {function}(" in told
        assert told.count("def next_question()") == told.count("def finish()") == 1
        assert "def read_variable" not in told


def test_calls_of_a_case_change_its_state(runtime):
    case = next(case for case in suite_cases("token_efficiency", 0) if case.tier == "shop")
    program = case.turns[0].golden.replace(STAGE, "")
    environment = BlockEnvironment("cave_token_efficiency", "stateless", bucket="shop", runtime=runtime)
    environment.reset(seed=0)
    step = environment.step(f"I call.\n```python\n{program}\nprint(next_question())\n```")
    assert case.turns[1].question in (step.observation or "")
    assert environment.get_reward() == pytest.approx(1 / 8)


@pytest.mark.parametrize(("chart", "score"), [("right", 1.0), ("cut", 0.0)])
def test_charts_are_judged_by_what_they_draw(chart, score):
    own = open_own_family("cave_data_intensive")
    problem = own.sample("visualization", 1)
    world: Any = own.family.open(problem.content)
    case = next(case for case in suite_cases("data_intensive", 0) if case.case_id == "data_intensive/visualization/001")
    drawn: Any = deepcopy(case.expected[0].state["chart"])
    if chart == "cut":
        drawn["series"][0]["data"].pop()
    world.write_variable("chart", drawn)
    world.finish()
    assert world.score() == score


def test_printed_conversations_come_again_for_later_seeds():
    own = open_own_family("cave_printed")
    assert own.sample("printed", 2).content == own.sample("printed", 15).content


def test_an_imported_suite_reads_its_subclass_download(tmp_path):
    class Mine(CaveBfclMultiTurn):
        data = str(made_multi_turn(tmp_path))

    own = OwnFamily("mine", Mine())
    for bucket in Mine.buckets:
        problem = own.sample(bucket, 5)
        own.validate(problem)
        assert "def mkdir(name):" in own.goal_values(problem)["goal"]
    world: Any = own.family.open(own.sample("base", 0).content)
    world.tools["mkdir"](name="b")
    world.next_question()
    world.tools["ls"]()
    world.finish()
    assert world.score() == 0.5  # the first request wants a second call, whose answer is a refusal


def test_an_imported_suite_needs_a_download():
    with pytest.raises(UserError, match="bfcl needs your own download"):
        OwnFamily("bfcl", CaveBfcl()).sample("multiple", 0)


@pytest.mark.parametrize("name", [name for name in sorted(SHIPPED) if name.startswith("cave_")])
def test_golden_programs_earn_all_in_the_sandbox(runtime, name):
    own = open_own_family(name)
    environment = BlockEnvironment(name, "persistent", runtime=runtime)
    environment.reset(seed=0)
    suite = name.removeprefix("cave_")
    bucket = own.family.buckets[0]
    case = next(case for case in suite_cases(suite, 0) if bucket in (case.tier, "printed"))
    for program in programs(case, CODE_ACT):
        environment.step(f"I act.\n```python\n{program}\nprint(next_question())\n```")
    assert environment.get_reward() == 1.0


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_a_block_that_does_as_asked_is_rewarded(runtime, contract):
    case = next(case for case in suite_cases("types", 0) if case.tier == "simple")
    wanted = case.expected[0].state
    environment = BlockEnvironment("cave_types", contract, runtime=runtime, is_shaped=True)
    environment.reset(seed=0)
    writes = "\n".join(f"write_variable({name!r}, {value!r})" for name, value in wanted.items() if " " not in name)
    step = environment.step(f"I write.\n```python\n{writes}\nprint(next_question())\n```")
    assert case.turns[1].question in (step.observation or "")
    assert step.reward == environment.get_reward() == pytest.approx(1 / 3)
