from tasks.plans.difference import describe_difference


def test_equal_objects_differ_in_nothing():
    assert describe_difference({"a": {"b": [1, 2]}}, {"a": {"b": [1, 2]}}) == []


def test_a_changed_field_is_one_sentence_with_both_values():
    first = {"training": {"epochs": 1.0, "name": "small"}}
    second = {"training": {"epochs": 2.0, "name": "small"}}
    assert describe_difference(first, second) == ["training.epochs: 1.0 in the first, 2.0 in the second"]


def test_a_missing_field_is_told():
    assert describe_difference({"gpu": "H100"}, {}) == ["gpu: 'H100' in the first, nothing in the second"]


def test_a_changed_place_of_a_list_is_told_alone():
    assert describe_difference({"seeds": [1, 2, 3]}, {"seeds": [1, 7, 3]}) == [
        "seeds[1]: 2 in the first, 7 in the second"
    ]


def test_a_longer_list_is_told_by_its_length():
    assert describe_difference({"seeds": [1]}, {"seeds": [1, 2, 3]}) == [
        "number of seeds: 1 in the first, 3 in the second"
    ]
