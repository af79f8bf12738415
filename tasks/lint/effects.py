"""State beyond names: files, environment, directory, packages, processes, figures."""

import ast
import re
from collections.abc import Iterable, Iterator

from carryover.tasks.lint.dialect import expand_known
from carryover.tasks.lint.file_effects import Called, file_effects
from carryover.tasks.lint.literals import Constants, argument, command_line, dotted, note_assignment, text_of
from carryover.tasks.lint.shell import Channel, Effect, EffectKind, shell_effects, uses_local_server
from carryover.tasks.services.syntax import UNPARSABLE, parse_python

_HINTS = re.compile(
    r"open|environ|putenv|getenv|chdir|cwd|listdir|glob|walk|scandir|os\.stat|exists|isfile|isdir|pip|subprocess|system|Popen"
    r"|Thread|Process|Timer|create_task|waitpid|kill|plt|pyplot|pylab|read_|scan_|to_|write|save|load|dump|from(?:file|txt)|tofile"
    r"|Path|copy|threading|move\(|os\.replace|unlink|ZipFile|File|localhost|127\.0|0\.0\.0\.0|mkdir|makedirs|rename|connect|imread"
    r"|retrieve|^\s*(?:[\w, ]+=\s*)?[!%]",
    re.MULTILINE,
)
"""Words without which a block touches nothing but names and imports: most blocks need no closer look."""
_SHELL_LINE = re.compile(r"^\s*(?:[\w, ]+=\s*)?!(?P<command>.+)$", re.MULTILINE)
_MAGIC_LINE = re.compile(r"^\s*%(?P<name>cd|env|set_env|pip|conda|run)\b[ \t]*(?P<rest>.*)$", re.MULTILINE)
_KIND_OF_CONTEXT: dict[type[ast.expr_context], EffectKind] = {ast.Load: "read", ast.Store: "set", ast.Del: "clear"}
_ENVIRONMENT_FUNCTIONS: dict[str, EffectKind] = {"getenv": "read", "putenv": "set"}
_ENVIRONMENT_METHODS: dict[str, EffectKind] = {"get": "read", "pop": "read", "setdefault": "set"}
_RUNNING = ("system", "popen", "run", "call", "check_call", "check_output", "Popen", "getoutput")
_LISTING = ("listdir", "walk", "scandir", "glob", "iglob", "exists", "isfile", "isdir", "stat")
_OPENING_FOLDERS = ("listdir", "walk", "scandir", "glob", "iglob")
"""Those that find nothing where the folder is missing."""
_PYPLOT = ("plt", "pyplot", "matplotlib.pyplot", "pylab")
_STARTING = frozenset({"Popen", "Thread", "Process", "Timer", "create_task", "ThreadPoolExecutor"})
_LOOKING_AT_PROCESSES = (
    ("threading", "active_count"),
    ("threading", "enumerate"),
    ("os", "kill"),
    ("os", "killpg"),
    ("os", "waitpid"),
)
_DRAWING = frozenset({
    "plot", "scatter", "bar", "barh", "hist", "pie", "imshow", "figure", "subplots", "subplot", "boxplot", "contour",
    "contourf", "fill_between", "errorbar", "pcolormesh", "stem", "step", "semilogy", "semilogx", "loglog",
})  # fmt: skip
_FINISHING = frozenset({
    "savefig", "title", "xlabel", "ylabel", "legend", "gcf", "gca", "tight_layout", "xlim", "ylim", "axis", "colorbar",
    "suptitle", "xticks", "yticks", "grid", "annotate", "text", "show",
})  # fmt: skip
_FIGURE = "current figure"


def python_effects(code: str, tree: ast.Module | None, constants: Constants) -> list[Effect]:
    """Return a block's effects beyond names, in order of evaluation.

    `constants` are the texts that names hold; those that the block assigns are added. A path, variable or command that
    is computed is not known and has no effect here.
    """
    if tree is None:
        return []
    effects = []
    if "import" in code:
        effects = list(_import_reads(tree))
    if not _HINTS.search(code):
        _note_constants(tree, constants)
        return effects
    visitor = _Visitor(constants)
    visitor.effects += _magic_effects(code, constants)
    visitor.visit(tree)
    return effects + visitor.effects


def _import_reads(tree: ast.Module) -> Iterator[Effect]:
    for node in ast.walk(tree):
        roots = []
        if isinstance(node, ast.Import):
            roots = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots = [node.module.partition(".")[0]]
        for root in roots:
            yield Effect("packages", "read", root)
            yield Effect("files", "read", f"{root}.py")


def _note_constants(tree: ast.Module, constants: Constants) -> None:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            note_assignment(node, constants)


