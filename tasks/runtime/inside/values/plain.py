"""Codecs of Python's own types, and of the instances of classes."""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from .instances import is_ordinary, is_users, state_of, write_state
from .portable import Codec, NotPortableError, raw

_FACTORIES: dict[str | None, Any] = {
    None: None,
    **{kind.__name__: kind for kind in (list, dict, set, tuple, int, float, str, bool)},
}
_EQUAL_HASHES_LIMIT = 64
"""Members of a set, or keys, that may share a hash: each is compared with all before it."""
_PYDANTIC_STATE = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
BASES = (bool, int, float, str, bytes, bytearray, dict, list, tuple, set, frozenset)
"""Types to which a value of an unknown subclass can be converted."""


class Record(NamedTuple):
    """An instance of a class that the reader does not know."""

    type_name: str
    fields: dict[str, Any]

    def __hash__(self) -> int:
        return hash((self.type_name, *self.fields.values()))


def _flat(pairs: Iterable[tuple[Any, Any]]) -> list[Any]:
    return list(chain.from_iterable(pairs))


def _split_members(value: Any) -> list[Any]:
    """Return a set's members or a dict's alternating keys and values.

    Of NaNs only one: they are equal on arrival.
    """
    is_dict = isinstance(value, dict)
    if sum(map(math.isnan, (member for member in value if type(member) is float))) > 1:
        what = "a dict" if is_dict else "a set"
        raise NotPortableError(f"{what} with two NaNs does not travel, as they are equal on arrival; use a list")
    if is_dict:
        return _flat(value.items())
    return list(value)


def _fill_dict(target: Any, parts: list[Any]) -> None:
    keys = parts[::2]
    _check_hashes(keys)
    for key, value in zip(keys, parts[1::2], strict=True):
        target[key] = value
    _check_count(target, len(keys))


def _fill_set(target: set[Any], parts: list[Any]) -> None:
    _check_hashes(parts)
    target.update(parts)
    _check_count(target, len(parts))


def _make_frozenset(kind: Any, *parts: Any) -> Any:
    _check_hashes(parts)
    members = kind(parts)
    _check_count(members, len(parts))
    return members


def _check_hashes(members: Sequence[Any]) -> None:
    """Refuse members that were made to collide.

    Inserting them takes the square of their number.
    """
    if members and max(Counter(map(hash, members)).values()) > _EQUAL_HASHES_LIMIT:
        what = f"a set or a dict of {len(members)}"
        raise NotPortableError(f"{what} does not travel in which more than {_EQUAL_HASHES_LIMIT} share a hash")


def _check_count(members: Any, count: int) -> None:
    """Refuse a set or dict that has lost a member.

    NaNs, and instances that differ by identity alone, may merge.
    """
    if len(members) != count:
        kind = "a set whose members" if isinstance(members, (set, frozenset)) else "a dict whose keys"
        raise NotPortableError(f"{kind} are equal on arrival does not travel; use a list")


def _split_defaultdict(value: Any) -> list[Any]:
    factory = value.default_factory
    name = next((name for name, known in _FACTORIES.items() if known is factory), "")
    if name == "":
        raise NotPortableError(f"a defaultdict of {factory!r:.100} does not travel; convert it to dict first")
    return [name, *_split_members(value)]


def _split_zone(value: Any) -> list[Any]:
    offset = value.utcoffset(None)
    name = value.tzname(None)
    if name == type(value)(offset).tzname(None):
        return [offset]
    return [offset, name]


def _split_zone_info(value: Any) -> list[Any]:
    if value.key is None:
        raise NotPortableError("a ZoneInfo without a key does not travel; use ZoneInfo(key) or a fixed offset")
    return [value.key]


def _split_record(value: Any) -> list[Any]:
    """Return an instance's class name and state, without its code."""
    kind = type(value)
    if _is_model(kind):
        state = {name: object.__getattribute__(value, name) for name in _PYDANTIC_STATE}
    else:
        state = state_of(value)
    return [kind.__name__, *_flat(state.items())]


