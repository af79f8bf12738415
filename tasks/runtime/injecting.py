"""Messages and prompt entries of injected values."""

import contextlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from carryover.tasks.runtime.describe import Injected, describe, describe_live
from carryover.tasks.runtime.gate import By, Prepared, RunsIn
from carryover.tasks.runtime.inside.values import standard
from carryover.tasks.runtime.objects import (
    Binding,
    InjectionError,
    UnknownClassError,
    bind_definition,
    bind_function,
    check_name,
)
from carryover.tasks.runtime.tools import ToolTable

Install = Callable[[Prepared], None]


class Injector:
    """Prepares values for an episode's blocks."""

    def __init__(self, tools: ToolTable) -> None:
        """Prepare by these tools and their gate."""
        self._tools = tools
        self.injected: list[Injected] = []
        """Entries of what has been injected."""

    @property
    def known_names(self) -> set[str]:
        """Names of tools and of what has been injected."""
        return {*self._tools.tools, *(entry.name for entry in self.injected)}

    def prepare(
        self,
        name: str,
        value: Any,
        install: Install,
        *,
        description: str = "",
        runs_in: RunsIn = "host",
        by: By | None = None,
        allow: Iterable[str] | None = None,
    ) -> Prepared:
        """Return what binds a value, its classes first.

        Raise `InjectionError` for one that does not travel, or an invalid name.
        """
        check_name(name)
        if by == "reference":
            allowed = None if allow is None else frozenset(allow)
            binding = self._tools.gate.share(name, value, allowed)
            return Prepared(binding, describe_live(name, value, description, allowed))
        entry = describe(name, value, description, is_data=by == "value")
        if isinstance(value, type):
            return self._prepare_definition(name, value, entry, install, frozenset())
        return Prepared(self._bind(name, value, install, runs_in, by), entry)

    def prepare_tool(self, name: str, function: Callable[..., Any]) -> Binding:
        """Return what binds a function that the host runs."""
        check_name(name)
        return Binding(("tool", name, self._tools.add(name, function)))

    def complete(
        self, value: Any, prepared: Prepared, install: Install, *, begun: frozenset[str] = frozenset()
    ) -> None:
        """Note a class that is bound, and inject what may follow it."""
        name = prepared.binding.name
        if isinstance(value, type):
            self._tools.gate.types[name] = value
        self._bring_all(prepared.later, install, begun | {name})

    def _bind(self, name: str, value: Any, install: Install, runs_in: RunsIn, by: By | None) -> Binding:
        is_function = callable(value) and not standard.is_live(type(value))  # a database connection can be called
        if by is not None or not is_function:
            return self._tools.gate.bind(name, value, lambda missing: self._bring_class(missing, install))
        if runs_in == "sandbox":
            return bind_function(name, value, self.known_names)
        if inspect.isgeneratorfunction(value) or inspect.isasyncgenfunction(value):
            way_out = 'return a list, or inject it by="reference"'
            raise InjectionError(f"{name}: what a generator function returns does not travel; {way_out}")
        return self.prepare_tool(name, value)

    def _bring_class(self, missing: UnknownClassError, install: Install) -> None:
        """Inject an object's class, or raise `InjectionError`."""
        if missing.kind.__name__ in self._tools.gate.types:  # another class of the same name
            raise missing
        self._bring(missing.kind, install, frozenset())

    def _bring(self, value: Any, install: Install, begun: frozenset[str]) -> None:
        """Inject a class or function after what its statement runs."""
        name = value.__name__
        prepared = self._prepare_definition(name, value, describe(name, value, ""), install, begun)
        install(prepared)
        self.complete(value, prepared, install, begun=begun)

    def _prepare_definition(
        self, name: str, value: Any, entry: Injected, install: Install, begun: frozenset[str]
    ) -> Prepared:
        """Return what binds a class or function, once what its statement runs is bound."""
        definition = bind_definition(name, value)
        self._bring_all(definition.needs.first, install, begun | {name})
        return Prepared(definition.binding, entry, definition.needs.later)

    def _bring_all(self, values: Iterable[Any], install: Install, begun: frozenset[str]) -> None:
        known = self.known_names | begun
        for value in values:
            if value.__name__ not in known:
                with contextlib.suppress(InjectionError):  # the sandbox says what a definition lacks
                    self._bring(value, install, begun)
