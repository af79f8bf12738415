import subprocess
from pathlib import Path

import pytest

from carryover.tasks.services import source_digest as module
from carryover.tasks.services.source_digest import canonical_json, folder_digest, source_digest


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of two packages: `tasks.upper` imports `tasks.lower`, which reads a file."""
    for package, text in {
        "upper": "from carryover.tasks.lower import rule\n",
        "lower": "LIMIT = 1  # one\nHERE = __file__\n",
    }.items():
        folder = tmp_path / "tasks" / package
        folder.mkdir(parents=True)
        (folder / "rule.py").write_text(text)
    (tmp_path / "tasks" / "lower" / "prompt.md").write_text("Think.")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return tmp_path


def test_comments_docstrings_and_layout_do_not_count(project):
    before = source_digest(["carryover.tasks.upper"])
    (project / "tasks" / "lower" / "rule.py").write_text('"""What is allowed."""\n\nLIMIT = 1\nHERE = __file__\n')
    assert source_digest(["carryover.tasks.upper"]) == before


@pytest.mark.parametrize("head", ["class Rule:", "def rule():", "async def rule():"])
def test_a_docstring_of_anything_does_not_count(project, head):
    file, digests = project / "tasks" / "lower" / "rule.py", set()
    for docstring in ("", '"""A rule."""'):
        file.write_text(f"{head}\n    {docstring}\n    x = 1\n")
        digests.add(source_digest(["carryover.tasks.lower"]))
    assert len(digests) == 1


def test_every_python_digests_the_same_source_alike(project):
    """The digest is that of 3.11; later trees hold type parameters, or show no empty lists."""
    text = 'class Rule:\n    def word(self, width):\n        return f"{self:>{width}}"\n'
    (project / "tasks" / "lower" / "rule.py").write_text(text)
    assert source_digest(["carryover.tasks.lower"])[:16] == "3556dd8430539637"


def test_the_order_of_a_folder_s_listing_does_not_count(project, monkeypatch):
    (project / "tasks" / "upper" / "other.py").write_text("LIMIT = 2\n")
    before = folder_digest("tasks/upper"), source_digest(["carryover.tasks.upper"])
    listed = Path.rglob
    monkeypatch.setattr(Path, "rglob", lambda *asked: reversed([*listed(*asked)]))
    assert (folder_digest("tasks/upper"), source_digest(["carryover.tasks.upper"])) == before


def test_a_folders_digest_is_that_of_its_files_and_their_names(project):
    folder = project / "tasks" / "upper"
    before = folder_digest("tasks/upper")
    (folder / "README.md").write_text("Not shipped.")
    assert folder_digest("tasks/upper") == before
    (folder / "rule.py").rename(folder / "renamed.py")
    renamed = folder_digest("tasks/upper")
    (folder / "renamed.py").write_text("LIMIT = 2\n")
    edited = folder_digest("tasks/upper")
    assert len({before, renamed, edited}) == 3
    assert [len(digest) for digest in (before, renamed, edited)] == [64, 64, 64]


def test_an_edit_in_an_imported_package_counts(project):
    before = source_digest(["carryover.tasks.upper"])
    (project / "tasks" / "lower" / "rule.py").write_text("LIMIT = 2\n")
    assert source_digest(["carryover.tasks.upper"]) != before


@pytest.mark.parametrize("package", ["plans", "stages", "families"])
def test_imports_are_not_followed_into_what_counts_by_value(project, package):
    imported = project / "tasks" / package / "choice.py"
    imported.parent.mkdir()
    imported.write_text("CHOSEN = 1\n")
    (project / "tasks" / "upper" / "rule.py").write_text(f"from carryover.tasks.{package}.choice import CHOSEN\n")
    before = source_digest(["carryover.tasks.upper"])
    imported.write_text("CHOSEN = 2\n")
    assert source_digest(["carryover.tasks.upper"]) == before


def test_used_names_and_statements_with_effects_count_of_an_import(project):
    lower = project / "tasks" / "lower" / "rule.py"
    (project / "tasks" / "upper" / "rule.py").write_text("from carryover.tasks.lower.rule import limit\n")
    text = (
        "import os, cmath as math\nimport xml.dom\nfrom math import floor, sqrt\nBASE = 1\n"
        "def limit():\n    return sqrt(BASE, math, xml)\ndef other():\n    return 2\n"
    )
    lower.write_text(text)
    before = source_digest(["carryover.tasks.upper"])
    edits = {
        "return 2": "return 3", "floor": "ceil", "BASE = 1": "BASE = 2", "from math": "from cmath",
        "sqrt(BASE": "sqrt(1 + BASE", "import os": "import re", "cmath as": "numbers as",
        "xml.dom": "xml.sax",
    }  # fmt: skip
    changed = set()
    for old, new in edits.items():
        lower.write_text(text.replace(old, new))
        if source_digest(["carryover.tasks.upper"]) != before:
            changed.add(old)
    assert changed == {"BASE = 1", "from math", "sqrt(BASE", "cmath as", "xml.dom"}
    lower.write_text(text + "print(limit())\n")
    assert source_digest(["carryover.tasks.upper"]) != before


def test_a_name_bound_beside_others_counts_with_its_whole_module(project):
    lower = project / "tasks" / "lower" / "rule.py"
    (project / "tasks" / "upper" / "rule.py").write_text("from carryover.tasks.lower.rule import LEAST\n")
    text = "LEAST, MOST = 1, 2\ndef other():\n    return 3\n"
    lower.write_text(text)
    before = source_digest(["carryover.tasks.upper"])
    for edited in (text.replace("1, 2", "1, 4"), text.replace("3", "5")):
        lower.write_text(edited)
        assert source_digest(["carryover.tasks.upper"]) != before


def test_a_name_is_followed_through_a_re_export(project):
    (project / "tasks" / "upper" / "rule.py").write_text("from carryover.tasks.middle.rule import LIMIT\n")
    (project / "tasks" / "middle").mkdir()
    (project / "tasks" / "middle" / "rule.py").write_text("from carryover.tasks.lower.rule import HERE, LIMIT\n")
    before = source_digest(["carryover.tasks.upper"])
    (project / "tasks" / "lower" / "prompt.md").write_text("Only HERE reads files.")
    assert source_digest(["carryover.tasks.upper"]) == before
    (project / "tasks" / "lower" / "rule.py").write_text("LIMIT = 2\nHERE = __file__\n")
    assert source_digest(["carryover.tasks.upper"]) != before


def test_an_edit_of_a_prompt_counts(project):
    before = source_digest(["carryover.tasks.upper"])
    apart = source_digest(["carryover.tasks.upper"], by_value=["tasks/lower"])
    (project / "tasks" / "lower" / "prompt.md").write_text("Think twice.")
    assert source_digest(["carryover.tasks.upper"]) != before
    assert source_digest(["carryover.tasks.upper"], by_value=["tasks/lower"]) == apart != before


QUERY = "select 'it''s -- no comment' as \"a /* name\" from t"


@pytest.mark.parametrize(
    ("edited", "is_same"),
    [
        (f"-- rows of t\n{QUERY}\n", True),
        (QUERY.replace(" from", "\n    /* of\n */ from"), True),
        (QUERY.replace("-- no", "-- a"), False),
        (QUERY.replace("/* name", "/* key"), False),
        (QUERY.replace("s --", "s  --"), False),
        (QUERY.replace(" t", " u"), False),
    ],
)
def test_sql_counts_without_its_comments(project, edited, is_same):
    query = project / "tasks" / "lower" / "rows.sql"
    query.write_text(QUERY)
    before = source_digest(["carryover.tasks.upper"])
    query.write_text(edited)
    assert (source_digest(["carryover.tasks.upper"]) == before) == is_same


def test_a_file_that_has_not_changed_is_parsed_once(project, monkeypatch):
    before = source_digest(["carryover.tasks.upper"])
    monkeypatch.setattr(module, "parse_python", None)
    assert source_digest(["carryover.tasks.upper"]) == before
    (project / "tasks" / "lower" / "rule.py").write_text("LIMIT = 12345\n")
    with pytest.raises(TypeError):
        source_digest(["carryover.tasks.upper"])


@pytest.mark.parametrize(
    "name", [".rule.py.swp", ".#rule.py", "rule.py~", "rule.py.orig", "core", ".ipynb_checkpoints/rule-checkpoint.py"]
)
def test_what_an_editor_leaves_beside_the_source_does_not_count(project, name):
    before = source_digest(["carryover.tasks.upper"])
    left = project / "tasks" / "lower" / name
    left.parent.mkdir(exist_ok=True)
    left.write_text("LIMIT = 2\n")
    assert source_digest(["carryover.tasks.upper"]) == before


def test_every_kind_of_file_that_packages_are_made_of_counts():
    """Viewer and probe decide no row: a front end and reports need not count."""
    words = ["git", "ls-files", "tasks", "storage", ":!tasks/viewer", ":!tasks/probe"]
    names = subprocess.check_output(words, cwd=module.ROOT, text=True).split()
    assert {Path(name).suffix for name in names} == {".py", ".md", ".toml", ".jinja"} <= set(module.SHIPPED_SUFFIXES)


def test_an_edit_above_does_not_count_below(project):
    before = source_digest(["carryover.tasks.lower"])
    (project / "tasks" / "upper" / "rule.py").write_text("OTHER = 1\n")
    assert source_digest(["carryover.tasks.lower"]) == before


def test_canonical_json_does_not_depend_on_the_order_of_keys():
    assert canonical_json({"b": 1, "a": (2, 3)}) == '{"a":[2,3],"b":1}'