def _fits_record(kind: type, parts: list[Any]) -> bool:
    """Tell whether parts are a class's state, by required names."""
    names = parts[1::2]
    if _is_model(kind):
        return names == list(_PYDANTIC_STATE)
    if not is_ordinary(kind) or not all(map(_is_attribute, names)) or len(set(names)) != len(names):
        return False
    fields = kind.__dict__.get("__dataclass_fields__", {})
    required = {name for name, field in fields.items() if field._field_type.name == "_FIELD"}
    return required <= set(names)


def _is_attribute(name: Any) -> bool:
    """Tell whether a block may use an attribute name.

    Special names are Python's.
    """
    return type(name) is str and not (name.startswith("__") and name.endswith("__"))


def _is_model(kind: type) -> bool:
    return "__pydantic_fields__" in kind.__dict__


def _fill_record(target: Any, parts: list[Any]) -> None:
    state = dict(zip(parts[1::2], parts[2::2], strict=True))
    if type(target) is Record:
        target.fields.update(state.get("__dict__", state))
    elif _is_model(type(target)):
        for name, value in state.items():
            if value is not None or not _is_none_in_class(type(target), name):
                object.__setattr__(target, name, value)
    else:
        write_state(target, state)


def _is_none_in_class(kind: type, name: str) -> bool:
    """Tell whether a class itself holds None, as root models do for what they have not."""
    owner = next((base for base in kind.__mro__ if name in base.__dict__), object)
    return owner.__dict__.get(name, name) is None


def _split_named_tuple(value: Any) -> list[Any]:
    """Return a named tuple's class name and fields, without its code."""
    kind = type(value)
    if state_of(value):
        raise NotPortableError(f"a {kind.__name__} with attributes beside its fields does not travel; make them fields")
    return [kind.__name__, *_flat(zip(kind._fields, tuple.__iter__(value), strict=True))]


def _make_named_tuple(kind: type, name: str, *parts: Any) -> Any:
    fields = dict(zip(parts[::2], parts[1::2], strict=True))
    if kind is Record:
        return Record(name, fields)
    return tuple.__new__(kind, fields.values())


def _split_member(value: Any) -> list[Any]:
    name = None
    if value._name_ in type(value).__members__:
        name = value._name_
    return [type(value).__name__, name, value._value_]


def _make_member(kind: Any, type_name: str, name: str | None, value: Any) -> Any:
    if kind is Record:
        return Record(type_name, {"name": name, "value": value})
    if name is None:
        return kind(value)
    return kind[name]


def _split_exception(error: BaseException) -> list[Any]:
    """Return a user's exception: class name, arguments and attributes."""
    return [type(error).__name__, list(error.args), dict(_attributes_of(error))]


def _attributes_of(error: BaseException) -> dict[str, Any]:
    return BaseException.__dict__["__dict__"].__get__(error)


def _make_exception(kind: Any, type_name: str, arguments: list[Any], attributes: dict[str, Any]) -> Any:
    if kind is Record:
        return Record(type_name, {"args": tuple(arguments), **attributes})
    own = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    error = own.__new__(kind, *arguments)
    BaseException.__setstate__(error, attributes)
    return error


_MAPPING = Codec(_split_members, lambda kind, *_parts: kind(), _fill_dict)
_ZONED = Codec(
    lambda value: [value.replace(tzinfo=None, fold=0).isoformat(), value.tzinfo, value.fold],
    lambda kind, text, zone, fold: kind.fromisoformat(text).replace(tzinfo=zone, fold=fold),
)

