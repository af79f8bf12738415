"""State beyond names that a block touches: files, environment, directory, packages, processes, figures."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from carryover.tasks.lint.shell import Effect, shell_effects, uses_local_server

_HINTS = re.compile(
    r"open|environ|getenv|chdir|cwd|pip|subprocess|system|Popen|Thread|Process|plt|pyplot|read_|to_|write|save|load|dump"
    r"|Path|copy|localhost|127\.0|mkdir|makedirs|rename|connect|imread|retrieve|^\s*[!%]",
    re.MULTILINE,
)
"""Words without which a block touches nothing but names and imports: most blocks are told apart by them alone."""
_SHELL_LINE = re.compile(r"^\s*(?:[\w, ]+=\s*)?!(?P<command>.+)$", re.MULTILINE)
_MAGIC_LINE = re.compile(r"^\s*%(?P<name>cd|env|set_env|pip|conda)\b[ \t]*(?P<rest>.*)$", re.MULTILINE)
_FIRST_IS_PATH = frozenset({
    "to_csv", "to_json", "to_parquet", "to_excel", "to_pickle", "to_feather", "to_html", "to_markdown", "to_netcdf",
    "write_csv", "write_json", "write_parquet", "write_ipc", "write_ndjson", "savefig", "save", "savez", "savetxt",
    "imwrite", "makedirs", "mkdir", "write_image", "write_html", "tofile", "imsave",
})  # fmt: skip
_SECOND_IS_PATH = frozenset({"dump", "urlretrieve", "copy", "copyfile", "copytree", "move", "rename", "replace"})
_PATH_IS_SELF = {"write_text": "set", "write_bytes": "set", "touch": "set", "mkdir": "set", "read_text": "read",
                 "read_bytes": "read", "unlink": "clear"}  # fmt: skip
_READING = frozenset({"load", "loadtxt", "genfromtxt", "imread", "fromfile", "scan_csv", "scan_parquet", "ExcelFile"})
_STARTING = frozenset({"Popen", "Thread", "Process", "Timer", "create_task", "ThreadPoolExecutor"})
_DRAWING = frozenset({
    "plot", "scatter", "bar", "barh", "hist", "pie", "imshow", "figure", "subplots", "subplot", "boxplot", "contour",
    "contourf", "fill_between", "errorbar", "pcolormesh", "stem", "step", "semilogy", "semilogx", "loglog",
})  # fmt: skip
_FINISHING = frozenset({
    "savefig", "title", "xlabel", "ylabel", "legend", "gcf", "gca", "tight_layout", "xlim", "ylim", "axis", "colorbar",
    "suptitle", "xticks", "yticks", "grid", "annotate", "text", "show",
})  # fmt: skip
_FIGURE = "current figure"


def python_effects(code: str, tree: ast.Module | None, constants: dict[str, str]) -> list[Effect]:
    """Return what a block does to state that is no name, in order of evaluation.

    `constants` are the texts that names hold; those that the block assigns are added. A path, variable or command that
    is computed is not known and has no effect here.
    """
    if tree is None:
        return []
    effects = list(_import_reads(tree)) if "import" in code else []
    if not _HINTS.search(code):
        _note_constants(tree, constants)
        return effects
    visitor = _Visitor(constants)
    for magic in _magic_effects(code):
        visitor.effects.append(magic)
    visitor.visit(tree)
    return effects + visitor.effects


def _import_reads(tree: ast.Module) -> Iterator[Effect]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Effect("packages", "read", alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield Effect("packages", "read", node.module.partition(".")[0])


def _note_constants(tree: ast.Module, constants: dict[str, str]) -> None:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            _note_assignment(node, constants)


def _note_assignment(node: ast.Assign, constants: dict[str, str]) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            text = _text(node.value, constants)
            if text is None:
                constants.pop(target.id, None)
            else:
                constants[target.id] = text


def _magic_effects(code: str) -> Iterator[Effect]:
    for found in _SHELL_LINE.finditer(code):
        # A shell of its own: what it exports, and where it goes, ends with it.
        lasting = shell_effects(found["command"]).effects
        yield from (effect for effect in lasting if effect.channel not in ("environment", "directory"))
    for found in _MAGIC_LINE.finditer(code):
        if found["name"] == "cd":
            yield Effect("directory", "set", found["rest"].strip())
        elif found["name"] in ("env", "set_env") and found["rest"].strip():
            name, sign, _ = found["rest"].strip().replace("=", " ", 1).partition(" ")
            yield Effect("environment", "set" if sign else "read", name)
        elif found["name"] in ("pip", "conda"):
            yield from shell_effects(f"{found['name']} {found['rest']}").effects


class _Visitor(ast.NodeVisitor):
    """Visits a block in order of evaluation and notes its effects."""

    def __init__(self, constants: dict[str, str]) -> None:
        self.effects: list[Effect] = []
        self._constants = constants
        self._has_drawn = False

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)
        _note_assignment(node, self._constants)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and uses_local_server(node.value):
            self._note("processes", "read", "local server")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.generic_visit(node)
        name = _text(node.slice, self._constants)
        if name is not None and _dotted(node.value).endswith("environ"):
            kinds: dict[type, Literal["set", "read", "clear"]] = {ast.Store: "set", ast.Del: "clear"}
            self._note("environment", kinds.get(type(node.ctx), "read"), name)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        dotted = _dotted(node.func)
        called = dotted.rpartition(".")[2]
        owner = dotted.rpartition(".")[0]
        self._environment(node, owner, called)
        self._directory(owner, called)
        self._processes(node, owner, called)
        if owner in ("plt", "pyplot", "matplotlib.pyplot", "pylab"):
            self._figures(called)
        self._files(node, owner, called)

    def _environment(self, node: ast.Call, owner: str, called: str) -> None:
        name = _argument(node, 0, self._constants)
        if called in ("getenv", "putenv") and name:
            self._note("environment", "set" if called == "putenv" else "read", name)
        if not owner.endswith("environ"):
            return
        if called in ("get", "pop", "setdefault") and name:
            self._note("environment", "set" if called == "setdefault" else "read", name)
        elif called == "update":
            keys = [key for each in node.args if isinstance(each, ast.Dict) for key in each.keys]
            names = [_text(key, self._constants) for key in keys] + [each.arg for each in node.keywords]
            for each in filter(None, names):
                self._note("environment", "set", each)

    def _directory(self, owner: str, called: str) -> None:
        if called in ("chdir", "fchdir") and owner == "os":
            self._note("directory", "set", "")
        elif called in ("getcwd", "cwd", "getcwdb"):
            self._note("directory", "read", "")

    def _processes(self, node: ast.Call, owner: str, called: str) -> None:
        command = _command(node, self._constants)
        if owner in ("os", "subprocess") and command is not None and called in ("system", "popen", "run", "call",
                                                                               "check_call", "check_output", "Popen",
                                                                               "getoutput"):  # fmt: skip
            for effect in shell_effects(command).effects:
                if effect.channel not in ("environment", "directory"):
                    self.effects.append(effect)
        if called in _STARTING:
            self._note("processes", "set", called)
        elif called in ("active_count", "enumerate") and owner == "threading":
            self._note("processes", "read", called)

    def _figures(self, called: str) -> None:
        if called in _DRAWING:
            self._has_drawn = True
            self._note("figures", "set", _FIGURE)
        elif called == "close":
            self._note("figures", "clear", _FIGURE)
        elif called in _FINISHING:
            self._note("figures", "read", _FIGURE)

    def _files(self, node: ast.Call, owner: str, called: str) -> None:
        first = _argument(node, 0, self._constants)
        if called == "open" and owner in ("", "io", "codecs", "gzip", "bz2", "lzma", "builtins"):
            mode = _argument(node, 1, self._constants) or _keyword(node, "mode", self._constants) or "r"
            self._file(first, "set" if mode[:1] in ("w", "a", "x") else "read")
        elif called in _PATH_IS_SELF and isinstance(node.func, ast.Attribute):
            path = _text(node.func.value, self._constants)
            kind = _PATH_IS_SELF[called]
            self._file(path if path is not None else (first if called == "mkdir" else None), kind)  # type: ignore[arg-type]
        elif called == "open" and isinstance(node.func, ast.Attribute):
            path = _text(node.func.value, self._constants)
            mode = first or _keyword(node, "mode", self._constants) or "r"
            is_path = path is not None
            self._file(path if is_path else first, "set" if is_path and mode[:1] in ("w", "a", "x") else "read")
        elif called in _FIRST_IS_PATH:
            second = _argument(node, 1, self._constants)
            self._file(first if first is not None else (second if owner == "torch" else None), "set")
        elif called in _SECOND_IS_PATH and owner not in ("", "str"):
            self._copied(node, owner, called)
        elif called.startswith("read_") or called in _READING:
            self._file(first, "read")
        elif called == "connect" and owner == "sqlite3" and first != ":memory:":
            self._file(first, "read")
            self._file(first, "set")

    def _copied(self, node: ast.Call, owner: str, called: str) -> None:
        if owner in ("shutil", "os") and called != "dump":
            self._file(_argument(node, 0, self._constants), "read")
        if owner in ("shutil", "os", "joblib") or called == "urlretrieve":
            self._file(_argument(node, 1, self._constants), "set")

    def _file(self, path: str | None, kind: Literal["set", "read", "clear"]) -> None:
        if not path or "://" in path or "\n" in path:
            return
        if not path.startswith(("/", "~")) and kind == "read":
            self._note("directory", "read", "")
        self._note("files", kind, plain_path(path))

    def _note(self, channel: str, kind: str, name: str) -> None:
        self.effects.append(Effect(channel, kind, name))  # type: ignore[arg-type]


def plain_path(path: str) -> str:
    """Return a path without `./` and doubled slashes."""
    return str(PurePosixPath(path))


class Carried(NamedTuple):
    """A read of state that an earlier block left."""

    channel: str
    name: str


class StateWalk:
    """State beyond names, block after block."""

    def __init__(self) -> None:
        self._left: set[tuple[str, str]] = set()

    def enter(self, effects: Iterable[Effect]) -> list[Carried]:
        """Return what a block takes from the ones before it, then add what it leaves."""
        own: set[tuple[str, str]] = set()
        carried: dict[Carried, None] = {}
        cleared: set[tuple[str, str]] = set()
        for effect in effects:
            key = (effect.channel, "" if effect.channel == "directory" else effect.name)
            if effect.channel == "processes" and effect.kind == "read":
                is_left = any(channel == "processes" for channel, _ in self._left)
                is_own = any(channel == "processes" for channel, _ in own)
            else:
                is_left = key in self._left and key not in cleared
                is_own = key in own
            if effect.kind == "set":
                own.add(key)
                cleared.discard(key)
            elif effect.kind == "clear":
                own.discard(key)
                cleared.add(key)
            elif is_left and not is_own:
                carried[Carried(effect.channel, effect.name)] = None
        self._left = (self._left - cleared) | own
        return list(carried)


def _dotted(node: ast.expr) -> str:
    """Return a chain of names as text; empty owner parts for anything else, such as a call's result."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return ""


