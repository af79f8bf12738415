"""Shell blocks: variables, other state, and the Python they run."""

import re
import shlex
from itertools import pairwise, takewhile
from typing import Literal, NamedTuple, Protocol

EffectKind = Literal["set", "read", "clear"]
"""What a block does to a file, a variable or another state."""
Channel = Literal["files", "environment", "directory", "packages", "processes", "figures"]

_HEREDOC = re.compile(
    r"<<-?\s*(['\"]?)(?P<word>\w+)\1(?P<rest>[^\n]*)\n(?P<body>.*?)^\s*(?P=word)\s*$", re.DOTALL | re.MULTILINE
)
_PYTHON_INLINE = re.compile(
    r"\bpython[\d.]*\s+(?:-\w+\s+)*-c\s+(?P<quote>['\"])(?P<code>.*?)(?<!\\)(?P=quote)", re.DOTALL
)
_PYTHON_SCRIPT = re.compile(r"\bpython[\d.]*\s+(?:-[a-zA-Z]+\s+)*(?P<path>[\w./-]+\.py)\b")
_WRITTEN_SCRIPT = re.compile(r"(?<!>)>\s*(?P<path>[\w./-]+\.py)\b")
_PYTHON_STDIN = re.compile(r"\bpython[\d.]*\s*(?:-\s*)?$")
_SEPARATOR = re.compile(r"(?:&&|\|\||;|\||(?<![<>&])&(?![&>])|\n)")
_VARIABLE = re.compile(r"(?<!\\)\$\{?(?P<name>[A-Za-z_]\w*)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_FUNCTION = re.compile(r"^\s*(?:function\s+)?(?P<name>[A-Za-z_][\w-]*)\s*\(\)\s*\{", re.MULTILINE)
_QUOTED_OR_REDIRECTION = re.compile(
    r"(?P<quoted>'[^']*'|\"[^\"]*\")|(?<![\d&])\d?(?P<sign>>>?|<)\s*(?P<path>[^\s;&|<>()]+)"
)
"""A sign between quotes, as in `pip install 'numpy>2'`, redirects nothing."""
_LOCAL_SERVER = re.compile(r"\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0)\b:?\d*")
_BACKGROUND = re.compile(r"(?<![&>])&\s*(?:$|\n|disown|echo|sleep)")
_WITHOUT_DIRECTORY = frozenset({
    "cd", "echo", "export", "true", "false", "sleep", "date", "env", "printf", "which", "pip", "pip3", "unset", "set",
    "source", "alias", "exit", "kill", "wait", "jobs", "whoami", "uname", "printenv", "type", "conda", "apt-get", "apt",
    "curl", "wget", "ps", "pushd", "popd", "sudo", "test", "[", "python", "python3", "node",
})  # fmt: skip
"""Commands that do not read the working directory by themselves."""
_SCRIPT_RUNNERS = ("python", "python3", "node")
_WHOLE_KINDS: dict[str, Literal["set", "clear"]] = {"touch": "set", "mkdir": "set", "tee": "set", "rm": "clear"}
"""Commands that do the same to all of their operands."""
_OUTPUT_OPTIONS = {"curl": ("-o", "--output"), "wget": ("-O", "--output-document"), "gcc": ("-o",), "sort": ("-o",)}
"""Options whose value is a file that a command writes."""
_PYTHON_INSTALLER = re.compile(r"(?:.*/)?(?:uv|pip[\d.]*|conda|mamba)")
_SYSTEM_INSTALLERS = ("apt", "apt-get", "apk", "brew", "dnf", "yum")
"""Commands whose packages are programs."""
_EDITORS = ("sed", "perl")
_IN_PLACE = re.compile(r"-[nErszuplaw\d]*i|--in-place")
"""Options that edit files; `-M` and `-I` of Perl take a word, which may hold an `i`."""
_COPYING = frozenset({"cp", "mv", "ln"})
_JOB_COMMANDS = frozenset({"jobs", "fg", "bg", "kill", "pkill", "wait", "disown"})
_MODULE_OF = {
    "scikit-learn": "sklearn", "pillow": "PIL", "opencv-python": "cv2", "opencv-python-headless": "cv2",
    "beautifulsoup4": "bs4", "pyyaml": "yaml", "python-dateutil": "dateutil", "pycryptodome": "Crypto",
    "python-docx": "docx", "scikit-image": "skimage", "protobuf": "google", "attrs": "attr", "pymupdf": "fitz",
}  # fmt: skip
"""Modules that are named otherwise than their packages."""


class Effect(NamedTuple):
    """Something that a block does to state that is no name."""

    channel: Channel
    kind: EffectKind
    name: str


class ShellBlock(NamedTuple):
    """A shell block taken apart."""

    effects: tuple[Effect, ...]
    binds: frozenset[str]
    """Variables and functions that it leaves."""
    reads: frozenset[str]
    """Variables that it reads before it sets them, and words that may be functions."""
    programs: tuple[str, ...]
    """Python that it runs, each in a process of its own."""
    scripts: tuple[str, ...]
    """Sources of the Python files that it runs, where a here document wrote them."""


def uses_local_server(text: str) -> bool:
    """Tell whether a text names a server on the same machine."""
    return bool(_LOCAL_SERVER.search(text))


def shell_effects(code: str, known: dict[str, str] | None = None) -> ShellBlock:
    """Return a shell block's effects; unsplittable commands split at spaces.

    `known` are the sources of Python files by their paths; those that the block writes are added.
    """
    files = {} if known is None else known
    programs: list[str] = []
    plain = _without_programs(code, programs, files)
    reading = _Reading()
    for function in _FUNCTION.finditer(plain):
        reading.bound[function["name"]] = None
    for command in _SEPARATOR.split(plain):
        reading.enter(command.strip())
    if _BACKGROUND.search(plain) or "nohup " in plain:
        reading.note("processes", "set", "background process")
    ran = (_plain(found["path"]) for found in _PYTHON_SCRIPT.finditer(plain))
    scripts = tuple(files[path] for path in ran if path in files)
    return ShellBlock(
        tuple(reading.effects), frozenset(reading.bound), frozenset(reading.read), tuple(programs), scripts
    )


def _without_programs(code: str, programs: list[str], files: dict[str, str]) -> str:
    """Return a block without its quoted Python, added to `programs` or `files`."""

    def heredoc(found: re.Match[str]) -> str:
        before = code[: found.start()].rpartition("\n")[2]
        written = _WRITTEN_SCRIPT.search(before + found["rest"])
        if _PYTHON_STDIN.search(before.strip()):
            programs.append(found["body"])
        elif written:
            files[_plain(written["path"])] = found["body"]
        return found["rest"]

    def inline(found: re.Match[str]) -> str:
        quoted = found["code"]
        programs.append(quoted.replace('\\"', '"').replace("\\$", "$") if found["quote"] == '"' else quoted)
        return "python"

    return _PYTHON_INLINE.sub(inline, _HEREDOC.sub(heredoc, code))


class _Reading:
    """A shell block, read command by command."""

    def __init__(self) -> None:
        self.bound: dict[str, None] = {}
        self.read: dict[str, None] = {}
        self.effects: list[Effect] = []

    def enter(self, command: str) -> None:
        """Read one command."""
        if command.startswith("#"):
            return
        self._read_variables(command)
        self._read_redirections(command)
        words = _words(_without_redirections(command))
        assigned = list(takewhile(_ASSIGNMENT.match, words))
        words = words[len(assigned) :]
        if words:  # the assignments before it are the command's alone
            self._run(_without_sudo(words))
            return
        for word in assigned:
            self._assign(word)

    def note(self, channel: Channel, kind: EffectKind, name: str) -> None:
        """Note an effect."""
        self.effects.append(Effect(channel, kind, name))

    def _note_file(self, kind: EffectKind, path: str, *, makes_folders: bool = False) -> None:
        """Note a file, and the folder that a write needs."""
        plain = _plain(path)
        folder = plain.rpartition("/")[0]
        if kind == "set" and folder and not makes_folders:
            self.note("files", "read", folder)
        self.note("files", kind, plain)

    def _read_variables(self, command: str) -> None:
        for variable in _VARIABLE.finditer(_without_single_quotes(command)):
            if variable["name"] not in self.bound:
                self.read[variable["name"]] = None
                self.note("environment", "read", variable["name"])

    def _read_redirections(self, command: str) -> None:
        for redirection in _QUOTED_OR_REDIRECTION.finditer(command):
            if redirection["quoted"]:
                continue
            if not redirection["path"].startswith(("/dev/", "$")):
                self._note_file("read" if redirection["sign"] == "<" else "set", redirection["path"])

    def _assign(self, word: str, *, is_exported: bool = False) -> None:
        name, sign, _ = word.partition("=")
        name = name.removesuffix("+")
        if not name.isidentifier():
            return
        if sign:
            self.bound[name] = None
        if is_exported:
            self.note("environment", "set", name)

    def _run(self, words: list[str]) -> None:
        name = words[0].rpartition("/")[2]
        written = _written_by_option(name, words)
        operands = [word for word in words[1:] if not word.startswith("-") and word not in written]
        builtin = _BUILTINS.get(name)
        if builtin is not None:
            builtin(self, operands, is_export=name == "export")
            return
        if name not in self.bound:
            self.read[name] = None
        self.note("packages", "read", name)
        for path in written:
            self._note_file("set", path)
        packages = _installed(words)
        if packages:
            self._install(packages)
        else:
            self._run_program(name, operands)
        for path in _edited(name, words):
            self._note_file("set", path)

    def _install(self, packages: list[str]) -> None:
        for package in packages:
            self.note("packages", "set", package)

    def _run_program(self, name: str, operands: list[str]) -> None:
        if name == "tmux" and "".join(operands[:1]).startswith("new"):
            self.note("processes", "set", name)
        elif name in (*_JOB_COMMANDS, "tmux") or uses_local_server(" ".join(operands)):
            self.note("processes", "read", name)
        for path, kind in _paths_of(name, operands):
            self._note_file(kind, path, makes_folders=name == "mkdir")
        if _needs_directory(name, operands):
            self.note("directory", "read", "")

    def declare(self, operands: list[str], *, is_export: bool) -> None:
        """Read `export`, `declare` and the like."""
        for word in operands:
            self._assign(word, is_exported=is_export)

    def unset(self, operands: list[str], *, is_export: bool) -> None:
        """Read `unset`."""
        for word in operands:
            self.note("environment", "clear", word)

    def bind(self, operands: list[str], *, is_export: bool) -> None:
        """Read `alias`, `read` and the head of a loop."""
        self.bound.update((word.partition("=")[0], None) for word in operands[:1])

    def change_directory(self, operands: list[str], *, is_export: bool) -> None:
        """Read `cd` and `pushd`."""
        folder = operands[0] if operands else "~"
        self._note_file("read", folder)
        self.note("directory", "set", folder)

    def source(self, operands: list[str], *, is_export: bool) -> None:
        """Read `source`, which may activate a virtual environment."""
        for path in operands[:1]:
            self.note("files", "read", _plain(path))
            if path.endswith("activate"):
                self.note("environment", "set", "VIRTUAL_ENV")


class _Builtin(Protocol):
    """Reads a builtin of the shell with its operands."""

    def __call__(self, reading: _Reading, operands: list[str], /, *, is_export: bool) -> None: ...


_BUILTINS: dict[str, _Builtin] = {
    **dict.fromkeys(("export", "declare", "typeset", "readonly"), _Reading.declare),
    **dict.fromkeys(("alias", "read", "for"), _Reading.bind),
    **dict.fromkeys(("cd", "pushd"), _Reading.change_directory),
    **dict.fromkeys(("source", "."), _Reading.source),
    "unset": _Reading.unset,
}


def _without_sudo(words: list[str]) -> list[str]:
    if words[0] == "sudo" and len(words) > 1:
        return words[1:]
    return words


def _paths_of(name: str, operands: list[str]) -> list[tuple[str, EffectKind]]:
    """Return the paths among a command's operands, all possible inputs."""
    if name == "echo":
        return []
    if name == "git":
        return _paths_of_git(operands)
    if name in _WHOLE_KINDS:
        return [(path, _WHOLE_KINDS[name]) for path in operands]
    read = _local_paths(operands)
    if name not in _COPYING or len(operands) < 2:
        return [(path, "read") for path in read]
    copied: list[tuple[str, EffectKind]] = [(path, "read") for path in read[:-1]]
    return [*copied, (operands[-1], "set")]


def _paths_of_git(operands: list[str]) -> list[tuple[str, EffectKind]]:
    if operands[:1] == ["clone"]:
        return [(operands[-1].rpartition("/")[2].removesuffix(".git"), "set")]
    return [(path, "read") for path in _local_paths(operands)]


def _local_paths(operands: list[str]) -> list[str]:
    return [word for word in operands if not re.search(r"\$|://", word)]


def _needs_directory(name: str, operands: list[str]) -> bool:
    if name not in _WITHOUT_DIRECTORY:
        return True
    relative = [word for word in operands if not word.startswith(("/", "~", "http"))]
    return name in _SCRIPT_RUNNERS and any("/" in word or "." in word for word in relative)


def _written_by_option(name: str, words: list[str]) -> list[str]:
    """Return the files that a command's options tell it to write."""
    packs = name == "tar" and len(words) > 2 and {"c", "f"} <= set(words[1])
    if packs:
        return [words[2]]
    options = _OUTPUT_OPTIONS.get(name, ())
    return [value for option, value in pairwise(words) if option in options and value != "-"]


def _edited(name: str, words: list[str]) -> list[str]:
    """Return the files that `sed -i` or `perl -i` rewrites."""
    edits = name in _EDITORS and any(_IN_PLACE.match(word) for word in words[1:])
    if not edits:
        return []
    return [word for word in words[1:] if not word.startswith("-")][1:]


def _installed(words: list[str]) -> list[str]:
    """Return the modules, or programs, of the packages that a command installs."""
    if "install" not in words:
        return []
    named = [word for word in words[words.index("install") + 1 :] if not word.startswith(("-", ".", "/"))]
    if words[0] in _SYSTEM_INSTALLERS:
        return named
    if any(map(_PYTHON_INSTALLER.fullmatch, words)):
        return [_module_of(word) for word in named]
    return []


def _module_of(requirement: str) -> str:
    """Return the module of a package's requirement."""
    package = re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]
    return _MODULE_OF.get(package.lower(), package.replace("-", "_"))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command, comments=True)
    except ValueError:
        return command.split()


def _without_redirections(command: str) -> str:
    return _QUOTED_OR_REDIRECTION.sub(lambda found: found["quoted"] or " ", command)


def _without_single_quotes(command: str) -> str:
    return re.sub(r"'[^']*'", "", command)


def _plain(path: str) -> str:
    return path.strip("'\"").removeprefix("./").rstrip("/") or path
