import re

from carryover.tasks.agent.reply import read_reply
from carryover.tasks.agent.variation import WORDINGS
from carryover.tasks.knapsack.environment import TOOL_NAMES
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.plain import write_plain_conversation
from carryover.tasks.knapsack.teachers.small import SENTENCES
from carryover.tasks.knapsack.teachers.small_blocks import SmallBlocks
from carryover.tasks.traces.events import parse_block
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS, ContractName
from tests.flattening import flat

CONVERSATIONS = [write_plain_conversation(sample_instance(KNAPSACK["small"], seed)) for seed in range(200)]


def blocks(conversation):
    replies = [message.content for message in conversation if message.role == "assistant"]
    return [read_reply(reply).code or "" for reply in replies]


def is_repetition(conversation):
    return conversation[1].content.startswith("Repeat: ")


def test_every_conversation_ends_with_a_reply_and_alternates():
    for conversation in CONVERSATIONS:
        roles = [message.role for message in conversation]
        assert roles[0] == "system"
        assert roles[1:] == ["user", "assistant"] * ((len(roles) - 1) // 2)


def test_every_block_is_python():
    assert all(parse_block(code, TOOL_NAMES).is_parsed for code in flat(blocks(one) for one in CONVERSATIONS))


def test_blocks_need_no_name_or_import_of_another():
    for conversation in CONVERSATIONS:
        for code in blocks(conversation)[1:]:
            parsed = parse_block(code, TOOL_NAMES)
            assert (parsed.import_count, [event for event in parsed.events if event.kind != "call_site"]) == (0, [])


def test_runtime_and_header_occur_only_in_words_to_repeat():
    instructions = {text.lower() for text in flat(WORDINGS.values())}
    words = {"persistent", "reset", "runtime", "globals", "environment", "defined", "fresh", "reuse", "stay"}
    assert words - {"globals"} <= set(flat(re.findall("[a-z]+", text) for text in instructions))
    for conversation in CONVERSATIONS:
        if is_repetition(conversation):
            continue
        shown = " ".join(message.content for message in conversation).lower()
        assert not any(text in shown for text in instructions)
        assert not words.intersection(re.findall("[a-z]+", shown))


def test_what_is_to_be_repeated_is_repeated():
    repetitions = [conversation for conversation in CONVERSATIONS if is_repetition(conversation)]
    assert 30 < len(repetitions) < 70  # 50 expected
    assert all(one[1].content == f"Repeat: {one[2].content}" for one in repetitions)


def test_every_word_of_the_teachers_is_among_what_is_repeated():
    repeated = " ".join(one[2].content for one in CONVERSATIONS if is_repetition(one))
    texts = [SmallBlocks("persistent").take(), *flat(SENTENCES.values())]
    words = set(flat(re.findall("[A-Za-z_]+", text) for text in texts))
    assert words <= set(re.findall("[A-Za-z_]+", repeated))


def test_part_contracts_add_words_of_injecting_teachers():
    instances = [sample_instance(KNAPSACK["small"], seed) for seed in range(200)]

    def words(contracts):
        messages = flat(write_plain_conversation(instance, contracts) for instance in instances)
        return set(flat(re.findall("[a-z_]+", message.content) for message in messages))

    of_injecting = {"seen", "sort_values", "ascending", "anew"}
    assert not words(PAPER_CONTRACTS) & of_injecting
    assert of_injecting <= words(tuple(ContractName))


def test_every_kind_occurs():
    lengths = [len(conversation) for conversation in CONVERSATIONS]
    assert 140 < lengths.count(3) < 180  # 160 expected: all but single tool calls
    assert sum("finish()" in "".join(blocks(one)) for one in CONVERSATIONS) > 60


def test_equal_seeds_give_equal_conversations():
    assert write_plain_conversation(sample_instance(KNAPSACK["small"], 7)) == CONVERSATIONS[7]
