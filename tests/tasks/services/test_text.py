import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.text import encodable, read_text_file


def test_lone_surrogates_are_replaced():
    assert encodable("a\ud800b") == "a?b"


def test_any_other_text_stays_as_it_is():
    text = "für 数 \U0001f600 \x00 \n"

    assert encodable(text) == text


def test_a_file_of_another_encoding_is_refused_with_its_byte(tmp_path):
    file = tmp_path / "menu.txt"
    file.write_text("café", encoding="utf-8")
    assert read_text_file(file) == "café"
    file.write_text("café", encoding="latin-1")
    with pytest.raises(UserError) as refused:
        read_text_file(file)
    assert str(refused.value) == f"{file} is not UTF-8 text: byte 0xe9 at offset 3; save it as UTF-8"
