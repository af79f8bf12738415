"""Values as plain data: JSON nodes, then large contents. No pickle.

A blob is the length of its head (8 bytes), the head, and the contents of the nodes in order, each aligned. The head is
the JSON text of `[part, nodes]`. A node is `[tag, parts]`, or `[tag, parts, size]` for one with a content of that many
bytes. A part is None, a boolean, a number, a text, or `[n]` for the value of node n. So aliased and cyclic values keep
their shape, at any depth. `plain.CODECS` and `frames.CODECS` say which types travel and how.
"""

import functools
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from json.decoder import JSONDecoder
from json.encoder import c_make_encoder, encode_basestring_ascii  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from . import frames, plain, science, standard
from .portable import Codec, Content, MissingTypeError, NotPortableError, Reference

_CODECS: dict[str, Codec] = {
    **plain.CODECS,
    **standard.CODECS,
    **frames.CODECS,
    **science.CODECS,
    **frames.PICTURES,
}
LIBRARIES = (*frames.LIBRARIES, *science.LIBRARIES)
"""Packages that codecs use, by the first word of their tags."""
_ALIGNMENT = 64
_LENGTH_BYTES = 8
_TEXT_LIMIT = 1 << 16
"""Characters of a text in the head; a longer one is a content."""
_INT_LIMIT = 1 << 63
_CONSTANTS = frozenset((type(None), bool, float))
_chunks = c_make_encoder(None, repr, encode_basestring_ascii, None, ":", ",", False, False, True)
_scan = JSONDecoder().scan_once  # type: ignore[attr-defined]


class Encoded(NamedTuple):
    """A value on its way out."""

    head: bytes
    contents: list[Content]
    libraries: tuple[str, ...]
    """Packages that decoding it takes."""

    @property
    def size(self) -> int:
        """Bytes of the blob."""
        return self._places()[-1]

    def write(self, target: memoryview) -> None:
        """Write the blob into memory of its size."""
        end = _LENGTH_BYTES + len(self.head)
        target[:_LENGTH_BYTES] = len(self.head).to_bytes(_LENGTH_BYTES, "little")
        target[_LENGTH_BYTES:end] = self.head
        for content, start in zip(self.contents, self._places(), strict=False):
            content.write(target[start : start + content.size])

    def _places(self) -> list[int]:
        places = [_aligned(_LENGTH_BYTES + len(self.head))]
        for content in self.contents:
            places.append(_aligned(places[-1] + content.size))
        return places


Refer = Callable[[Any], list[Any] | None]
"""Returns what stands for a value that stays with the writer; None for one that travels."""


def encode(value: Any, types: Mapping[str, type] | None = None, refer: Refer | None = None) -> Encoded:
    """Return a value in the form that travels, or raise `NotPortableError`.

    `types` are the classes that the reader knows, by name; `None` stands for a reader that takes others as records.
    """
    queue = _Queue()
    nodes: list[list[Any]] = []
    contents: list[Content] = []
    root = queue.refer(value)
    for one in queue.values:  # grows meanwhile: each node refers to its parts
        standing = None if refer is None else refer(one)
        if standing is None:
            tag = _tag(type(one))
            _check_known(tag, type(one), types)
            parts, content = _split(tag, one)
        else:
            tag = "class.reference"
            parts = standing
            content = ()
        contents += content
        if not _CONSTANTS.issuperset(map(type, parts)):
            parts = [queue.refer(part) for part in parts]
        if tag in frames.PICTURES:
            tag = "builtins.bytes"
        nodes.append([tag, parts, *(each.size for each in content)])
    packages = {tag.partition(".")[0] for tag, *_ in nodes}
    libraries = sorted(packages.intersection(LIBRARIES))
    return Encoded("".join(_chunks([root, nodes], 0)).encode(), contents, tuple(libraries))


class _Queue:
    """Values to encode, each once, numbered as their nodes."""

    def __init__(self) -> None:
        self.values: list[Any] = []  # holds temporary parts too: a freed one's id could name another value
        self._places: dict[int, int] = {}

    def refer(self, part: Any) -> Any:
        """Return a constant, or `[place]` for a queued value."""
        kind = type(part)
        if kind in _CONSTANTS or (kind is int and -_INT_LIMIT <= part < _INT_LIMIT):
            return part
        if kind is str and len(part) <= _TEXT_LIMIT:
            return part
        place = self._places.setdefault(id(part), len(self.values))
        if place == len(self.values):
            self.values.append(part)
        return [place]


