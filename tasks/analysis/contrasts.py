"""What is made of the arms' means: numbers, or arrays of one shape in and an array of that shape out."""

from typing import Any


def itself(a: Any) -> Any:
    """Return the one arm's mean."""
    return a


def difference(a: Any, b: Any) -> Any:
    """Return a - b."""
    return a - b


def ratio(a: Any, b: Any) -> Any:
    """Return a / b."""
    return a / b


def contrast(pp: Any, ps: Any, sp: Any, ss: Any) -> Any:
    """Return the train x runtime interaction, (P->P - P->S) - (S->P - S->S)."""
    return (pp - ps) - (sp - ss)


def ratio_of_ratios(pp: Any, ps: Any, sp: Any, ss: Any) -> Any:
    """Return the interaction as (P->P / P->S) / (S->P / S->S)."""
    return (pp / ps) / (sp / ss)
