from carryover.tasks.datasets.conversations import read_conversations
from carryover.tasks.datasets.plain_corpus import write_plain_corpus
from tests.flattening import flat


def test_a_corpus_has_one_trained_conversation_per_seed(tmp_path):
    assert write_plain_corpus(tmp_path / "plain.jsonl", "small", range(5)) == 5
    conversations = read_conversations(tmp_path / "plain.jsonl")
    assert [conversation.messages[-1].role for conversation in conversations] == ["assistant"] * 5
    assert all(message.weight == 1 for message in flat(conversation.messages for conversation in conversations))


def test_equal_seeds_give_equal_bytes(tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        write_plain_corpus(tmp_path / name, "small", range(5))
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
