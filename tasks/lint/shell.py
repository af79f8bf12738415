"""Shell blocks: the variables that they set and read, the state beyond them, and the Python that they run."""

import re
import shlex
from typing import Literal, NamedTuple

Channel = Literal["files", "environment", "directory", "packages", "processes", "figures"]

_HEREDOC = re.compile(
    r"<<-?\s*(['\"]?)(?P<word>\w+)\1(?P<rest>[^\n]*)\n(?P<body>.*?)^\s*(?P=word)\s*$", re.DOTALL | re.MULTILINE
)
_PYTHON_INLINE = re.compile(
    r"\bpython[\d.]*\s+(?:-\w+\s+)*-c\s+(?P<quote>['\"])(?P<code>.*?)(?<!\\)(?P=quote)", re.DOTALL
)
_PYTHON_STDIN = re.compile(r"\bpython[\d.]*\s*(?:-\s*)?$")
_SEPARATOR = re.compile(r"(?:&&|\|\||;|\||(?<![<>&])&(?![&>])|\n)")
_VARIABLE = re.compile(r"(?<!\\)\$\{?(?P<name>[A-Za-z_]\w*)")
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)\+?=")
_FUNCTION = re.compile(r"^\s*(?:function\s+)?(?P<name>[A-Za-z_][\w-]*)\s*\(\)\s*\{", re.MULTILINE)
_REDIRECTION = re.compile(r"(?<![\d&])\d?(?P<sign>>>?|<)\s*(?P<path>[^\s;&|<>()]+)")
_LOCAL_SERVER = re.compile(r"\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0)\b:?\d*")
_BACKGROUND = re.compile(r"(?<![&>])&\s*(?:$|\n|disown|echo|sleep)")
_WITHOUT_DIRECTORY = frozenset({
    "cd", "echo", "export", "true", "false", "sleep", "date", "env", "printf", "which", "pip", "pip3", "unset", "set",
    "source", "alias", "exit", "kill", "wait", "jobs", "whoami", "uname", "printenv", "type", "conda", "apt-get", "apt",
    "curl", "wget", "ps", "pushd", "popd", "sudo", "test", "[", "python", "python3", "node",
})  # fmt: skip
"""Commands that do not read the working directory by themselves."""
_WRITING = frozenset({"touch", "mkdir", "tee"})
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
    kind: Literal["set", "read", "clear"]
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


def uses_local_server(text: str) -> bool:
    """Tell whether a text names a server on the same machine."""
    return bool(_LOCAL_SERVER.search(text))


def shell_effects(code: str) -> ShellBlock:
    """Return what a shell block does; a command that cannot be split into words is read by its first one."""
    programs: list[str] = []
    plain = _without_programs(code, programs)
    bound: dict[str, None] = {}
    read: dict[str, None] = {}
    effects: list[Effect] = []
    for function in _FUNCTION.finditer(plain):
        bound[function["name"]] = None
    for command in _SEPARATOR.split(plain):
        _read_command(command.strip(), bound, read, effects)
    if _BACKGROUND.search(plain) or "nohup " in plain:
        effects.append(Effect("processes", "set", "background process"))
    return ShellBlock(tuple(effects), frozenset(bound), frozenset(read), tuple(programs))


def _without_programs(code: str, programs: list[str]) -> str:
    """Return a block without the texts in it; Python that is run from them is added to `programs`."""

    def heredoc(found: re.Match[str]) -> str:
        before = code[: found.start()].rpartition("\n")[2]
        if _PYTHON_STDIN.search(before.strip()):
            programs.append(found["body"])
        return found["rest"]

    def inline(found: re.Match[str]) -> str:
        quoted = found["code"]
        programs.append(quoted.replace('\\"', '"').replace("\\$", "$") if found["quote"] == '"' else quoted)
        return "python"

    return _PYTHON_INLINE.sub(inline, _HEREDOC.sub(heredoc, code))


