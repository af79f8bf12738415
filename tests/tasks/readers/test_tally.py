from collections import Counter

from carryover.tasks.readers.tally import Tally


def test_frequent_reasons_come_first_and_keep_their_first_place():
    tally = Tally(unread_code=Counter({"rare call": 1, "frequent call": 2}))
    tally.skip("rare file", "a")
    tally.skip("frequent file", "b")
    tally.skip("frequent file", "c")
    assert tally.sentences() == [
        "2 unread: frequent file (first: b)",
        "1 unread: rare file (first: a)",
        "2 unread: frequent call",
        "1 unread: rare call",
    ]


def test_frequent_layouts_and_tools_come_first():
    tally = Tally(layouts=Counter(rare=1, none=0, frequent=2), other_calls=Counter("abbcccddddeeeee") + Counter(f=9))
    assert tally.read_sentence() == (
        "read 3 episodes and 0 blocks: frequent (2), rare (1); "
        "24 calls of tools that run no code: f (9), e (5), d (4), c (3), b (2)"
    )


def test_every_byte_is_shown_and_none_is_not():
    shown = []
    tally = Tally(show_bytes=shown.append)
    for count in (1, 0, 5):
        tally.pass_bytes(count)
    assert (shown, tally.byte_count) == ([1, 5], 6)
