from collections.abc import Callable
from typing import Any

import fsspec
import polars as pl
import pytest

from carryover.storage.errors import LandingError
from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.files import FileStore
from carryover.storage.zone.landing import LandingZone


@pytest.fixture(scope="module")
def options(bucket_address) -> dict[str, Any]:
    options = {"endpoint_url": bucket_address, "key": "test", "secret": "test"}
    fsspec.filesystem("s3", **options).mkdir("bundles")
    return options


@pytest.fixture
def landing(options, request) -> LandingZone:
    return LandingZone(f"s3://bundles/{request.node.name}", options)


def test_bundles_on_object_storage_are_merged_like_local_ones(landing, path, make_episode):
    landing.write(make_episode("e", step_count=1, code="first"), "run")
    landing.write(make_episode("e", step_count=3, code="second"), "run")
    landing.write(make_episode("f", step_count=1, code="third"), "run")
    report = merge(landing, path)
    assert report.row_counts == {"episodes": 2, "turns": 2, "steps": 2}
    assert merge(landing, path).bundle_count == 0
    with Warehouse.open(path) as warehouse:
        assert warehouse.sql("select episode_id, code from steps order by all").rows() == [
            ("e", "first"),
            ("f", "third"),
        ]


@pytest.mark.slow
def test_object_storage_is_read_without_a_warehouse(landing, options, make_episode):
    landing.write(make_episode("e", step_count=1, code="first"), "run")
    landing.write(make_episode("e", step_count=3, code="second"), "run")
    assert set(landing.landed_episodes("plan")) == {"e"}
    assert landing.scan("steps").filter(pl.col("code") == "first").collect()["step"].to_list() == [1]
    with Warehouse.open(landing.url, options) as warehouse:
        assert warehouse.sql("select code from steps").rows() == [("first",)]


def test_another_machine_s_bundles_are_seen_at_once(landing, options, make_episode):
    assert landing.landed_episodes("plan") == {}
    LandingZone(landing.url, options).write(make_episode("e"), "run")
    assert set(landing.landed_episodes("plan")) == {"e"}


def test_a_damaged_object_is_quarantined(landing, path, make_episode):
    landing.write(make_episode("whole"), "run")
    damaged = landing.write(make_episode("damaged"), "run")
    damaged_file = f"steps/run_id=run/{damaged.bundle_id}.parquet"
    landing.store.write(damaged_file, b"\0" * len(landing.store.read(damaged_file)))
    landing.store.write("notes.txt", b"foreign")
    report = merge(landing, path)
    assert report.row_counts == {"episodes": 1, "turns": 2, "steps": 2}
    assert landing.store.read("quarantine/notes.txt") == b"foreign"
    assert landing.read("episodes", ["episode_id"]).to_pylist() == [{"episode_id": "whole"}]


def test_an_object_that_may_not_be_read_counts_as_unreachable(landing, path, make_episode, monkeypatch):
    landing.write(make_episode("e"), "run")

    def refuse(*_, **__):
        raise PermissionError("An error occurred (403)\nwhen calling GetObject: Forbidden")

    landing.manifests()
    monkeypatch.setattr(landing.store.filesystem, "cat", refuse)
    with pytest.raises(LandingError, match=r"^cannot read from .*\(403\) when .*; see that it can be reached"):
        merge(landing, path)


def test_a_bucket_that_does_not_exist_is_named(options, make_episode):
    with pytest.raises(LandingError, match="cannot write absent/landing/"):
        LandingZone("s3://absent/landing", options).write(make_episode("e"), "run")


UNREACHABLE = {
    "endpoint_url": "http://127.0.0.1:9", "key": "test", "secret": "test",
    "config_kwargs": {"retries": {"total_max_attempts": 1}, "connect_timeout": 5},
}  # fmt: skip
DEEDS: dict[str, Callable[[FileStore], Any]] = {
    "list": lambda store: store.find("bundles"),
    "write": lambda store: store.write("bundles/a.json", b"{}"),
    "read": lambda store: store.read("bundles/a.json"),
    "read from": lambda store: store.read_many(["bundles/a.json"]),
    "move": lambda store: store.move("bundles/a.json", "quarantine/a.json"),
    "remove": lambda store: store.remove("bundles/a.json"),
}


@pytest.mark.usefixtures("no_bucket_of_its_own")
@pytest.mark.parametrize("deed", DEEDS)
def test_unreachable_bucket_is_an_error_of_one_line(deed):
    store = FileStore("s3://carryover/landing", UNREACHABLE)
    with pytest.raises(LandingError) as failure:
        DEEDS[deed](store)
    said = str(failure.value)
    assert said.startswith(f"cannot {deed} ")
    assert "carryover/landing" in said
    assert "127.0.0.1:9" in said
    assert "\n" not in said


@pytest.mark.usefixtures("no_bucket_of_its_own")
def test_a_bucket_without_credentials_is_told_in_one_line():
    store = FileStore("s3://carryover/other", {"endpoint_url": UNREACHABLE["endpoint_url"]})
    with pytest.raises(
        LandingError, match=r"cannot write carryover/other/a.json: .*credentials.*; see that it can be reached"
    ):
        store.write("a.json", b"{}")


def test_any_filesystem_that_fsspec_opens_will_do(tmp_path, path, make_episode):
    landing = LandingZone(f"memory://{tmp_path.name}")
    landing.write(make_episode("e", step_count=1, code="first"), "run")
    landing.write(make_episode("e", step_count=3, code="second"), "run")
    assert merge(landing, path).row_counts["steps"] == 1
    for source in (landing.url, path):
        with Warehouse.open(source) as warehouse:
            assert warehouse.sql("select code from steps").rows() == [("first",)]
