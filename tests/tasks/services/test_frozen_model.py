from carryover.tasks.services.frozen_model import needs


def test_a_field_that_is_given_needs_another():
    given = {"properties": {"key": {"not": {"type": "null"}}}}
    then = {"required": ["url"], "properties": {"url": {"type": "string"}}}
    assert needs("key", "url") == {"key": {"if": given, "then": then}}
    then = {"required": ["url"], "properties": {"url": {"minLength": 1}}}
    assert needs("key", "url", {"minLength": 1}) == {"key": {"if": given, "then": then}}
