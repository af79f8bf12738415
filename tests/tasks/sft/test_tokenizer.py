"""Our tokenizers and how they count."""

import hashlib
import subprocess
import sys
from typing import Any

import pytest

from carryover.tasks.agent.protocol import Message
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.tokenizer import TokenCounter, build_tokenizer
from carryover.tasks.sft.training_spec import TokenizerSpec

BYTES_ONLY = TokenizerSpec(vocabulary_size=259)
TEXTS = [
    "items = {}\nfor i in json.loads(list_items()):\n    items[i] = inspect(i)\n",
    "I look at the next items. é 你好 1234",
] * 3


def _digest(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.mark.slow
def test_equal_texts_give_equal_files_in_another_process(tmp_path):
    build_tokenizer(TEXTS, TokenizerSpec(vocabulary_size=300), tmp_path / "here")
    code = (
        "import sys; from pathlib import Path; from carryover.tasks.sft.training_spec import TokenizerSpec;"
        "from carryover.tasks.sft.tokenizer import build_tokenizer;"
        f"build_tokenizer({TEXTS!r}, TokenizerSpec(vocabulary_size=300), Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "there")], check=True, timeout=120)
    assert _digest(tmp_path / "here") == _digest(tmp_path / "there")


def test_decoding_gives_the_text_back(tmp_path):
    tokenizer: Any = load_tokenizer(build_tokenizer(TEXTS, TokenizerSpec(vocabulary_size=320), tmp_path))
    text = 'if x  !=  1:\n\n\t"tab", é, 你好, 😀\n        pass  \n'
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_no_token_crosses_a_line_or_joins_three_digits(tmp_path):
    tokenizer: Any = load_tokenizer(build_tokenizer(TEXTS * 20, TokenizerSpec(vocabulary_size=600), tmp_path))
    pieces = [tokenizer.decode([token]) for token in tokenizer(TEXTS[0] + TEXTS[1])["input_ids"]]
    assert not any("\n" in piece.lstrip("\n") for piece in pieces)
    assert "12" in pieces
    assert not any(len(piece.strip()) > 2 for piece in pieces if piece.strip().isdigit())


def test_a_conversation_counts_as_the_server_counts_it(tmp_path):
    counter = TokenCounter(load_tokenizer(build_tokenizer(["a"], BYTES_ONLY, tmp_path)))
    # <|im_start|> + "user\n" + "ab" + <|im_end|> + "\n" = 1 + 5 + 2 + 1 + 1; <|im_start|> + "assistant\n" = 1 + 10
    assert counter([Message(role="user", content="ab")]) == 10 + 11
    # the reply is part of the text, and nothing is asked for behind it: 1 + 10 + 3 + 1 + 1
    assert counter([Message(role="user", content="ab"), Message(role="assistant", content="abc")]) == 10 + 16


def test_counts_are_those_of_the_rendered_conversation(tmp_path):
    tokenizer: Any = load_tokenizer(build_tokenizer(TEXTS, TokenizerSpec(vocabulary_size=300), tmp_path))
    counter = TokenCounter(tokenizer, cached_messages=2)
    texts = ("Be  brief.\n", " leads and trails ", "\n\nreply\n```python\nx\n```\n", '{"output": "1\\n"}', "bye")
    roles = ("system", "user", "assistant", "user", "assistant")
    messages = [Message(role=role, content=text) for role, text in zip(roles, texts, strict=True)]
    for end in range(1, len(messages) + 1):
        rendered = tokenizer.apply_chat_template(
            [message.model_dump() for message in messages[:end]],
            add_generation_prompt=messages[end - 1].role != "assistant",
            return_dict=True,
        )
        assert counter(messages[:end]) == len(rendered["input_ids"])


def test_a_missing_tokenizer_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"tokenizer not found: .*nowhere") as caught:
        load_tokenizer(tmp_path / "nowhere")
    assert "\n" not in str(caught.value)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no usable tokenizer") as caught:
        load_tokenizer(tmp_path / "empty")
    assert "\n" not in str(caught.value)
