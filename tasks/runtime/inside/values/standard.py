"""Codecs of the standard library: exceptions, buffers, patterns, addresses, views."""

import builtins
import importlib
from itertools import chain, product
from typing import Any

from .instances import is_users
from .portable import Codec, NotPortableError, raw

_CONSTANTS = (Ellipsis, NotImplemented)


def _split_exception(error: BaseException) -> list[Any]:
    """Return an exception's arguments and attributes, without traceback and causes."""
    reduced: Any = error.__reduce__()
    arguments = reduced[1]
    attributes = reduced[2] if len(reduced) > 2 else None
    return [list(arguments), dict(attributes or {})]


def _make_exception(kind: Any, arguments: list[Any], attributes: dict[str, Any]) -> Any:
    error = kind(*arguments)
    BaseException.__setstate__(error, attributes)
    return error


def _split_bytes_io(buffer: Any) -> Any:
    _, content = raw(buffer.getvalue())
    return [buffer.tell()], content


def _make_bytes_io(kind: Any, position: int, content: memoryview) -> Any:
    buffer = kind(content)
    buffer.seek(position)
    return buffer


def _make_string_io(kind: Any, text: str, position: int) -> Any:
    buffer = kind(text)
    buffer.seek(position)
    return buffer


def _split_array(array: Any) -> Any:
    _, content = raw(array.tobytes())
    return [array.typecode], content


def _make_array(kind: Any, code: str, content: memoryview) -> Any:
    array = kind(code)
    array.frombytes(content)
    return array


def _split_type(kind: type) -> list[Any]:
    """Return the name of one of Python's own types, such as `int`."""
    if getattr(builtins, kind.__name__, None) is not kind:
        raise NotPortableError(f"the class {kind.__name__} does not travel; inject it under its own name")
    return [kind.__name__]


def _make_type(_kind: Any, name: str) -> type:
    found = getattr(builtins, name, None)
    if not isinstance(found, type):
        raise ValueError(f"no type {name!r:.100}")
    return found


_EXCEPTION = Codec(_split_exception, _make_exception)
_TEXT = Codec(lambda value: [str(value)])
_ADDRESSES = [f"IPv{version}{kind}" for version, kind in product((4, 6), ("Address", "Network", "Interface"))]

CODECS: dict[str, Codec] = {
    **{
        f"builtins.{name}": _EXCEPTION
        for name, kind in vars(builtins).items()
        if isinstance(kind, type) and issubclass(kind, BaseException) and kind.__name__ == name
    },
    **{f"builtins.{value!r}": Codec(lambda _value: [], lambda kind: kind) for value in _CONSTANTS},
    "builtins.type": Codec(_split_type, _make_type),
    "io.BytesIO": Codec(_split_bytes_io, _make_bytes_io),
    "io.StringIO": Codec(lambda buffer: [buffer.getvalue(), buffer.tell()], _make_string_io),
    "array.array": Codec(_split_array, _make_array),
    "re.Pattern": Codec(
        lambda pattern: [pattern.pattern, int(pattern.flags)],
        lambda _kind, text, flags: importlib.import_module("re").compile(text, flags),
    ),
    "types.SimpleNamespace": Codec(
        lambda value: [*chain.from_iterable(vars(value).items())],
        lambda kind, *_parts: kind(),
        lambda target, parts: vars(target).update(zip(parts[::2], parts[1::2], strict=True)),
    ),
    "types.MappingProxyType": Codec(lambda proxy: [dict(proxy)]),
    "collections.ChainMap": Codec(lambda value: list(value.maps)),
    **{f"collections.{name}": Codec(lambda value: [value.data]) for name in ("UserDict", "UserList", "UserString")},
    **{f"ipaddress.{name}": _TEXT for name in _ADDRESSES},
}