def _check_known(tag: str, kind: type, types: Mapping[str, type] | None) -> None:
    """Raise `MissingTypeError` for a class that the reader lacks."""
    if types is not None and tag in plain.CLASSES and types.get(kind.__name__) is not kind:
        raise MissingTypeError(kind)


def _split(tag: str, value: Any) -> tuple[list[Any], tuple[Content, ...]]:
    """Return a value's parts, and its content where it has one."""
    try:
        split = _CODECS[tag].split(value)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, OSError) as error:
        raise NotPortableError(f"a value of type {type(value).__name__} does not travel: {error}") from error
    if type(split) is tuple:
        parts, *content = split
        return parts, tuple(content)
    return split, ()


def is_data(kind: type, types: Mapping[str, type]) -> bool:
    """Tell whether a type's values are data, rather than live objects.

    The reader knows these classes.
    """
    try:
        tag = _tag(kind)
    except NotPortableError:
        return False
    if tag not in plain.CLASSES:
        return True
    is_declared = tag != "class.record" or plain.declares_data(kind)
    return is_declared and types.get(kind.__name__) is kind


def decode(
    blob: memoryview,
    types: Mapping[str, type],
    *,
    makes_records: bool = True,
    libraries: Iterable[str] = LIBRARIES,
    refer: Callable[..., Any] | None = None,
) -> Any:
    """Return a blob's value; arrays and frames are views.

    Instances of classes that are not among the `types`, by name, become a `plain.Record` each if `makes_records`.
    `refer` returns the object that a reference stands for, from its handle and what else the writer said of it.

    Raises:
        NotPortableError: The blob is malformed, needs other `libraries`, or holds an instance of an unknown class.
        MemoryError: It takes more memory than there is.
    """
    try:
        root, nodes, end = _head(blob)
        return _Builder(_cut(nodes, blob, end), types, makes_records, frozenset(libraries), refer, {}).build(root)
    except (NotPortableError, MemoryError):
        raise
    except Exception as error:  # the writer is not trusted, and libraries raise what they like
        raise NotPortableError(f"malformed data: {type(error).__name__}: {error!s:.500}") from error


def is_harmless(blob: memoryview) -> bool:
    """Tell whether decoding stays in proportion to the blob.

    Hashing a tuple takes a step for each path through it, so of shared tuples a few make any number.
    """
    try:
        _, nodes, _ = _head(blob)
        references = []
        for tag, parts, *_ in nodes:
            if tag not in plain.CODECS:
                return False
            references += [part[0] for part in parts if type(part) is list]
        return len(set(references)) == len(references)
    except Exception:  # noqa: BLE001 - the writer is not trusted; `decode` will say what is wrong
        return False


def _head(blob: memoryview) -> tuple[Any, list[Any], int]:
    end = _LENGTH_BYTES + int.from_bytes(blob[:_LENGTH_BYTES], "little")
    (root, nodes), _ = _scan(str(blob[_LENGTH_BYTES:end], "ascii"), 0)
    return root, nodes, end


class _Node(NamedTuple):
    codec: Codec
    tag: str
    parts: list[Any]
    contents: list[memoryview]


def _cut(nodes: list[Any], blob: memoryview, end: int) -> dict[int, _Node]:
    """Return the nodes by number, with the contents that follow the head."""
    start = _aligned(end)
    cut = {}
    for place, (tag, parts, *sizes) in enumerate(nodes):
        contents = []
        for size in sizes:
            if type(size) is not int or not 0 <= size <= len(blob) - start:
                raise ValueError(f"a content of {size!r:.100} bytes")
            contents.append(blob[start : start + size])
            start = _aligned(start + size)
        if tag in frames.PICTURES:  # a picture is sent as bytes
            raise ValueError(f"no value has the tag {tag}")
        cut[place] = _Node(_CODECS[tag], tag, parts, contents)
    return cut