def _magic_effects(code: str, constants: Constants) -> Iterator[Effect]:
    for found in _SHELL_LINE.finditer(code):
        yield from _of_child(expand_known(found["command"], constants), constants)
    for found in _MAGIC_LINE.finditer(code):
        if found["name"] == "run":
            ran = shell_effects(f"python {found['rest']}", constants)
            yield from (*ran.effects, *script_effects(ran.scripts))
        elif found["name"] == "cd":
            yield Effect("directory", "set", found["rest"].strip())
        elif found["name"] in ("env", "set_env") and found["rest"].strip():
            name, sign, _ = found["rest"].strip().replace("=", " ", 1).partition(" ")
            yield Effect("environment", "set" if sign else "read", name)
        elif found["name"] in ("pip", "conda"):
            yield from shell_effects(f"{found['name']} {found['rest']}").effects


class _Visitor(ast.NodeVisitor):
    """Visits a block in order of evaluation and notes its effects."""

    def __init__(self, constants: Constants) -> None:
        self.effects: list[Effect] = []
        self._constants = constants

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)
        note_assignment(node, self._constants)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        if dotted(node.target).endswith("environ"):
            self._environment_of(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and uses_local_server(node.value):
            self._note("processes", "read", "local server")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.generic_visit(node)
        name = text_of(node.slice, self._constants)
        if name is not None and dotted(node.value).endswith("environ"):
            self._note("environment", _KIND_OF_CONTEXT[type(node.ctx)], name)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        owner, _, name = dotted(node.func).rpartition(".")
        called = Called(node, owner, name)
        self._environment(called)
        self._directory(called)
        self._processes(called)
        self._figures(called)
        self.effects += file_effects(called, self._constants)

    def _environment(self, called: Called) -> None:
        kind = _ENVIRONMENT_FUNCTIONS.get(called.name)
        if called.owner.endswith("environ"):
            kind = _ENVIRONMENT_METHODS.get(called.name)
            if called.name == "update":
                self._environment_update(called.node)
        name = argument(called.node, 0, self._constants)
        if kind is not None and name is not None:
            self._note("environment", kind, name)

    def _environment_update(self, node: ast.Call) -> None:
        for literal in node.args:
            self._environment_of(literal)
        for each in node.keywords:
            if each.arg:
                self._note("environment", "set", each.arg)

    def _environment_of(self, literal: ast.expr) -> None:
        keys = literal.keys if isinstance(literal, ast.Dict) else []
        for name in filter(None, (text_of(key, self._constants) for key in keys)):
            self._note("environment", "set", name)

    def _directory(self, called: Called) -> None:
        if called.name in ("chdir", "fchdir") and called.owner == "os":
            self._note("directory", "set", "")
        elif called.name in ("getcwd", "cwd", "getcwdb"):
            self._note("directory", "read", "")
        elif called.name in _LISTING and called.owner in ("os", "glob", "os.path"):
            self._listing(called)

    def _listing(self, called: Called) -> None:
        path = argument(called.node, 0, self._constants)
        is_relative = not called.node.args or (path is not None and not path.startswith(("/", "~")))
        if is_relative:
            self._note("directory", "read", "")
        if path is not None and called.name in _OPENING_FOLDERS:
            self._note("files", "read", _folder_of(path))

    def _processes(self, called: Called) -> None:
        if called.owner in ("os", "subprocess") and called.name in _RUNNING:
            command = command_line(called.node, self._constants)
            self.effects += _of_child(command, self._constants) if command else []
        if called.name in _STARTING:
            self._note("processes", "set", called.name)
        elif (called.owner, called.name) in _LOOKING_AT_PROCESSES:
            self._note("processes", "read", called.name)

    def _figures(self, called: Called) -> None:
        if called.owner not in _PYPLOT:
            return
        if called.name in _DRAWING:
            self._note("figures", "set", _FIGURE)
        elif called.name == "close":
            self._note("figures", "clear", _FIGURE)
        elif called.name in _FINISHING:
            self._note("figures", "read", _FIGURE)

    def _note(self, channel: Channel, kind: EffectKind, name: str) -> None:
        self.effects.append(Effect(channel, kind, name))


def _folder_of(pattern: str) -> str:
    """Return a pattern's folder, up to its first wildcard."""
    plain = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    folder = plain if plain == pattern else plain.rpartition("/")[0]
    return folder.removeprefix("./").rstrip("/") or "."


def script_effects(sources: Iterable[str]) -> list[Effect]:
    """Return the effects of Python files that a command runs."""
    effects: list[Effect] = []
    for source in sources:
        try:
            tree = parse_python(source)
        except UNPARSABLE:
            continue
        effects += python_effects(source, tree, {})
    return effects


def outliving(effects: Iterable[Effect]) -> list[Effect]:
    """Return a process's effects that outlive it."""
    return [each for each in effects if each.kind == "read" or each.channel not in ("environment", "directory")]


def _of_child(command: str, constants: Constants) -> list[Effect]:
    """Return the effects of a command in a process of its own."""
    ran = shell_effects(command, constants)
    return outliving([*ran.effects, *script_effects(ran.scripts)])
