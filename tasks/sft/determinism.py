"""Operations whose results may differ between two equal trainings."""

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_WITHOUT_ALTERNATIVE = re.compile(r"^(?P<name>\S+) does not have a deterministic implementation")
_BY_DEFAULT = re.compile(r"^(?P<name>.+?) defaults to a non-deterministic algorithm")
_MATRIX_PRODUCTS = re.compile(r"not deterministic because it uses CuBLAS")


@contextmanager
def watched_operations() -> Iterator[list[str]]:
    """Collect the names of operations that torch cannot repeat to the bit.

    Where torch has a deterministic implementation it is used; the others run, and are named once each.
    """
    import torch

    names: list[str] = []
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read at the first matrix product on a GPU
    was_on = torch.are_deterministic_algorithms_enabled()
    was_warning = torch.is_deterministic_algorithms_warn_only_enabled()
    was_filling = torch.utils.deterministic.fill_uninitialized_memory
    torch.utils.deterministic.fill_uninitialized_memory = False  # it finds faults of programs and costs a pass each
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with warnings.catch_warnings():
            for said in (_WITHOUT_ALTERNATIVE, _BY_DEFAULT):
                warnings.filterwarnings("always", message=said.pattern)
            warnings.filterwarnings("always", message=f".*{_MATRIX_PRODUCTS.pattern}")
            show = warnings.showwarning

            def collect(message: Warning | str, *place: object) -> None:
                name = named_operation(str(message))
                if name is None:
                    show(message, *place)  # pyright: ignore[reportArgumentType]
                elif name not in names:
                    names.append(name)

            warnings.showwarning = collect
            yield names
    finally:
        torch.use_deterministic_algorithms(was_on, warn_only=was_warning)
        torch.utils.deterministic.fill_uninitialized_memory = was_filling


def named_operation(message: str) -> str | None:
    """Return the operation that one of torch's warnings names, or None."""
    if _MATRIX_PRODUCTS.search(message):
        return "CuBLAS"
    named = _WITHOUT_ALTERNATIVE.search(message) or _BY_DEFAULT.search(message)
    return named and named["name"]
