from carryover.tasks.services.text import encodable


def test_lone_surrogates_are_replaced():
    assert encodable("a\ud800b") == "a?b"


def test_any_other_text_stays_as_it_is():
    text = "für 数 \U0001f600 \x00 \n"

    assert encodable(text) == text
