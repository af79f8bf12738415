"""Names of a block's namespace: the user's, healing, and hashes."""

import builtins
import marshal
from _blake2 import blake2b  # hashlib would load OpenSSL into every interpreter
from typing import Any

_MODULE = type(builtins)
_BUILTIN_NAMES = frozenset(name for name in dir(builtins) if not name.startswith("__"))
_CONTAINERS = frozenset((tuple, list, dict))
_CONSTANTS = frozenset((type(None), bool, float, complex))
_TEXTS = frozenset((str, bytes))
_HASHED_TYPES = _CONTAINERS | _CONSTANTS | _TEXTS | {int}
_SMALL_PARTS = 20_000
_PARTS_LIMIT = 100_000
"""Containers and their parts: of a value that is hashed in one piece, and of one that is hashed at all."""
_SHORT_LENGTH = 1_000
_LONG_COUNT = 100
_LEAST = -(1 << 62)
_MOST = 1 << 62
_DIGIT = 1 << 30
"""Python compares smaller integers, which have one digit, at half the cost."""
_LARGE_NAMES_LIMIT = 200
NAMES_LIMIT = 100_000
"""Characters of all user names together: the host keeps them, step after step."""
_MARSHAL_WITHOUT_REFERENCES = 2


def user_values(namespace: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return the user's names with their values, sorted by name.

    The header lists no tools, dunder names or modules (arXiv 2603.01209, appendix B).
    """
    found = {}
    for name, value in list(namespace.items()):
        is_listed = type(name) is str and name not in own and not name.startswith("__") and name.isidentifier()
        if is_listed and not issubclass(type(value), _MODULE):  # `isinstance` would ask the value's own `__class__`
            found[name] = value
    values = {}
    for name in sorted(found):
        values[name] = found[name]
    return values


def heal(namespace: dict[str, Any], own: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Put tools back and drop user names that hide a builtin.

    Return the dropped names and the tools' names that the block had bound to something else, each sorted.
    """
    restored = []
    for name, value in own.items():
        if namespace.get(name) is value:
            continue
        if name in namespace and not name.startswith("__"):
            restored.append(name)
        namespace[name] = value
    hiding = sorted(_BUILTIN_NAMES.intersection(namespace).difference(own))
    for name in hiding:
        del namespace[name]
    return hiding, sorted(restored)


def drop_excess(namespace: dict[str, Any], values: dict[str, Any]) -> int:
    """Drop the last names beyond a host's limit; return their count."""
    if sum(map(len, values)) <= NAMES_LIMIT:
        return 0
    length = 0
    excess = []
    for name in values:
        length += len(name)
        if length > NAMES_LIMIT:
            excess.append(name)
    for name in excess:
        del namespace[name], values[name]
    return len(excess)


def hash_state(values: dict[str, Any]) -> str:
    """Return a digest of the values, and names of large ones.

    A value made of None, booleans, numbers, strings, bytes, tuples, lists and dicts is compared by content; what
    several places share is hashed once. Functions, objects and sets have no hash and leave the digest unchanged.
    """
    digest = blake2b(digest_size=16)
    large = []
    for name, value in values.items():
        if type(value) not in _HASHED_TYPES:
            continue
        try:
            content = marshal.dumps(
                value if _is_short(value) or _is_small(value) else _Hasher().hash(value), _MARSHAL_WITHOUT_REFERENCES
            )
        except (_TooLargeError, RecursionError):
            large.append(name)
            content = b"too large"
        except ValueError:  # something inside has no hash
            continue
        digest.update(b"%b=%b;" % (name.encode("utf-8", "surrogatepass"), content))
    note = ""
    if large:
        note = f"; too large: {', '.join(large)}"
    return f"{digest.hexdigest()}{note[:_LARGE_NAMES_LIMIT]}"


class _TooLargeError(Exception):
    pass


def _is_small(value: Any) -> bool:
    """Tell whether a value can be written out, shared parts once."""
    left = _SMALL_PARTS
    waiting = [value]
    for one in waiting:
        if type(one) not in _CONTAINERS:
            return False
        parts = one if type(one) is not dict else [*one, *one.values()]
        left -= len(parts) + 1
        if left < 0:
            return False
        if len(parts) > _LONG_COUNT and _are_numbers(parts):
            continue
        waiting += _long_parts(parts)
    return True


def _long_parts(parts: Any) -> list[Any]:
    """Return the parts that are not short.

    It is `_is_short` on a list: most steps spend their time here.
    """
    found = []
    for part in parts:
        kind = type(part)
        if kind is int:
            if (part < _DIGIT and part > -1) or _LEAST < part < _MOST:
                continue
        elif kind is str:
            if len(part) <= _SHORT_LENGTH:
                continue
        elif kind in _CONSTANTS or _is_short(part):
            continue
        found.append(part)
    return found


def _are_numbers(parts: Any) -> bool:
    """Tell whether all are floats or small integers.

    Of a long list that costs a third; integers have at most 1024 bits.
    """
    kinds = [*map(type, parts)]
    if kinds[0] not in (int, float) or kinds.count(kinds[0]) < len(kinds):
        return False
    try:
        sum(parts, 0.0)
    except OverflowError:
        return False
    return True


def _is_short(value: Any) -> bool:
    kind = type(value)
    if kind is int:
        return _LEAST < value < _MOST
    return kind not in _CONTAINERS and (kind not in _TEXTS or len(value) <= _SHORT_LENGTH)


class _Hasher:
    """Hashes one value, each of its parts once."""

    def __init__(self) -> None:
        self._hashes: dict[int, tuple[bytes]] = {}
        self._open: dict[int, int] = {}
        """Containers that are being hashed, with their depth."""
        self._left = _PARTS_LIMIT

    def hash(self, value: Any) -> Any:
        """Return a short value itself, else a tuple with its digest.

        No tuple stands for itself here.
        """
        if _is_short(value):
            return value
        place = id(value)
        if place in self._open:  # a cycle: how far up it leads tells which
            return (len(self._open) - self._open[place],)
        if place not in self._hashes:
            self._open[place] = len(self._open)
            kind = type(value)
            parts = [*value, *value.values()] if kind is dict else value
            if kind is int:
                self._left -= 1
            elif kind in _CONTAINERS:
                self._left -= len(parts)
            else:
                self._left -= len(parts) // _SHORT_LENGTH
            if self._left < 0:
                raise _TooLargeError
            if kind in _CONTAINERS:
                parts = [kind.__name__, *map(self.hash, parts)]
            content = marshal.dumps(parts, _MARSHAL_WITHOUT_REFERENCES)
            self._hashes[place] = (blake2b(content, digest_size=16).digest(),)
            del self._open[place]
        return self._hashes[place]
