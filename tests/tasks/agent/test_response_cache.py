import json
import pickle

import pytest

from carryover.tasks.agent.protocol import Completion, ReplyNotKeptError
from carryover.tasks.agent.response_cache import ResponseCache

COMPLETION = Completion("Hello.", "stop", 11, 4, 3, 0.25)
PAYER = "episode"
WHOLE = {key: value for key, value in COMPLETION._asdict().items() if key != "is_replayed"} | {"episode_id": PAYER}


def test_a_kept_response_is_found_with_what_it_cost(tmp_path):
    ResponseCache(tmp_path).keep({"model": "tiny", "seed": 1}, COMPLETION, PAYER)

    assert ResponseCache(tmp_path).find({"seed": 1, "model": "tiny"}, PAYER) == COMPLETION


def test_only_the_episode_that_asked_has_paid(tmp_path):
    cache = ResponseCache(tmp_path)
    cache.keep({"seed": 1}, COMPLETION, PAYER)

    assert cache.find({"seed": 1}, "its next attempt") == COMPLETION._replace(is_replayed=True)
    assert cache.find({"seed": 1}, PAYER) == COMPLETION


def test_an_episode_that_asks_anew_finds_its_own_responses(tmp_path):
    ResponseCache(tmp_path).keep({"seed": 1}, COMPLETION, PAYER)
    anew = ResponseCache(tmp_path, asks_anew=True)
    assert anew.find({"seed": 1}, "its next attempt") is None
    newer = COMPLETION._replace(text="Hello again.")
    anew.keep({"seed": 1}, newer, "its next attempt")
    assert anew.find({"seed": 1}, "its next attempt") == newer
    assert ResponseCache(tmp_path).find({"seed": 1}, PAYER) == newer._replace(is_replayed=True)


def test_a_response_that_another_follows_stays_beside_it(tmp_path):
    cache = ResponseCache(tmp_path)
    for number, episode_id in enumerate(("a", "b", "b", "c")):
        cache.keep({"seed": 1}, COMPLETION._replace(text=str(number)), episode_id)
    (folder,) = tmp_path.iterdir()
    contents = [json.loads(file.read_text()) for file in folder.iterdir()]
    assert sorted((content["episode_id"], content["text"]) for content in contents) == [
        ("a", "0"),
        ("b", "2"),
        ("c", "3"),
    ]
    assert sorted(file.stem.partition("-")[2] for file in folder.iterdir()) == ["", "a", "b"]


def test_another_request_is_not_found(tmp_path):
    cache = ResponseCache(tmp_path)
    cache.keep({"model": "tiny", "seed": 1}, COMPLETION, PAYER)

    assert cache.find({"model": "tiny", "seed": 2}, PAYER) is None


def test_only_whole_files_are_left(tmp_path):
    cache = ResponseCache(tmp_path)
    for text in ("first", "second"):
        cache.keep({"seed": 1}, COMPLETION._replace(text=text), PAYER)

    (file,) = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert file.suffix == ".json"
    assert cache.find({"seed": 1}, PAYER) == COMPLETION._replace(text="second")


def test_a_torn_file_is_asked_for_again(tmp_path):
    cache = ResponseCache(tmp_path)
    cache.keep({"seed": 1}, COMPLETION, PAYER)
    (file,) = tmp_path.rglob("*.json")
    file.write_text('{"text": "Hel')

    assert cache.find({"seed": 1}, PAYER) is None


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({key: value for key, value in WHOLE.items() if key != "text"}, id="a field is missing"),
        pytest.param(WHOLE | {"reasoning_tokens": 3}, id="a field too many"),
        pytest.param(WHOLE | {"prompt_tokens": "eleven"}, id="a count that is no number"),
        pytest.param([WHOLE], id="a list"),
        pytest.param(None, id="null"),
    ],
)
def test_file_of_another_schema_is_replaced(tmp_path, content):
    cache = ResponseCache(tmp_path)
    cache.keep({"seed": 1}, COMPLETION, PAYER)
    (file,) = tmp_path.rglob("*.json")
    file.write_text(json.dumps(content))

    assert cache.find({"seed": 1}, PAYER) is None
    cache.keep({"seed": 1}, COMPLETION, PAYER)
    assert cache.find({"seed": 1}, PAYER) == COMPLETION


def test_a_file_that_is_no_text_is_asked_for_again(tmp_path):
    cache = ResponseCache(tmp_path)
    cache.keep({"seed": 1}, COMPLETION, PAYER)
    (file,) = tmp_path.rglob("*.json")
    file.write_bytes(b"\xff\xfe")

    assert cache.find({"seed": 1}, PAYER) is None


def test_unkept_reply_survives_a_copy_to_another_process(tmp_path):
    folder = tmp_path / "responses"
    folder.write_text("no folder")

    assert ResponseCache(folder).find({"seed": 1}, PAYER) is None
    with pytest.raises(
        ReplyNotKeptError, match=f"cannot keep a reply in {folder}: .*; make it writable and start"
    ) as raised:
        ResponseCache(folder).keep({"seed": 1}, COMPLETION, PAYER)

    copy = pickle.loads(pickle.dumps(raised.value))
    assert (str(copy), copy.completion) == (str(raised.value), COMPLETION)