def _read_command(command: str, bound: dict[str, None], read: dict[str, None], effects: list[Effect]) -> None:
    if not command or command.startswith("#"):
        return
    for variable in _VARIABLE.finditer(_without_single_quotes(command)):
        if variable["name"] not in bound:
            read[variable["name"]] = None
            effects.append(Effect("environment", "read", variable["name"]))
    for redirection in _REDIRECTION.finditer(command):
        if not redirection["path"].startswith(("/dev/", "&", "$", "(")):
            kind = "read" if redirection["sign"] == "<" else "set"
            effects.append(Effect("files", kind, _plain(redirection["path"])))
    words = _words(_REDIRECTION.sub(" ", command))
    while words and _ASSIGNMENT.match(words[0]):
        _assign(words.pop(0), bound, effects, is_exported=False, is_for_command=len(words) > 0)
    if words:
        _run(words, bound, read, effects)


def _run(words: list[str], bound: dict[str, None], read: dict[str, None], effects: list[Effect]) -> None:
    name = words[0].rpartition("/")[2]
    rest = [word for word in words[1:] if not word.startswith("-")]
    match name:
        case "export" | "declare" | "typeset" | "readonly":
            for word in rest:
                _assign(word, bound, effects, is_exported=name == "export", is_for_command=False)
        case "unset":
            effects.extend(Effect("environment", "clear", word) for word in rest)
        case "alias":
            bound.update((word.partition("=")[0], None) for word in rest)
        case "read" | "for" if rest:
            bound[rest[0]] = None
        case "cd" | "pushd":
            effects.append(Effect("directory", "set", rest[0] if rest else "~"))
        case "source" | "." if rest:
            effects.append(Effect("files", "read", _plain(rest[0])))
            if rest[0].endswith("activate"):
                effects.append(Effect("environment", "set", "VIRTUAL_ENV"))
        case "conda" | "mamba" if rest[:1] == ["activate"]:
            effects.append(Effect("environment", "set", "CONDA_PREFIX"))
        case _:
            if name not in bound:
                read[name] = None
            _run_program(name, rest, words, effects)


def _run_program(name: str, rest: list[str], words: list[str], effects: list[Effect]) -> None:
    packages = _installed(words)
    if packages:
        effects.extend(Effect("packages", "set", package) for package in packages)
        return
    if name in _JOB_COMMANDS or uses_local_server(" ".join(rest)):
        effects.append(Effect("processes", "read", name))
    if name in _COPYING and len(rest) > 1:
        effects.extend(Effect("files", "read", _plain(path)) for path in rest[:-1])
        effects.append(Effect("files", "set", _plain(rest[-1])))
    elif name in _WRITING:
        effects.extend(Effect("files", "set", _plain(path)) for path in rest)
    elif name == "rm":
        effects.extend(Effect("files", "clear", _plain(path)) for path in rest)
    elif name != "echo":
        effects.extend(Effect("files", "read", _plain(word)) for word in rest if "$" not in word and "://" not in word)
    has_relative_path = any("/" in word or "." in word for word in rest if not word.startswith(("/", "~", "http")))
    if name not in _WITHOUT_DIRECTORY or (name in ("python", "python3", "node") and has_relative_path):
        effects.append(Effect("directory", "read", ""))


def _assign(
    word: str, bound: dict[str, None], effects: list[Effect], *, is_exported: bool, is_for_command: bool
) -> None:
    found = _ASSIGNMENT.match(word)
    name = found["name"] if found else word
    if is_for_command or not name.isidentifier():
        return
    if found:
        bound[name] = None
    if is_exported:
        effects.append(Effect("environment", "set", name))


def _installed(words: list[str]) -> list[str]:
    """Return the modules of the packages that a command installs."""
    if "install" not in words or not any(re.fullmatch(r"(?:.*/)?(?:uv|pip[\d.]*|conda|mamba)", word) for word in words):
        return []
    named = [word for word in words[words.index("install") + 1 :] if not word.startswith(("-", ".", "/"))]
    plain = [re.split(r"[\[<>=!~; ]", word, maxsplit=1)[0] for word in named]
    return [_MODULE_OF.get(package.lower(), package.replace("-", "_")) for package in plain if package]


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command, comments=True)
    except ValueError:
        return command.split()


def _without_single_quotes(command: str) -> str:
    return re.sub(r"'[^']*'", "", command)


def _plain(path: str) -> str:
    return path.strip("'\"").removeprefix("./").rstrip("/") or path
