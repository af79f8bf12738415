"""What can go wrong with a folder or hub id, in one line each."""

import errno
import logging
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

import httpx
import pytest
from huggingface_hub.errors import GatedRepoError

from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import (
    SOURCE_NAME,
    expanded,
    explained,
    fetch_tokenizer,
    find_file,
    import_bitsandbytes,
    is_local,
    load_tokenizer,
    source_title,
)
from carryover.tasks.sft.load import load_start_model, load_start_tokenizer, save_untrained
from carryover.tasks.sft.resources import find_shape
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.training_spec import TRAINING, ArchitectureSpec, TokenizerSpec
from tests.hub_cache import NEW_COMMIT, OLD_COMMIT, keep_as_downloaded, read_offline

PAPER = TRAINING["paper"]


def _gated():
    """What the library raises for a gated model: an OSError whose cause names it."""
    response: Any = httpx.Response(403, request=httpx.Request("GET", "https://hub.invalid"))
    error = OSError("You are trying to access a gated repo.\nMake sure ...")
    error.__cause__ = GatedRepoError("403", response=response)
    return error


def _explain(source, error):
    with explained(source, "base model"):
        raise error


def test_a_folder_is_told_from_a_hub_id(tmp_path):
    assert is_local(str(tmp_path))
    assert all(is_local(path) for path in ("./base", "~/base", "/nowhere/base"))
    assert not is_local("Qwen/Qwen3-8B")
    assert find_file(str(tmp_path), "config.json", None) == tmp_path / "config.json"


def test_a_folder_below_the_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expanded("~/models/base") == str(tmp_path / "models" / "base")
    assert [expanded(source) for source in ("./base", "Qwen/Qwen3-8B", "")] == ["./base", "Qwen/Qwen3-8B", ""]
    build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), tmp_path / "tokenizer")
    assert len(load_tokenizer("~/tokenizer").get_vocab()) == 259
    assert Overrides(base_model="~/base").base_model == str(tmp_path / "base")


@pytest.fixture
def downloaded(tmp_path, monkeypatch):
    """Two commits of `tiny/base`, in the hub's cache as the training finds them, and out of it, by commit."""
    tokenizer = build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), tmp_path / "tokenizer")
    shape = ArchitectureSpec(hidden_size=32, layer_count=1, head_size=16, intermediate_size=64)
    commits = {
        commit: save_untrained(shape, tokenizer, tmp_path / commit, seed)
        for seed, commit in enumerate((OLD_COMMIT, NEW_COMMIT))
    }
    keep_as_downloaded(tmp_path / "cache", "tiny/base", commits, newest=NEW_COMMIT)
    read_offline(monkeypatch, tmp_path / "cache")
    return commits


def test_the_card_of_fetched_weights_names_them(tmp_path):
    assert source_title(str(tmp_path)) is None
    assert source_title("Qwen/Qwen3-8B") is None
    (tmp_path / SOURCE_NAME).write_text('{"title": "Small"}')
    assert source_title(str(tmp_path)) == "Small"


def test_a_models_file_is_found_in_the_cache(downloaded, tmp_path):
    snapshots = tmp_path / "cache" / "models--tiny--base" / "snapshots"
    assert find_file("tiny/base", "config.json", OLD_COMMIT) == snapshots / OLD_COMMIT / "config.json"
    assert find_file("tiny/base", "config.json", None) == snapshots / NEW_COMMIT / "config.json"
    with pytest.raises(OSError, match="cannot find the requested files in the local cache"):
        find_file("tiny/base", "absent.json", None)


def _first_weights(model):
    return model.get_input_embeddings().weight.tolist()


@pytest.mark.parametrize(("revision", "commit"), [(OLD_COMMIT, OLD_COMMIT), (None, NEW_COMMIT)])
def test_a_training_starts_from_the_downloaded_commit_of_its_spec(downloaded, revision, commit):
    spec = PAPER.model_copy(
        update={"base_model": "tiny/base", "base_revision": revision, "method": "lora", "precision": "float32"}
    )
    other_commit = NEW_COMMIT if commit == OLD_COMMIT else OLD_COMMIT
    tokenizer = load_start_tokenizer(spec, "tiny/base")
    model = load_start_model(spec, "tiny/base", tokenizer, 0)
    expected = load_start_model(spec, str(downloaded[commit]), tokenizer, 0)
    other = load_start_model(spec, str(downloaded[other_commit]), tokenizer, 0)
    assert _first_weights(model) == _first_weights(expected) != _first_weights(other)
    assert len(tokenizer.get_vocab()) == 259