_LIST = "send list(...) of it"
_MAKE = "make one where it is used"
_NAME = "inject it under a name"
_AGGREGATE = "aggregate it first"
_STAY = 'inject it by="reference"'
HINTS = {
    **dict.fromkeys(("dict_items", "dict_keys", "dict_values", "filter", "generator", "map", "zip"), _LIST),
    **dict.fromkeys(("enumerate", "reversed", "ndindex", "count", "chain", "islice", "product"), _LIST),
    **dict.fromkeys(("lock", "RLock", "Condition", "Event", "Semaphore", "BoundedSemaphore", "Barrier"), _MAKE),
    **dict.fromkeys(("ThreadPoolExecutor", "ProcessPoolExecutor", "ContextVar", "local"), _MAKE),
    **dict.fromkeys(("builtin_function_or_method", "method", "partial"), _NAME),
    **dict.fromkeys(("itemgetter", "attrgetter", "methodcaller", "TypeVar"), "define it where it is used"),
    **dict.fromkeys(("DataFrameGroupBy", "SeriesGroupBy", "GroupBy", "DynamicGroupBy"), _AGGREGATE),
    **dict.fromkeys(("Rolling", "Expanding", "ExponentialMovingWindow", "DatetimeIndexResampler"), _AGGREGATE),
    **dict.fromkeys(("TextIOWrapper", "BufferedReader", "BufferedRandom"), f"send what it reads, or {_STAY}"),
    **dict.fromkeys(("BufferedWriter", "FileIO"), f"send the file's path, or {_STAY}"),
    **dict.fromkeys(("ReferenceType", "ProxyType", "weakref", "KeyedRef"), "send the object that it refers to"),
    **dict.fromkeys(("WeakValueDictionary", "WeakKeyDictionary"), "send dict(...) of it"),
    **dict.fromkeys(
        ("GenericAlias", "Union", "UnionType", "_GenericAlias", "_UnionGenericAlias"), "write it where it is used"
    ),
    **dict.fromkeys(("Queue", "LifoQueue", "PriorityQueue", "SimpleQueue"), "send a list of what it holds"),
    **dict.fromkeys(("Future", "Task"), "send its result"),
    **dict.fromkeys(("Generator", "RandomState"), "send its seed"),
    "Schema": "send an empty table with it",
    "WeakSet": "send set(...) of it",
    "memoryview": "send bytes(...) of it",
    "function": "define it where it is used, or inject it",
    "module": "import it where it is used",
    "Match": "send match.groups() or match.groupdict()",
    "Random": "send random.getstate()",
    "Polynomial": "send polynomial.coef",
    "Styler": "send styler.data, or styler.to_html()",
    "Axes": "send its figure",
    "DataType": "send str(...) of it",
    "Expr": "write it where it is used, or send its result",
    "Thread": "send what it computes",
    "coroutine": "await it first",
    "async_generator": "send a list of what it yields",
    "Logger": "call logging.getLogger where it is used",
    "Template": "send template.template",
    "Namespace": "send vars(...) of it",
    "EmailMessage": "send message.as_string()",
    "Signature": "send str(...) of it",
    "ConfigParser": "send a dict of its sections",
    "socket": _STAY,
    "Connection": _STAY,
    "Cursor": f"send cursor.fetchall(), or {_STAY}",
}
"""What to send instead of a value, by the name of its type."""


def family(kind: type) -> str | None:
    """Return the tag of the type of a constant."""
    for value in _CONSTANTS:
        if kind is type(value):
            return f"builtins.{value!r}"
    return None


def is_live(kind: type) -> bool:
    """Tell whether a library's values go in by reference alone."""
    return hint(kind) == _STAY


def hint(kind: type) -> str:
    """Return the way out for a type whose values do not travel."""
    if kind.__name__ in HINTS and not is_users(kind):
        return HINTS[kind.__name__]
    if kind.__name__.endswith("iterator"):
        return "send list(...) of it"
    return 'send plain data, arrays, frames or instances of data classes, or inject it by="reference"'