def _places_in(parts: list[Any]) -> list[int]:
    """Return the places of the nodes that parts refer to."""
    return [part[0] for part in parts if type(part) is list]


class _Builder(NamedTuple):
    """Makes the values of nodes, each after its parts.

    A list or another mutable value is made empty when it is first met and filled once its parts are there, so that
    a cycle through it closes.
    """

    nodes: dict[int, _Node]
    types: Mapping[str, type]
    makes_records: bool
    libraries: frozenset[str]
    refer: Callable[..., Any] | None
    built: dict[int, Any]

    def build(self, root: Any) -> Any:
        """Return the value of a part."""
        opened: set[int] = set()
        done: set[int] = set()
        late: list[int] = []
        waiting = _places_in([root])
        while waiting:
            place = waiting[-1]
            if place not in opened:
                opened.add(place)
                ahead = [each for each in self._open(place) if each not in opened]
                if ahead:
                    waiting += ahead
                    continue
            waiting.pop()
            if place in done:
                continue
            done.add(place)
            if not self._finish(place):
                late.append(place)
        for place in late:
            self._fill(place)
        return self._values([root])[0]

    def _open(self, place: int) -> list[int]:
        """Make a mutable value, still empty; return its parts' places."""
        node = self.nodes[place]
        if node.codec.fill is not None:
            self.built[place] = node.codec.make(self._kind(node), *node.parts)
        return _places_in(node.parts)

    def _finish(self, place: int) -> bool:
        """Make or fill a value; False if a part is missing.

        Such a part is an immutable value in a cycle with the mutable one, which it needs first.
        """
        node = self.nodes[place]
        if node.codec.fill is None:
            self.built[place] = node.codec.make(self._kind(node), *self._values(node.parts), *node.contents)
            return True
        if not self.built.keys() >= set(_places_in(node.parts)):
            return False
        self._fill(place)
        return True

    def _fill(self, place: int) -> None:
        node = self.nodes[place]
        assert node.codec.fill is not None
        node.codec.fill(self.built[place], self._values(node.parts))

    def _values(self, parts: list[Any]) -> list[Any]:
        built = self.built
        return [built[part[0]] if type(part) is list else part for part in parts]

    def _kind(self, node: _Node) -> Any:
        """Return the type of a node's value, or another named object."""
        if node.tag in plain.CLASSES:
            name = node.parts[0]
            known = self.types.get(name)
            if known is not None and plain.CLASSES[node.tag](known, node.parts):
                return known
            if not self.makes_records:
                raise NotPortableError(f"an instance of {name} needs its type first: inject {name}")
            return plain.Record
        if node.tag == "class.reference":
            if self.refer is None:
                raise NotPortableError("a reference to an object of the host's cannot be read here")
            return self.refer
        module = node.tag.rpartition(".")[0]
        library = module.partition(".")[0]
        if library in LIBRARIES and library not in self.libraries:
            raise ValueError(f"{library} was not announced")
        return _resolve(node.tag)


@functools.cache
def _resolve(tag: str) -> Any:
    module, _, name = tag.rpartition(".")
    return getattr(importlib.import_module(module), name)


@functools.cache
def _tag(kind: type) -> str:
    """Return the tag of a type, or raise `NotPortableError`."""
    tag = _exact(kind) or _family(kind)
    if tag is not None:
        return tag
    bases = [base.__name__ for base in kind.__mro__ if base in plain.BASES or _exact(base)]
    way_out = standard.hint(kind)
    if bases:
        way_out = f"convert it to {bases[0]} first"
    raise NotPortableError(f"a value of type {kind.__name__} does not travel; {way_out}")


def _family(kind: type) -> str | None:
    """Return the tag that a type shares, or None."""
    if issubclass(kind, Reference):
        return "class.reference"
    for codecs in (plain, standard, science, frames):
        tag = codecs.family(kind)
        if tag is not None:
            return tag
    return None


def _exact(kind: type) -> str | None:
    for tag in _CODECS:
        module, _, name = tag.rpartition(".")
        if getattr(sys.modules.get(module), name, None) is kind:  # a module that is not loaded has no values
            return tag
    return None


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
