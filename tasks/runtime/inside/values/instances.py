"""State of ordinary instances, read without code of their class.

So no property, setter, `__reduce__`, `__setstate__` or `__setattr__` runs, here or in the host.
"""

import sys
from types import GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

# Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_DISALLOW_INSTANTIATION
_HEAP_TYPE = 1 << 9
_NO_INSTANCES = 1 << 7
_LIBRARY_FOLDERS = ("/site-packages/", "/dist-packages/")
OWN_PACKAGE = "carryover"
"""The host's package, which blocks cannot import even where it is installed among the libraries."""
_C_MEMBERS = (MethodDescriptorType, WrapperDescriptorType)
_BASES = type.__dict__["__mro__"]
_MEMBERS = type.__dict__["__dict__"]
_FLAGS = type.__dict__["__flags__"]


def is_ordinary(kind: type) -> bool:
    """Tell whether a class is pure Python, bases included.

    Its instances are their attributes and slots.
    """
    bases = _BASES.__get__(kind)[:-1]
    return bool(bases) and all(_is_python(base) for base in bases)


def is_users(kind: type) -> bool:
    """Tell whether a class is the user's own code.

    What a library keeps in an instance is the library's business.
    """
    name = _MEMBERS.__get__(kind).get("__module__")
    return type(name) is str and not is_library(name)


def is_library(module: str) -> bool:
    """Tell whether a module is Python's or installed.

    It may be imported on either side.
    """
    package = module.partition(".")[0]
    if module == "__main__" or package == OWN_PACKAGE:
        return False
    if package in sys.stdlib_module_names:
        return True
    place = getattr(sys.modules.get(module), "__file__", None) or ""
    return any(folder in place for folder in _LIBRARY_FOLDERS)


def state_of(value: Any) -> dict[str, Any]:
    """Return an instance's slots and attributes by name."""
    state = {}
    for name, slot in _slots(type(value)).items():
        try:
            state[name] = slot.__get__(value)
        except AttributeError:  # not set
            continue
    return {**state, **_attributes(value)}


def write_state(target: Any, state: dict[str, Any]) -> None:
    """Set slots and attributes of an instance that was made by `object.__new__`."""
    slots = _slots(type(target))
    attributes = {}
    for name, value in state.items():
        if name in slots:
            slots[name].__set__(target, value)
        else:
            attributes[name] = value
    if attributes:
        _attributes(target, is_required=True).update(attributes)


def _is_python(base: type) -> bool:
    flags = _FLAGS.__get__(base)
    if not flags & _HEAP_TYPE or flags & _NO_INSTANCES:
        return False
    return not any(type(member) in _C_MEMBERS for member in _MEMBERS.__get__(base).values())


def _slots(kind: type) -> dict[str, Any]:
    """Return a class's slot descriptors by name, subclasses' first."""
    found: dict[str, Any] = {}
    for base in _BASES.__get__(kind):
        for name, member in _MEMBERS.__get__(base).items():
            if type(member) is MemberDescriptorType:
                found.setdefault(name, member)
    return found


def _attributes(value: Any, *, is_required: bool = False) -> dict[str, Any]:
    """Return an instance's attribute dict, empty with slots alone."""
    for base in _BASES.__get__(type(value)):
        found = _MEMBERS.__get__(base).get("__dict__")
        if type(found) is GetSetDescriptorType:
            return found.__get__(value)
    if is_required:
        raise TypeError(f"an instance of {type(value).__name__} has no attributes beside its slots")
    return {}