CODECS: dict[str, Codec] = {
    "builtins.int": Codec(lambda value: [hex(value)], lambda kind, text: kind(text, 16)),
    "builtins.str": Codec(
        lambda value: raw(value.encode("utf-8", "surrogatepass")),
        lambda kind, content: kind(content, "utf-8", "surrogatepass"),
    ),
    "builtins.bytes": Codec(raw, lambda kind, content: kind(memoryview(content))),
    "builtins.bytearray": Codec(raw, lambda kind, content: kind(memoryview(content))),
    "builtins.complex": Codec(lambda value: [value.real, value.imag]),
    "builtins.range": Codec(lambda value: [value.start, value.stop, value.step]),
    "builtins.slice": Codec(lambda value: [value.start, value.stop, value.step]),
    "builtins.list": Codec(lambda value: value, lambda kind, *_parts: kind(), list.extend),
    "builtins.tuple": Codec(list, lambda kind, *parts: kind(parts)),
    "builtins.set": Codec(_split_members, lambda kind, *_parts: kind(), _fill_set),
    "builtins.frozenset": Codec(_split_members, _make_frozenset),
    **dict.fromkeys(("builtins.dict", "collections.OrderedDict", "collections.Counter"), _MAPPING),
    "collections.defaultdict": Codec(
        _split_defaultdict,
        lambda kind, factory, *_parts: kind(_FACTORIES[factory]),
        lambda target, parts: _fill_dict(target, parts[1:]),
    ),
    "collections.deque": Codec(lambda value: [value.maxlen, *value], lambda kind, limit, *parts: kind(parts, limit)),
    "decimal.Decimal": Codec(lambda value: [str(value)]),
    "fractions.Fraction": Codec(
        lambda value: [value.numerator, value.denominator], lambda kind, *parts: kind(*map(int.__index__, parts))
    ),
    "datetime.date": Codec(lambda value: [value.isoformat()], lambda kind, text: kind.fromisoformat(text)),
    "datetime.datetime": _ZONED,
    "datetime.time": _ZONED,
    "datetime.timedelta": Codec(lambda value: [value.days, value.seconds, value.microseconds]),
    "datetime.timezone": Codec(_split_zone),
    "zoneinfo.ZoneInfo": Codec(_split_zone_info),
    "uuid.UUID": Codec(lambda value: [value.hex]),
    **{
        f"pathlib.{name}": Codec(lambda value: [str(value)])
        for name in ("PosixPath", "PurePosixPath", "PureWindowsPath")
    },
    "class.record": Codec(
        _split_record,
        lambda kind, name, *_parts: Record(name, {}) if kind is Record else object.__new__(kind),
        _fill_record,
    ),
    "class.named_tuple": Codec(_split_named_tuple, _make_named_tuple),
    "class.member": Codec(_split_member, _make_member),
    "class.exception": Codec(_split_exception, _make_exception),
    "class.reference": Codec(lambda value: [object.__getattribute__(value, "_handle")]),
}

CLASSES: dict[str, Callable[[Any, list[Any]], bool]] = {
    "class.record": _fits_record,
    "class.named_tuple": lambda kind, parts: (
        issubclass(kind, tuple) and parts[1::2] == list(getattr(kind, "_fields", ()))
    ),
    "class.exception": lambda kind, _parts: issubclass(kind, BaseException),
    "class.member": lambda kind, parts: (
        hasattr(kind, "__members__") and (parts[1] is None or parts[1] in kind.__members__)
    ),
}
"""Tags of instances, whose first part is the name of their class: whether a class of that name fits the parts."""


def family(kind: type) -> str | None:
    """Return the tag of a class's instances, or None."""
    enumeration = sys.modules.get("enum")
    if enumeration is not None and issubclass(kind, enumeration.Enum):
        return "class.member"
    if issubclass(kind, BaseException) and is_users(kind):
        return "class.exception"
    if _is_named_tuple(kind):
        return "class.named_tuple"
    if issubclass(kind, BASES):
        return None
    if _is_record(kind):
        return "class.record"
    return None


def declares_data(kind: type) -> bool:
    """Tell whether a class declares its data.

    A dataclass, a model of Pydantic's, or one of attrs'.
    """
    names = kind.__dict__.keys()
    return not names.isdisjoint(("__dataclass_fields__", "__pydantic_fields__", "__attrs_attrs__"))


def _is_named_tuple(kind: type) -> bool:
    """Tell whether a class was made by `namedtuple`, or is the user's subclass of such a class."""
    if kind.__bases__ == (tuple,):
        return "_fields" in kind.__dict__
    return is_users(kind) and any(base.__bases__ == (tuple,) and "_fields" in base.__dict__ for base in kind.__mro__)


def _is_record(kind: type) -> bool:
    """Tell whether instances are dataclasses, Pydantic models or ordinary ones.

    An ordinary class is one of the user's.
    """
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and issubclass(kind, pydantic.BaseModel):
        return True
    return type(kind.__dict__.get("__dataclass_fields__")) is dict or (is_ordinary(kind) and is_users(kind))