def test_a_commits_tokenizer_is_found_where_it_was_downloaded(downloaded, tmp_path):
    snapshots = tmp_path / "cache" / "models--tiny--base" / "snapshots"
    assert fetch_tokenizer("tiny/base", OLD_COMMIT) == snapshots / OLD_COMMIT
    assert fetch_tokenizer(str(tmp_path / "tokenizer"), OLD_COMMIT) == tmp_path / "tokenizer"
    with pytest.raises(UserError, match="no usable tokenizer tiny/base on the hub, or the hub cannot") as caught:
        fetch_tokenizer("tiny/base", "3" * 40)
    assert "\n" not in str(caught.value)


def test_a_tokenizers_files_are_downloaded_and_no_weights(monkeypatch, tmp_path):
    asked = {}
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download", lambda source, **options: asked.update(options) or tmp_path
    )
    assert fetch_tokenizer("tiny/base", OLD_COMMIT) == tmp_path
    assert asked == {"revision": OLD_COMMIT, "allow_patterns": ["*.json", "*.jinja", "*.txt", "*.model"]}


def test_a_gated_model_says_how_to_get_it():
    with pytest.raises(UserError, match=r"base model meta/gated is gated .* accept its licence there and set HF_TOKEN"):
        _explain("meta/gated", _gated())


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub on loopback that has `meta/gated` behind a licence and nothing else."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self):
            is_gated = self.path.startswith(("/meta/gated/", "/api/models/meta/gated"))
            self.send_response(403 if is_gated else 404)
            self.send_header("X-Error-Code", "GatedRepo" if is_gated else "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self):
            self.do_HEAD()

        def log_message(self, format, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    yield
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("meta/gated", r"meta/gated is gated on the hub; accept its licence there and set HF_TOKEN"),
        ("no/body", r"no usable (base model|tokenizer) no/body on the hub, or the hub cannot be reached"),
    ],
)
@pytest.mark.usefixtures("hub")
def test_a_hub_refusal_is_one_line_in_every_loader(source, said):
    for ask in (
        lambda: load_tokenizer(source),
        lambda: find_shape(PAPER, source),
        lambda: load_start_tokenizer(PAPER, source),
    ):
        with pytest.raises(UserError, match=said) as caught:
            ask()
        assert "\n" not in str(caught.value)


def test_a_model_missing_on_the_hub_is_one_line():
    error = OSError("not found.\nIf this is a private repository, ...")
    with pytest.raises(UserError, match=r"no usable base model no/body on the hub, or .* \(not found\)") as caught:
        _explain("no/body", error)
    assert "\n" not in str(caught.value)


def test_a_full_disk_is_not_called_an_unreachable_hub():
    error = OSError("cannot load the model")
    error.__context__ = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(UserError, match=r"the disk is full while base model no/body .* set HF_HOME") as caught:
        _explain("no/body", error)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there_is_told_before_it_is_read():
    with pytest.raises(UserError) as missing:
        _explain("/nowhere/base", AssertionError("it is not read"))
    assert str(missing.value) == "base model not found: /nowhere/base; train or copy it there, or pass a hub id"


def test_an_error_unrelated_to_the_source_is_raised_unchanged():
    with pytest.raises(KeyError):
        _explain("no/body", KeyError("a bug"))


@pytest.mark.parametrize("kernels", [None, ModuleType("kernels")])
def test_bitsandbytes_is_imported_without_kernels_and_notices(monkeypatch, kernels):
    seen = []

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "bitsandbytes":
                seen.append(sys.modules.get("kernels", "absent"))

    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "bitsandbytes", raising=False)
    monkeypatch.delitem(sys.modules, "kernels", raising=False)
    if kernels is not None:
        monkeypatch.setitem(sys.modules, "kernels", kernels)
    logging.getLogger("bitsandbytes").setLevel(logging.NOTSET)
    with suppress(ImportError):
        import_bitsandbytes()
    assert seen == [None]
    assert sys.modules.get("kernels") is kernels
    assert logging.getLogger("bitsandbytes").level == logging.ERROR


def test_bitsandbytes_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    import_bitsandbytes()
    assert sys.modules["bitsandbytes"] is None
