from tasks.agent.reply import parse_reply
from tasks.agent.teachers.plain import write_plain_conversation
from tasks.agent.variation import WORDINGS
from tasks.knapsack.environment import TOOL_NAMES
from tasks.knapsack.sampling import sample_instance
from tasks.knapsack.spec import KNAPSACK
from tasks.traces.events import parse_block

CONVERSATIONS = [write_plain_conversation(sample_instance(KNAPSACK["small"], seed)) for seed in range(200)]


def blocks(conversation):
    return [parse_reply(message.content).code or "" for message in conversation if message.role == "assistant"]


def test_every_conversation_ends_with_a_reply_and_alternates():
    for conversation in CONVERSATIONS:
        roles = [message.role for message in conversation]
        assert roles[0] == "system"
        assert roles[1:] == ["user", "assistant"] * ((len(roles) - 1) // 2)


def test_every_block_is_python():
    assert all(parse_block(code, TOOL_NAMES).is_parsed for one in CONVERSATIONS for code in blocks(one))


def test_no_block_reads_a_name_or_needs_an_import_of_another_block():
    for conversation in CONVERSATIONS:
        for code in blocks(conversation)[1:]:
            parsed = parse_block(code, TOOL_NAMES)
            assert (parsed.import_count, [event for event in parsed.events if event.kind != "call_site"]) == (0, [])


def test_no_runtime_is_named_and_no_header_shown():
    words = {word for wordings in WORDINGS.values() for text in wordings for word in text.split() if word.isupper()}
    assert words >= {"PERSISTENT.", "RESET."}
    for conversation in CONVERSATIONS:
        text = " ".join(message.content for message in conversation)
        assert not any(word in text for word in (*words, "globals", "runtime"))


def test_all_three_kinds_occur():
    lengths = [len(conversation) for conversation in CONVERSATIONS]
    assert 110 < lengths.count(3) < 150  # 130 expected: one block, with or without tools
    assert sum("take_item" not in "".join(blocks(one)) for one in CONVERSATIONS) > 10


def test_equal_seeds_give_equal_conversations():
    assert write_plain_conversation(sample_instance(KNAPSACK["small"], 7)) == CONVERSATIONS[7]
