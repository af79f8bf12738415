"""Typed results: what an agent must bind, and whether it did."""

import dataclasses
import typing
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    PydanticSchemaGenerationError,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
)
from pydantic.warnings import ArbitraryTypeWarning

from carryover.tasks.agent.runtime_stream import RuntimeStream
from carryover.tasks.cave.prompting import fill
from carryover.tasks.runtime.inside.values.instances import is_users
from carryover.tasks.runtime.objects import InjectionError, Record

_ERRORS_TOLD = 10
_SCALARS = ("int", "float", "bool", "str", "datetime")
"""What a column of a frame may be asked to hold."""


def expect(returns: Any, name: str, attempts: int, runtime: RuntimeStream) -> "Expected | None":
    """Return the result that a question asks for, its classes injected.

    Raises:
        ValueError: Nothing can be validated as `returns`.
        BusyError: A block is running.
    """
    if returns is None:
        return None
    expected = Expected(returns, name, attempts)
    expected.inject_classes(runtime)
    return expected


class WrongResultError(ValueError):
    """The value is not what was asked for."""


class Expected:
    """A result that the agent must bind before it answers."""

    def __init__(self, kind: Any, name: str, attempts: int) -> None:
        """Ask for a value of a type under a name.

        Args:
            kind: A type that Pydantic validates, or the columns of a frame by name, each with the type of its cells.
            name: Name to which the agent binds the value.
            attempts: Answers with a wrong result, after each of which the agent is asked again; then it is given up.

        Raises:
            ValueError: Nothing can be validated by that.
        """
        self.kind = kind
        self.name = name
        self.attempts_left = attempts
        self.value: Any = None
        """The validated value, once it is there."""
        self._columns = _columns_of(kind)
        self._adapter = None if self._columns is not None else _adapter_of(kind)

    def request(self) -> str:
        """Return what the agent is told with the question."""
        return fill("returns", name=self.name, kind=self._told_kind())

    def classes(self) -> list[type]:
        """Return the user's classes behind such a value."""
        found: list[type] = []
        waiting = [] if self._columns is not None else [self.kind]
        for one in waiting:
            waiting += typing.get_args(one)
            if isinstance(one, type) and typing.get_origin(one) is None and is_users(one):
                found.append(one)
        return found

    def inject_classes(self, runtime: RuntimeStream) -> None:
        """Inject the user's classes that blocks lack for such a value.

        Raises:
            BusyError: A block is running.
        """
        for kind in self.classes():
            known = {entry.name for entry in runtime.interpreter.injected}  # a class brings others
            if kind.__name__ not in known:
                with suppress(InjectionError):  # without a source, the agent binds plain data
                    runtime.idle.inject(kind.__name__, kind)

    def accept(self, value: Any) -> None:
        """Keep a value; raise `WrongResultError` with what is wrong about it."""
        if self._columns is not None:
            _check_frame(value, self._columns)
            self.value = value
            return
        assert self._adapter is not None
        try:
            self.value = self._adapter.validate_python(_as_data(value), by_alias=True, by_name=True)
        except ValidationError as error:
            raise WrongResultError(_complaints(error)) from error

    def _told_kind(self) -> str:
        if self._columns is None:
            return getattr(self.kind, "__name__", None) or str(self.kind)
        listed = ", ".join(f"{column} ({kind})" for column, kind in self._columns.items())
        return f"a DataFrame with the columns {listed}"


def _columns_of(kind: Any) -> dict[str, str] | None:
    """Return the cells' types by column; None for no frame."""
    if not isinstance(kind, Mapping):
        return None
    columns = {str(column): getattr(cells, "__name__", str(cells)) for column, cells in kind.items()}
    for column, cells in columns.items():
        if cells not in _SCALARS:
            raise ValueError(f"column {column!r} of unknown type {cells!r}; choose from {', '.join(_SCALARS)}")
    return columns


def _adapter_of(kind: Any) -> TypeAdapter[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ArbitraryTypeWarning)  # it would validate any value as an object such as 3
        try:
            return TypeAdapter(kind, config=ConfigDict(arbitrary_types_allowed=True))
        except (PydanticSchemaGenerationError, ArbitraryTypeWarning, SyntaxError) as error:
            raise ValueError(
                f"no value can be validated as {kind!r:.200}; give a type, or a frame's columns"
            ) from error
        except PydanticUserError:  # a class with a configuration of its own
            return TypeAdapter(kind)


def _as_data(value: Any) -> Any:
    """Return instances as their data, for validation by other types."""
    fields = _fields_of(value)
    if fields is not None:
        return {name: _as_data(one) for name, one in fields.items()}
    if type(value) in (list, tuple):
        return type(value)(_as_data(one) for one in value)
    if type(value) is dict:
        return {key: _as_data(one) for key, one in value.items()}
    return value


def _fields_of(value: Any) -> dict[str, Any] | None:
    """Return an instance's fields by name, or None."""
    if isinstance(value, BaseModel):
        return dict(vars(value))
    if isinstance(value, Record):
        return value.fields
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    return None


def _complaints(error: ValidationError) -> str:
    """Return one line for each thing that is wrong."""
    found = error.errors()
    lines = [f"{'.'.join(map(str, one['loc'])) or 'value'}: {one['msg']}" for one in found[:_ERRORS_TOLD]]
    if len(found) > _ERRORS_TOLD:
        lines.append(f"... and {len(found) - _ERRORS_TOLD} more")
    return "\n".join(lines)


def _check_frame(value: Any, columns: Mapping[str, str]) -> None:
    library = _library_of_frame(value)
    missing = [column for column in columns if column not in value.columns]
    if missing:
        raise WrongResultError(f"it has no column {', '.join(missing)}; it has {', '.join(map(str, value.columns))}")
    kind_of = _pandas_kind if library == "pandas" else _polars_kind
    found = {column: kind_of(value[column]) for column in columns}
    wrong = [column for column, wanted in columns.items() if not _fits_column(found[column], wanted)]
    if wrong:
        raise WrongResultError("\n".join(f"column {name} holds {found[name]}, not {columns[name]}" for name in wrong))


def _library_of_frame(value: Any) -> str:
    library = type(value).__module__.partition(".")[0]
    if type(value).__name__ != "DataFrame" or library not in ("pandas", "polars"):
        raise WrongResultError(f"it is a {type(value).__name__}, not a DataFrame")
    return library


def _fits_column(found: str, wanted: str) -> bool:
    """Tell whether a column has the wanted kind; integers are floats."""
    return found == wanted or (found == "int" and wanted == "float")


def _pandas_kind(series: Any) -> str:
    from pandas.api import types

    tests = {
        "bool": types.is_bool_dtype,
        "int": types.is_integer_dtype,
        "float": types.is_float_dtype,
        "datetime": types.is_datetime64_any_dtype,
        "str": types.is_string_dtype,
    }
    for kind, is_kind in tests.items():
        if is_kind(series):
            return kind
    return str(series.dtype)


def _polars_kind(series: Any) -> str:
    import polars

    dtype = series.dtype
    if dtype.is_integer():
        return "int"
    if dtype.is_float():
        return "float"
    named = {polars.Boolean: "bool", polars.String: "str", polars.Datetime: "datetime", polars.Date: "datetime"}
    return named.get(dtype.base_type(), str(dtype))
