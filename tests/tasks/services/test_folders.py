import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import (
    DEPLOYED_VARIABLE,
    HOME_VARIABLE,
    LANDING_VARIABLE,
    name_folders,
    open_folders,
    use_home,
)


def test_everything_lies_in_the_data_folder_that_the_environment_names(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.delenv(LANDING_VARIABLE, raising=False)
    folders = open_folders()
    assert folders.home == tmp_path / "home"
    assert folders.home.is_dir()
    assert folders.landing == str(tmp_path / "home" / "landing")
    assert folders.warehouse == tmp_path / "home" / "warehouse.duckdb"
    named = folders.models, folders.datasets, folders.documents, folders.logs, folders.prefect
    assert [folder.name for folder in named] == ["models", "datasets", "documents", "logs", "prefect"]


def test_an_empty_name_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME_VARIABLE, "")
    monkeypatch.setenv(LANDING_VARIABLE, "")
    monkeypatch.chdir(tmp_path)
    folders = name_folders()
    assert (folders.home, folders.landing) == (tmp_path / "data", str(tmp_path / "data" / "landing"))


@pytest.mark.parametrize("given", ["zone", "./zone"])
def test_a_relative_landing_zone_becomes_absolute(given, tmp_path, monkeypatch):
    monkeypatch.setenv(LANDING_VARIABLE, given)
    monkeypatch.chdir(tmp_path)
    assert name_folders().landing == str(tmp_path / "zone")


def test_without_a_name_it_is_data_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    assert open_folders().home == tmp_path / "data"


def test_the_landing_zone_may_be_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv(LANDING_VARIABLE, "s3://bucket/landing")
    assert open_folders(tmp_path).landing == "s3://bucket/landing"


def test_a_used_home_is_that_of_this_process(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME_VARIABLE, "elsewhere")
    monkeypatch.chdir(tmp_path)
    use_home(Path("own"))
    assert os.environ[HOME_VARIABLE] == str(tmp_path / "own")
    assert name_folders().home == tmp_path / "own"


def test_opening_leaves_nothing_behind(tmp_path):
    open_folders(tmp_path / "home")
    assert list((tmp_path / "home").iterdir()) == []


def test_a_folder_that_another_thread_has_opened_too_is_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "touch", lambda path: None)  # the other thread has removed the file again
    assert open_folders(tmp_path / "home").home == tmp_path / "home"


def test_threads_open_one_folder_at_once(tmp_path):
    with ThreadPoolExecutor(8) as threads:
        opened = set(threads.map(lambda _: open_folders(tmp_path / "home").home, range(400)))
    assert opened == {tmp_path / "home"}


def test_an_unwritable_folder_is_named_with_the_way_out(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=f"cannot write to the data folder .*/file/home: .*{HOME_VARIABLE}"):
        open_folders(tmp_path / "file" / "home")


def test_naming_folders_makes_nothing(tmp_path):
    folders = name_folders(tmp_path / "data")
    assert folders.warehouse == tmp_path / "data" / "warehouse.duckdb"
    assert not folders.home.exists()


def test_a_worker_refuses_another_landing_zone_than_its_deployment_s(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    monkeypatch.delenv(LANDING_VARIABLE, raising=False)
    monkeypatch.setenv(DEPLOYED_VARIABLE, "")  # deployed without one
    assert not name_folders().is_shared
    monkeypatch.setenv(DEPLOYED_VARIABLE, "s3://studies/landing")
    assert name_folders().landing == "s3://studies/landing"
    assert name_folders().is_shared
    monkeypatch.setenv(LANDING_VARIABLE, "s3://studies/landing/")
    assert name_folders().is_shared
    monkeypatch.setenv(LANDING_VARIABLE, "s3://other/landing")
    with pytest.raises(UserError, match=r"^CARRYOVER_LANDING is s3://other/landing here, and s3://studies/landing for"):
        name_folders()
    monkeypatch.setenv(DEPLOYED_VARIABLE, "")
    with pytest.raises(UserError, match=rf"^CARRYOVER_LANDING is s3://other/landing here, and {tmp_path}/landing for"):
        name_folders()
