import pytest

from carryover.tasks.families.log_triage.events import draw_log, make_events, meets
from carryover.tasks.families.log_triage.family import PAGE, LogTriage, LogWorld
from carryover.tasks.runtime.inside.tools import ToolRuntimeException

LOG = draw_log("calm", 3)


@pytest.fixture
def world():
    return LogWorld(LOG)


def test_events_of_the_cause_fail_and_others_hardly():
    events = make_events(LOG)
    of_cause = [event["failed"] for event in events if meets(event, LOG["cause"])]
    others = [event["failed"] for event in events if not meets(event, LOG["cause"])]
    assert len(of_cause) >= 5
    assert sum(of_cause) / len(of_cause) > 0.7
    assert sum(others) / len(others) < 0.01


def test_a_query_costs_once(world):
    name, values = next(iter(LOG["fields"].items()))
    first = world.query({})
    assert len(first) == PAGE
    assert world.query({}) == first
    assert {event[name] for event in world.query({name: values[0]})} == {values[0]}
    assert world.metrics() == {"query_count": 2, "reported_count": 0}


def test_a_spent_budget_refuses_new_queries_alone(world):
    queries = [{name: value} for name, values in LOG["fields"].items() for value in values]
    for where in queries[: LOG["query_count"]]:
        world.query(where)
    with pytest.raises(ToolRuntimeException, match="Query budget is spent: 14 different queries"):
        world.query(queries[LOG["query_count"]])
    assert world.query(queries[0])


@pytest.mark.parametrize("where", [{"host": "nowhere"}, {"nothing": "nowhere"}])
@pytest.mark.parametrize("tool", ["query", "report"])
def test_an_unknown_value_is_refused(world, tool, where):
    (name,) = where
    with pytest.raises(ToolRuntimeException) as refused:
        world.tools[tool](where)
    assert str(refused.value) == f"No event has {name} = 'nowhere'; list_fields() tells the values."
    assert world.known() == {"reported": {}, "queries_left": 14}


def test_listed_fields_are_the_agents_own(world):
    fields = world.list_fields()
    assert fields == draw_log("calm", 3)["fields"]
    fields[next(iter(fields))].clear()
    assert world.list_fields() == draw_log("calm", 3)["fields"]


def test_what_was_reported_and_is_left_is_known(world):
    where = dict([next(iter(LOG["cause"].items()))])
    assert [*world.tools] == ["list_fields", "query", "report", "finish"]
    world.query({})
    world.report(where)
    assert world.known() == {"reported": where, "queries_left": 13}
    assert world.metrics() == {"query_count": 1, "reported_count": 1}
    where.clear()
    assert world.metrics()["reported_count"] == 1


def test_the_score_is_the_f1_of_the_reported_values(world):
    assert world.score() == 0
    names = list(LOG["cause"])
    world.report({names[0]: LOG["cause"][names[0]]})
    assert world.score() == pytest.approx(2 * 1 / (4 + 1))
    wrong = next(value for value in LOG["fields"][names[1]] if value != LOG["cause"][names[1]])
    world.report({**LOG["cause"], names[1]: wrong})
    assert world.score() == pytest.approx(2 * 3 / (4 + 4))
    world.report(LOG["cause"])
    assert world.score() == 1


def test_the_reference_solution_ends_the_episode(world):
    LogTriage().solve(LOG, world.tools)
    assert (world.is_over, world.score()) == (True, 1)


def test_the_goal_hides_the_cause():
    goal = LogTriage().goal(LOG)
    assert goal == "Log triage: 2000 events, 14 queries. Report the 4 values that together make events fail."
