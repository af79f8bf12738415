"""The text history entry by entry: what is joined, shortened and replaced."""

import pytest

from carryover.tasks.agent.protocol import Message
from carryover.tasks.cave.conversation import Entry, SemanticStream
from carryover.tasks.cave.prompting import fill


def entries(*kinds):
    return [Entry(kind, f"{kind} {place}") for place, kind in enumerate(kinds)]


@pytest.mark.parametrize(
    ("last", "added", "expected"),
    [
        (None, "question", [Entry("question", "new")]),
        ("system", "question", [Entry("system", "old"), Entry("question", "new")]),
        ("reply", "observation", [Entry("reply", "old"), Entry("observation", "new")]),
        ("question", "reply", [Entry("question", "old"), Entry("reply", "new")]),
        ("question", "question", [Entry("question", "old\n\nnew")]),
        ("question", "observation", [Entry("question", "old\n\nnew")]),
        ("observation", "question", [Entry("question", "old\n\nnew")]),
        ("observation", "observation", [Entry("observation", "old\n\nnew")]),
        ("summary", "question", [Entry("question", "old\n\nnew")]),
        ("summary", "observation", [Entry("summary", "old\n\nnew")]),
    ],
)
def test_two_user_messages_in_a_row_are_one(last, added, expected):
    stream = SemanticStream([] if last is None else [Entry(last, "old")])
    stream.add(added, "new")
    assert stream.entries == expected


def test_each_kind_is_sent_in_its_role():
    stream = SemanticStream(entries("system", "summary", "reply", "question", "observation"))
    roles = ("system", "user", "assistant", "user", "user")
    sent = [Message(role=role, content=entry.text) for role, entry in zip(roles, stream.entries, strict=True)]
    assert stream.messages() == tuple(sent)


def test_a_copy_goes_on_by_itself():
    stream = SemanticStream(entries("question"), "What?", 0.5)
    copied = stream.copy()
    copied.add("reply", "That.")
    assert (stream.entries, copied.question, copied.tokens_per_character) == (entries("question"), "What?", 0.5)


@pytest.mark.parametrize(
    ("texts", "counted", "tokens"), [(["a" * 10], 0, 2), (["a" * 10, "b" * 30], 10, 10), ([], 10, 0), (["a" * 6], 0, 2)]
)
def test_tokens_are_estimated_until_they_are_counted(texts, counted, tokens):
    stream = SemanticStream([Entry("question", text) for text in texts])
    stream.calibrate(counted)
    assert stream.token_count() == tokens


LONG = "x" * 500
REMOVED = fill("removed_output", length=500)


@pytest.mark.parametrize(("kept_count", "shortened"), [(0, [3, 7]), (1, [3]), (2, [3]), (3, []), (9, [])])
def test_long_outputs_but_the_newest_are_removed(kept_count, shortened):
    kinds = ("question", "reply", "reply", "observation", "reply", "observation", "reply", "observation")
    stream = SemanticStream([Entry(kind, "short" if place == 5 else LONG) for place, kind in enumerate(kinds)])
    before = list(stream.entries)
    assert stream.remove_old_outputs(kept_count) == len(shortened)
    for place, entry in enumerate(stream.entries):
        assert entry == (Entry("observation", REMOVED) if place in shortened else before[place])


@pytest.mark.parametrize(("more", "is_removed"), [(0, False), (1, True)])
def test_an_output_is_removed_where_that_is_shorter(more, is_removed):
    length = len(fill("removed_output", length=98)) + more
    stream = SemanticStream([Entry("observation", "x" * length)])
    assert stream.remove_old_outputs(0) == is_removed
    assert (len(stream.entries[0].text) < length) is is_removed


@pytest.mark.parametrize(
    ("kinds", "start", "end"),
    [
        ("", 0, 0),
        ("s", 0, 0),
        ("sqr", 0, 0),
        ("sqroro", 0, 0),  # the newest four stay, and a question alone is no half
        ("sqrororo", 1, 4),
        ("qrororo", 0, 3),
        ("sqrorororo", 1, 6),
        ("sqrororororo", 1, 8),
        ("qrororororo", 0, 7),
        ("sqoooro", 0, 0),
        ("squrooooo", 1, 3),
        ("soooooooo", 0, 0),
    ],
)
def test_the_older_half_ends_before_a_reply(kinds, start, end):
    words = {"s": "system", "q": "question", "r": "reply", "o": "observation", "u": "summary"}
    stream = SemanticStream(entries(*[words[kind] for kind in kinds]))
    assert stream.older_half() == stream.entries[start:end]


@pytest.mark.parametrize("kinds", [("system", "question", "reply", "question"), ("question", "reply", "question")])
def test_a_summary_takes_the_place_of_the_oldest_entries(kinds):
    stream = SemanticStream(entries(*kinds))
    *before, _, _, last = stream.entries
    stream.replace_oldest(2, "All so far.")
    assert stream.entries == [*before, Entry("summary", "All so far."), last]
