"""The layout holds: imports run one way, heavy libraries load late, flow files shadow nothing."""

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.flattening import flat

ROOT = Path(__file__).parents[1]
LEVELS = {"tasks/<package>": 0, "storage": 1, "tasks/stages": 2, "tasks/*.py": 3, "flows": 4}
FORBIDDEN_IN_PACKAGES = {"prefect", "duckdb"}
HEAVY = {"torch", "transformers", "trl", "peft", "vllm", "bitsandbytes", "datasets", "great_expectations"}
TOP_LEVEL = {
    "pyproject.toml",
    "flows",
    "tasks",
    "sql",
    "storage",
    "tests",
    "deployments",
    "README.md",
    "Makefile",
    "LICENSE",
}


def sources() -> list[Path]:
    return flat(sorted((ROOT / room).rglob("*.py")) for room in ("flows", "tasks", "storage"))


def room_of(parts: tuple[str, ...]) -> str | None:
    match parts[1:] if parts[0] == "carryover" else parts:
        case ("flows", *_):
            return "flows"
        case ("storage", *_):
            return "storage"
        case ("tasks", "stages", *_):
            return "tasks/stages"
        case ("tasks", package, *_) if (ROOT / "tasks" / package).is_dir():
            return "tasks/<package>"
        case ("tasks", _):
            return "tasks/*.py"
        case _:
            return None


@cache
def import_statements(file: Path) -> tuple[Sequence[ast.stmt], Sequence[ast.stmt]]:
    """Return a file's imports, and those of them that stand at module level."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    everywhere = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return everywhere, [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(file: Path, *, is_module_level: bool = False) -> Iterator[str]:
    everywhere, at_module_level = import_statements(file)
    for node in at_module_level if is_module_level else everywhere:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # The package that runs without its project around it, inside the sandbox, names its neighbours relatively.
            assert not node.level or "inside" in file.parts[: len(file.parts) - node.level], (
                f"{file}: leaves its package"
            )
            yield node.module or "" if node.level == 0 else ""


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


def sign_of(init: Path) -> str:
    return ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""


def test_imports_run_one_way():
    against = []
    for file in sources():
        here = room_of(file.relative_to(ROOT).with_suffix("").parts)
        if here is None:
            continue
        for name in imports(file):
            there = room_of(tuple(name.split(".")))
            is_higher = there is not None and LEVELS[there] > LEVELS[here]
            is_forbidden = here == "tasks/<package>" and name.split(".")[0] in FORBIDDEN_IN_PACKAGES
            if is_higher or is_forbidden:
                against.append(f"{name_of(file)} imports {name}")
    assert against == []


def test_the_landing_zone_knows_no_warehouse():
    files = sorted((ROOT / "storage" / "zone").glob("*.py"))
    importers = [name_of(file) for file in files for name in imports(file) if "storage.warehouse" in name]
    assert files
    assert importers == []


def test_storage_knows_tables_and_no_plans():
    files = sorted((ROOT / "storage").rglob("*.py"))
    importers = [name_of(file) for file in files for name in imports(file) if name.startswith("carryover.tasks.plans")]
    assert files
    assert importers == []


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(("carryover", *parts)).removesuffix(".__init__")


def test_no_two_modules_import_each_other():
    graph: dict[str, set[str]] = {module_of(file): set(imports(file)) for file in sources()}
    waiting = {module: names & set(graph) for module, names in graph.items()}
    try:
        TopologicalSorter(waiting).prepare()
    except CycleError as error:
        pytest.fail(f"circle of imports: {' <- '.join(error.args[1])}")


def test_heavy_libraries_are_imported_inside_functions():
    heavy = [
        f"{name_of(file)} imports {name}"
        for file in sources()
        for name in imports(file, is_module_level=True)
        if name.split(".")[0] in HEAVY
    ]
    assert heavy == []


def test_vllm_is_a_program_and_never_imported():
    importers = [name_of(file) for file in sources() if "vllm" in {name.split(".")[0] for name in imports(file)}]
    assert importers == []


def test_flow_files_bear_no_name_of_an_installed_module():
    installed = set(sys.stdlib_module_names) | set(importlib.metadata.packages_distributions())
    names = {file.stem for file in (ROOT / "flows").glob("*.py")} - {"__init__"}
    assert not names & installed


def test_tests_are_no_packages():
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_the_top_level_is_what_it_should_be():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    top = {Path(file).parts[0] for file in tracked}
    assert {name for name in top if not name.startswith(".")} <= TOP_LEVEL


def test_a_room_s_sign_names_files_that_exist():
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    wrong = []
    for init in [file for file in sources() if file.name == "__init__.py"]:
        sign = sign_of(init)
        for name in re.findall(r"`([\w/]+\.py)`", sign):
            is_beside = (init.parent / name).is_file() or (ROOT / name).is_file()
            if Path(name).name not in tests and not is_beside:
                wrong.append(f"{name_of(init)} names {name}")
    assert wrong == []


def test_every_room_has_a_sign_of_five_to_twelve_lines():
    doors = [file for file in [*sources(), ROOT / "sql" / "__init__.py"] if file.name == "__init__.py"]
    signs = {name_of(door): sign_of(door) for door in doors}
    assert [room for room, sign in signs.items() if not 5 <= len(sign.splitlines()) <= 12] == []
    first = re.compile(r"`[\w/]+\.(?:py|md)`|`ls tasks")
    assert [room for room, sign in signs.items() if not first.search(sign)] == []
    test = re.compile(r"`(?:[\w/]*test_\w+\.py|tests/[\w/]+)`")
    assert [room for room, sign in signs.items() if not test.search(sign)] == []


def test_pyproject_lists_every_package():
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"])
    folders = {
        init.parent.relative_to(ROOT)
        for init in flat((ROOT / room).rglob("__init__.py") for room in ("flows", "tasks", "storage", "sql"))
    }
    folders.remove(Path("flows/api"))
    assert listed == {"carryover"} | {".".join(("carryover", *folder.parts)) for folder in folders}


@pytest.mark.parametrize("module", ["carryover", "carryover.flows.cli.main"])
def test_library_and_command_are_cheap_to_import(module):
    code = f"import sys, {module}; assert not {{'duckdb', 'numpy', 'polars', 'prefect', 'torch'}} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_library_imports_beside_folders_of_the_same_names(tmp_path):
    for name in ("tasks", "storage", "flows", "sql"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError")
    subprocess.run([sys.executable, "-c", "import carryover; carryover.Warehouse"], cwd=tmp_path, check=True)


def test_conftest_needs_the_core_and_pytest_alone():
    """The core's tests run where no study is installed."""
    absent = (
        "yaml",
        "duckdb",
        "prefect",
        "sqlalchemy",
        "pandas",
        "numpy",
        "torch",
        "transformers",
        "fsspec",
        "starlette",
    )
    code = f"import sys; sys.modules.update(dict.fromkeys({absent})); import tests.conftest"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
