from pathlib import Path

import pytest

from tests.torch_together import LOADERS, unit_of

REPOSITORY = Path(__file__).parents[1]


@pytest.mark.parametrize("loader", LOADERS)
def test_a_loader_is_a_file_or_folder_of_tests(loader):
    path = REPOSITORY / loader
    assert path.is_dir() if loader.endswith("/") else path.is_file()


def test_files_that_load_torch_are_one_unit():
    assert unit_of("tests/tasks/sft/test_loss.py::test_a") == unit_of("tests/tasks/test_serve.py::test_b[1::2]")
    assert unit_of("tests/tasks/test_train.py::test_a[1::2]") == "tests/tasks/test_train.py"
