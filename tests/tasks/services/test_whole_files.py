import pytest

from carryover.tasks.services.whole_files import digest_of_file, write_whole, written_whole


def test_a_file_is_replaced_whole_and_missing_folders_are_made(tmp_path):
    path = tmp_path / "new" / "a.txt"
    write_whole(path, "first, and longer")
    write_whole(path, b"second")
    assert [file.read_bytes() for file in path.parent.iterdir()] == [b"second"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_raises_leaves_neither_part_nor_temporary(tmp_path, kind):
    def write_a_part() -> None:
        with written_whole(tmp_path / "a") as temporary:
            if kind == "folder":
                temporary.mkdir()
            (temporary / "part" if kind == "folder" else temporary).write_text("part")
            raise ValueError("in between")

    with pytest.raises(ValueError, match="in between"):
        write_a_part()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_appears_with_all_that_is_in_it(tmp_path):
    with written_whole(tmp_path / "model") as temporary:
        temporary.mkdir()
        (temporary / "card.json").write_text("{}")
        assert not (tmp_path / "model").exists()
    assert [file.name for file in (tmp_path / "model").iterdir()] == ["card.json"]


def test_the_digest_is_that_of_the_bytes(tmp_path):
    (tmp_path / "empty").touch()
    assert digest_of_file(tmp_path / "empty") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
