"""The names of a block's namespace: which are the user's, what heals after a block, and a hash over the values."""

import builtins
import marshal
from _blake2 import blake2b  # hashlib would load OpenSSL into every interpreter
from typing import Any

_MODULE = type(builtins)
_BUILTIN_NAMES = frozenset(name for name in dir(builtins) if not name.startswith("__"))
_HASHED_TYPES = frozenset((type(None), bool, int, float, complex, str, bytes, tuple, list, dict))
_HASHED_LENGTHS = {list: 10_000, tuple: 10_000, dict: 10_000, str: 1_000_000, bytes: 1_000_000}
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


def heal(namespace: dict[str, Any], own: dict[str, Any]) -> list[str]:
    """Put tools back, drop user names that hide a builtin, and return the dropped names, sorted."""
    for name, value in own.items():
        if namespace.get(name) is not value:
            namespace[name] = value
    hiding = sorted(_BUILTIN_NAMES.intersection(namespace).difference(own))
    for name in hiding:
        del namespace[name]
    return hiding


def drop_excess(namespace: dict[str, Any], values: dict[str, Any]) -> int:
    """Drop, from the namespace and from its user values, the last names beyond what a host keeps; tell how many."""
    if sum(map(len, values)) <= NAMES_LIMIT:
        return 0
    length, excess = 0, []
    for name in values:
        length += len(name)
        if length > NAMES_LIMIT:
            excess.append(name)
    for name in excess:
        del namespace[name], values[name]
    return len(excess)


def hash_state(values: dict[str, Any]) -> str:
    """Return a digest over the names whose values have one: plain data, compared by content.

    A value made of None, booleans, numbers, strings, bytes, tuples, lists and dicts has a hash; functions, objects,
    sets and containers of more than 10,000 entries have none and leave the digest unchanged.
    """
    digest = blake2b(digest_size=16)
    for name, value in values.items():
        kind = type(value)
        if kind not in _HASHED_TYPES or (kind in _HASHED_LENGTHS and len(value) > _HASHED_LENGTHS[kind]):
            continue
        try:
            content = marshal.dumps(value, _MARSHAL_WITHOUT_REFERENCES)
        except ValueError:
            continue
        digest.update(b"%b=%b;" % (name.encode(), content))
    return digest.hexdigest()