def _argument(node: ast.Call, index: int, constants: dict[str, str]) -> str | None:
    return _text(node.args[index], constants) if len(node.args) > index else None


def _keyword(node: ast.Call, name: str, constants: dict[str, str]) -> str | None:
    held = next((keyword.value for keyword in node.keywords if keyword.arg == name), None)
    return None if held is None else _text(held, constants)


def _command(node: ast.Call, constants: dict[str, str]) -> str | None:
    """Return the command line of a call that runs one: its text, or its list of words."""
    if not node.args:
        return None
    first = node.args[0]
    if not isinstance(first, ast.List):
        return _text(first, constants)
    words = [_text(each, constants) or ("python" if _dotted(each) == "sys.executable" else "") for each in first.elts]
    return " ".join(words)


def _text(node: ast.expr | None, constants: dict[str, str]) -> str | None:
    """Return the text that an expression is, where it is known: a literal, a name that holds one, a path of both."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Add):
        left = _text(node.left, constants)
        right = _text(node.right, constants)
        if left is None or right is None:
            return None
        return left + right if isinstance(node.op, ast.Add) else str(PurePosixPath(left) / right)
    if isinstance(node, ast.Call) and _dotted(node.func).rpartition(".")[2] in ("Path", "PurePath", "join", "str"):
        parts = [_text(each, constants) for each in node.args]
        known = [part for part in parts if part is not None]
        return str(PurePosixPath(*known)) if known and len(known) == len(parts) else None
    return None
