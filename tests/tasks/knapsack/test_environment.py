import json

import pytest

from carryover.tasks.knapsack.environment import TOOL_NAMES, KnapsackEnvironment
from carryover.tasks.knapsack.instance import Instance, Item, Packing
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.runtime.inside.tools import ToolInvocationException, ToolRuntimeException


def make_instance(budget=4, bucket="small"):
    """Five items: a, b, c and e of the allowed class A, d of the disallowed class B; capacity 10."""
    attributes = {"a": (4, 40, "A"), "b": (5, 30, "A"), "c": (3, 20, "A"), "d": (1, 90, "B"), "e": (6, 10, "A")}
    return Instance(
        spec=KNAPSACK[bucket],
        seed=1,
        items=tuple(
            Item(item_id=item_id, weight=weight, value=value, item_class=item_class)
            for item_id, (weight, value, item_class) in attributes.items()
        ),
        capacity=10,
        inspection_budget=budget,
        allowed_classes=("A",),
        optimum=Packing(item_ids=("a", "b"), value=70, weight=9),
    )


def make_environment(budget=4, bucket="small"):
    return KnapsackEnvironment(make_instance(budget, bucket))


def test_tools_stand_in_the_order_of_the_documentation():
    assert tuple(make_environment().tools) == TOOL_NAMES == ("inspect", "take_item", "list_items", "finish")


def test_ids_are_listed_sorted_as_json():
    assert make_environment().list_items() == '["a", "b", "c", "d", "e"]'


def test_inspection_returns_compact_json_with_sorted_keys():
    assert make_environment().inspect("a") == '{"class":"A","value":40,"weight":4}'


def test_repeated_inspections_are_free():
    environment = make_environment(budget=2)
    environment.inspect("a")
    environment.inspect("a")
    environment.inspect("b")

    with pytest.raises(ToolRuntimeException, match="Inspection budget is spent: 2 of 2 used"):
        environment.inspect("c")
    assert json.loads(environment.inspect("a"))["weight"] == 4
    assert environment.outcome().inspected_count == 2


def test_an_unknown_id_comes_before_a_spent_budget():
    with pytest.raises(ToolRuntimeException, match="Unknown item_id: 'x'"):
        make_environment(budget=0).inspect("x")


def test_an_argument_of_another_type_is_an_invocation_error():
    with pytest.raises(ToolInvocationException, match="item_id must be a str, not int"):
        make_environment().tools["take_item"](3)


def test_the_order_of_taking_errors_hides_uninspected_items():
    environment = make_environment()
    with pytest.raises(ToolRuntimeException, match="Unknown item_id: 'x'"):
        environment.take_item("x")
    with pytest.raises(ToolRuntimeException, match="Item d must be inspected before it is taken"):
        environment.take_item("d")
    environment.inspect("d")
    with pytest.raises(ToolRuntimeException, match="Item d is of the disallowed class B"):
        environment.take_item("d")
    for item_id in ("a", "b"):
        environment.inspect(item_id)
        environment.take_item(item_id)
    with pytest.raises(ToolRuntimeException, match="Item a is already taken"):
        environment.take_item("a")
    with pytest.raises(ToolRuntimeException, match="Item c must be inspected"):
        environment.take_item("c")
    environment.inspect("c")
    with pytest.raises(ToolRuntimeException, match=r"Item c exceeds capacity: load 9 \+ weight 3 > capacity 10"):
        environment.take_item("c")
    with pytest.raises(ToolRuntimeException, match="disallowed class"):
        environment.take_item("d")


def test_an_error_before_inspection_says_nothing_about_the_item():
    texts = []
    for item_id in ("a", "d"):
        with pytest.raises(ToolRuntimeException) as raised:
            make_environment().take_item(item_id)
        texts.append(str(raised.value).replace(item_id, "?", 1))

    assert texts[0].split("?", 1)[1] == texts[1].split("?", 1)[1]


def test_the_outcome_counts_what_was_taken():
    environment = make_environment()
    for item_id in ("a", "c"):
        environment.inspect(item_id)
        environment.take_item(item_id)

    assert environment.outcome() == (60, 7, ("a", "c"), 2, 60 / 70, False)
    assert not environment.is_over


def test_a_set_of_optimal_value_is_solved():
    environment = make_environment()
    for item_id in ("b", "a"):
        environment.inspect(item_id)
        environment.take_item(item_id)
    environment.finish()

    assert environment.is_over
    assert environment.outcome().score == 1.0
    assert environment.outcome().is_solved


def test_a_disallowed_class_costs_capacity_where_the_bucket_says_so():
    environment = make_environment(bucket="small_costly")
    for item_id in ("a", "c", "d"):
        environment.inspect(item_id)
    environment.take_item("a")
    with pytest.raises(ToolRuntimeException, match="disallowed class B"):
        environment.take_item("d")
    with pytest.raises(ToolRuntimeException, match=r"Item c exceeds capacity: load 4 \+ weight 3 > capacity 6"):
        environment.take_item("c")
    assert environment.outcome().score == 40 / 70
    assert environment.known()["room"] == 10 - 4 - 4  # the capacity, the refusal's cost, the load


def test_the_same_items_under_a_costly_rule_are_another_instance():
    assert make_instance().instance_id != make_instance(bucket="small_costly").instance_id


def test_knowledge_is_what_inspections_and_tools_told():
    import pandas

    environment = make_environment()
    empty = environment.known()
    for item_id in ("d", "b", "a"):
        environment.inspect(item_id)
    environment.take_item("a")
    with pytest.raises(ToolRuntimeException, match="disallowed class"):
        environment.take_item("d")
    known = environment.known()
    index = pandas.Index(["d", "b", "a"], dtype=str, name="item_id")
    seen = pandas.DataFrame({"class": ["B", "A", "A"], "value": [90, 30, 40], "weight": [1, 5, 4]}, index=index)
    pandas.testing.assert_frame_equal(known.pop("seen"), seen)
    assert known == {"taken": ["a"], "refused": ["B"], "budget": 1, "room": 6}
    nothing = empty.pop("seen")
    assert (nothing.shape, nothing.index.dtype, nothing.index.name) == ((0, 3), index.dtype, "item_id")
    assert empty == {"taken": [], "refused": [], "budget": 4, "room": 10}


def test_state_names_each_refused_class_once():
    environment = make_environment()
    assert environment.known()["refused"] == []
    environment.inspect("d")
    for _ in range(2):
        with pytest.raises(ToolRuntimeException, match="disallowed class"):
            environment.take_item("d")
    assert environment.known()["refused"] == ["B"]
