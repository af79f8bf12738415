from carryover.tasks.plans.difference import describe_difference


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


def test_a_longer_list_is_told_whole():
    assert describe_difference({"seeds": [1]}, {"seeds": [1, 2, 3]}) == [
        "seeds: [1] in the first, [1, 2, 3] in the second"
    ]


def test_lists_of_objects_differ_by_length_and_by_common_places():
    first = {"parts": [{"name": "main", "count": 3}]}
    second = {"parts": [{"name": "main", "count": 4}, {"name": "other", "count": 5}]}
    assert describe_difference(first, second) == [
        "number of parts: 1 in the first, 2 in the second",
        "parts[0].count: 3 in the first, 4 in the second",
    ]


def test_an_object_in_the_place_of_nothing_is_one_sentence():
    endpoint = {"url": "x", "retries": 3, "command": ["serve", "--rules", "a b"]}
    assert describe_difference({"teacher": {"endpoint": None}}, {"teacher": {"endpoint": endpoint}}) == [
        "teacher.endpoint: None in the first, url 'x', retries 3, command `serve --rules 'a b'` in the second"
    ]


def test_fields_are_told_by_name():
    first = dict.fromkeys("hdbgaecf", 1)
    assert [line[0] for line in describe_difference(first, {})] == [*"abcdefgh"]
