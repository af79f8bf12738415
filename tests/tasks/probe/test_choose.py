"""The runtime that a name means."""

import sys

import pytest

from carryover.tasks.probe.connectors.choose import choose_runtime
from carryover.tasks.services.errors import UserError


@pytest.mark.parametrize(("name", "found"), [("persistent", "1"), ("stateless", "name 'kept' is not defined")])
def test_contract_name_opens_a_session_under_it(name, found):
    runtime = choose_runtime(name)
    runtime.open()
    try:
        runtime.run("kept = 1")
        assert found in runtime.run("print(kept)")
    finally:
        runtime.close()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "class Mine:\n    def __init__(self, key): pass",
            "TypeError: .* missing 1 required positional argument: 'key'",
        ),
        ("class Mine: pass", "has no method 'open'; offer open"),
        ("class Other: pass", "AttributeError: module 'made_runtime' has no attribute 'Mine'"),
        ("class Mine(", "SyntaxError: '\\(' was never closed"),
        ("raise LookupError('no key')", "LookupError: no key"),
    ],
)
def test_a_class_that_cannot_be_made_is_refused(tmp_path, monkeypatch, source, message):
    (tmp_path / "made_runtime.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "made_runtime", raising=False)
    with pytest.raises(UserError, match=f"'made_runtime:Mine'.*{message}"):
        choose_runtime("made_runtime:Mine")


def test_a_class_is_taken_from_a_file(tmp_path):
    file = tmp_path / "own_runtime.py"
    methods = "\n".join(f"    def {name}(self, code=''): return '{name}'" for name in ("open", "run", "close"))
    file.write_text(f"class Mine:\n{methods}\n")
    assert choose_runtime(f"{file}:Mine").run("x = 1") == "run"
    with pytest.raises(UserError) as refused:
        choose_runtime(f"{file}:Other")
    assert str(refused.value) == f"no 'Other' in {file}; choose from {file}:Mine"


def described(runtime):
    return type(runtime).__name__, vars(runtime)


def test_every_name_means_its_runtime(monkeypatch):
    for name, contract, backend in (
        ("persistent", "persistent", "fork_tree"),
        ("stateless", "stateless", "fork_tree"),
        ("persistent-jupyter", "persistent", "jupyter"),
        ("stateless-jupyter", "stateless", "jupyter"),
    ):
        kind, held = described(choose_runtime(name))
        assert (kind, held["_contract"], held["_spec"].backend) == ("OwnRuntime", contract, backend)
    assert described(choose_runtime("ipykernel"))[0] == "KernelRuntime"
    assert described(choose_runtime("ipykernel-reset"))[0] == "ClearedKernelRuntime"
    kind, held = described(choose_runtime("mcp: python server.py", tool="run"))
    assert (kind, held["_target"], held["_wanted"]) == ("McpRuntime", "python server.py", "run")
    for words in ("python mine.py", "./mine"):
        kind, held = described(choose_runtime(words))
        assert (kind, held["_words"]) == ("CommandRuntime", words.split())


def test_a_foreign_runtime_wants_its_own_python():
    kind, held = described(choose_runtime("rlms", "/env/bin/python"))
    python, program, *rest = held["_words"]
    assert (kind, held["_name"], python, rest) == (
        "ForeignRuntime",
        "rlms",
        "/env/bin/python",
        ["rlms_runtimes", "LocalREPL"],
    )
    assert program.endswith("/tasks/probe/foreign/serve.py")
    with pytest.raises(UserError, match=r"^rlms runs in .* of its own; name its interpreter: --python ENV/bin/python$"):
        choose_runtime("rlms")


def test_an_unknown_name_is_told_with_the_choices():
    with pytest.raises(UserError) as refused:
        choose_runtime("persistant")
    listed = "persistent, stateless, persistent-jupyter, stateless-jupyter, ipykernel, ipykernel-reset, smolagents, "
    assert str(refused.value).startswith(f"unknown runtime 'persistant'; choose from {listed}")
    assert str(refused.value).endswith(", open-interpreter, mcp:SERVER, MODULE:CLASS, FILE.py:CLASS, or a command")
