from carryover.tasks.serving.cpu import drafting
from carryover.tasks.serving.cpu.drafting import Drafter, next_draft_length


def teach(drafter, tokens):
    for position in range(len(tokens)):
        drafter.learn(tokens[:position], tokens[position])


def test_a_text_seen_before_is_proposed_again():
    drafter = Drafter()
    teach(drafter, list(range(20)))
    assert drafter.propose(list(range(10)), 4) == [10, 11, 12, 13]


def test_the_start_of_a_reply_is_a_context_too():
    drafter = Drafter()
    teach(drafter, [5, 6, 7])
    assert drafter.propose([], 3) == [5, 6, 7]


def test_nothing_is_proposed_after_an_unknown_context():
    drafter = Drafter()
    teach(drafter, list(range(20)))
    assert drafter.propose([3, 3, 3, 3, 3, 3, 3, 3], 4) == []


def test_one_repeated_token_is_proposed_without_end():
    drafter = Drafter()
    teach(drafter, [9] * 9)
    assert drafter.propose([9] * 9, 16) == [9] * 16


def test_the_last_continuation_wins():
    drafter = Drafter()
    context = list(range(8))
    drafter.learn(context, 50)
    drafter.learn(context, 60)
    assert drafter.propose(context, 1) == [60]


def test_drafts_double_after_success_and_shrink_to_what_held():
    assert next_draft_length(proposed=4, accepted=4, limit=16) == 8
    assert next_draft_length(proposed=16, accepted=16, limit=16) == 16
    assert next_draft_length(proposed=8, accepted=3, limit=16) == 4
    assert next_draft_length(proposed=8, accepted=0, limit=16) == 2


def test_memory_starts_anew_where_it_is_full(monkeypatch):
    monkeypatch.setattr(drafting, "MAX_CONTEXTS", 2)
    drafter = Drafter()
    for context in (1, 2):
        drafter.learn([context], 10 * context)
    assert (drafter.propose([1], 1), drafter.propose([2], 1)) == ([10], [20])
    drafter.learn([3], 30)
    assert (drafter.propose([1], 1), drafter.propose([3], 1)) == ([], [30])
