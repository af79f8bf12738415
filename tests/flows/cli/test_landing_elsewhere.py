"""The commands over a landing zone on object storage, with credentials from the environment alone."""

from collections.abc import Iterator

import pytest
from s3fs import S3FileSystem

from carryover.storage.errors import LandingError
from tests.flows.cli.calling import import_records, run

CHAT = [
    {"role": "user", "content": "Count."},
    {"role": "assistant", "content": "```python\nfinish()\n```"},
]


@pytest.fixture
def credentials(no_bucket_of_its_own, monkeypatch) -> Iterator[None]:
    """The environment of somebody who lands in a bucket."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
        "CARRYOVER_LANDING": "s3://studies/landing",
    }.items():
        monkeypatch.setenv(name, value)
    S3FileSystem.clear_instance_cache()
    yield
    S3FileSystem.clear_instance_cache()


@pytest.fixture
def bucket(bucket_address, credentials, monkeypatch) -> S3FileSystem:
    """An empty bucket of a server whose address is in the environment too."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", bucket_address)
    filesystem = S3FileSystem()
    filesystem.mkdir("studies")
    return filesystem


def test_import_lands_in_the_bucket_and_reaches_the_warehouse(bucket, tmp_path):
    home = tmp_path / "data"
    assert import_records(home, [{"messages": CHAT}], "--contract", "persistent").startswith("1 episodes imported")
    assert run("query", "select code from steps", "--format", "csv", "--home", home).split() == ["code", "finish()"]
    assert bucket.glob("studies/landing/steps/*/*.parquet")
    assert not (home / "landing").exists()
    assert "landing zone s3://studies/landing" in run("doctor", "--home", home)
    assert run("merge", "--home", home).startswith("0 bundles")


def test_unreachable_bucket_is_told_in_one_line(credentials, monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    (tmp_path / "data").mkdir()
    with pytest.raises(LandingError, match=r"^cannot list studies/landing/bundles: .*127.0.0.1:9.*reached.*$"):
        run("merge", "--home", tmp_path / "data")
