"""Codecs of tensors, graphs, sparse matrices and masked arrays."""

import contextlib
import importlib
import math
import sys
from itertools import product
from typing import Any

from .portable import Codec, NotPortableError

LIBRARIES = ("networkx", "scipy", "torch")
"""Packages that codecs use, by the first word of their tags."""
_DIRECT = ("csr", "csc", "bsr")
"""Sparse formats that are three arrays."""
_OTHERS = ("coo", "dia", "dok", "lil")
_SPARSE_KINDS = ("matrix", "array")


def _torch() -> Any:
    return importlib.import_module("torch")


def _split_tensor(tensor: Any) -> list[Any]:
    torch = _torch()
    numpy = importlib.import_module("numpy")
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise NotPortableError(
            f"a tensor of layout {tensor.layout} does not travel; send tensor.to_dense() or tensor.dequantize()"
        )
    if tensor.device.type != "cpu":
        raise NotPortableError(f"a tensor on {tensor.device} does not travel; send tensor.cpu()")
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    data = flat.view(torch.uint8).numpy() if flat.numel() else numpy.empty(0, "uint8")
    return [_name_of(tensor.dtype), tensor.requires_grad, list(tensor.shape), data]


def _make_tensor(kind: Any, dtype_name: str, requires_grad: bool, shape: list[int], data: Any) -> Any:
    torch = _torch()
    dtype = _dtype_of(dtype_name)
    is_bytes = data.dtype.name == "uint8" and data.ndim == 1
    if not is_bytes or math.prod(shape) * dtype.itemsize != data.size:
        raise ValueError(f"a tensor of shape {shape!r:.100} and {data.size} bytes")
    tensor = torch.empty(shape, dtype=dtype)
    if data.size:
        tensor = torch.from_numpy(data.copy()).view(dtype).reshape(shape)
    if kind is torch.nn.Parameter:
        return kind(tensor, requires_grad=requires_grad)
    return tensor.requires_grad_(requires_grad)


def _name_of(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _dtype_of(name: str) -> Any:
    torch = _torch()
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype) or name.startswith("q"):
        raise ValueError(f"no dtype {name!r:.100}")
    return dtype


def _split_graph(graph: Any) -> list[Any]:
    has_keys = graph.is_multigraph()
    edges = graph.edges(keys=True, data=True) if has_keys else graph.edges(data=True)
    return [graph.graph, [*graph.nodes(data=True)], [*edges]]


def _make_graph(kind: Any, attributes: dict[str, Any], nodes: list[Any], edges: list[Any]) -> Any:
    graph = kind()
    graph.graph.update(attributes)
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


def _split_compressed(matrix: Any) -> list[Any]:
    return [list(matrix.shape), matrix.data, matrix.indices, matrix.indptr]


def _make_compressed(kind: Any, shape: list[int], data: Any, indices: Any, pointers: Any) -> Any:
    matrix = kind((data, indices, pointers), shape=tuple(shape))
    matrix.check_format(full_check=True)  # its C code trusts the indices
    return matrix


def _split_coordinates(matrix: Any) -> list[Any]:
    coordinates = matrix.tocoo()
    return [list(coordinates.shape), coordinates.data, list(coordinates.coords)]


def _make_coordinates(kind: Any, shape: list[int], data: Any, places: list[Any]) -> Any:
    is_array = kind.__name__.endswith("_array")
    sparse = importlib.import_module("scipy.sparse")
    make = sparse.coo_array if is_array else sparse.coo_matrix
    made = make((data, tuple(places)), shape=tuple(shape))
    return made.asformat(kind.__name__.partition("_")[0])


def _split_masked(array: Any) -> list[Any]:
    numpy = importlib.import_module("numpy")
    mask = None if array.mask is numpy.ma.nomask else numpy.asarray(array.mask)
    return [numpy.asarray(array.data), mask, numpy.asarray(array.fill_value), array.hardmask]


def _make_masked(kind: Any, data: Any, mask: Any, fill_value: Any, is_hard: bool) -> Any:
    numpy = importlib.import_module("numpy")
    return kind(data, numpy.ma.nomask if mask is None else mask, fill_value=fill_value[()], hard_mask=is_hard)


def _make_sparse_cells(kind: Any, cells: Any, places: Any, length: int, fill_value: Any) -> Any:
    pandas = importlib.import_module("pandas")
    dtype = pandas.SparseDtype(cells.dtype, fill_value)
    if hasattr(kind, "from_indices"):
        return kind.from_indices(cells, places, length, fill_value=fill_value, dtype=cells.dtype)
    index = importlib.import_module("pandas._libs.sparse").IntIndex(length, places)  # which checks them
    return kind(cells, sparse_index=index, dtype=dtype)


def _frequency_of(offset: Any) -> str:
    """Return a pandas date offset as text; refuse incomplete texts."""
    to_offset = importlib.import_module("pandas.tseries.frequencies").to_offset
    with contextlib.suppress(ValueError):
        if to_offset(offset.freqstr) == offset:
            return offset.freqstr
    raise NotPortableError(f"a {type(offset).__name__} with keywords does not travel; send offset.kwds")


_TENSOR = Codec(_split_tensor, _make_tensor)
_GRAPH = Codec(_split_graph, _make_graph)
_COMPRESSED = Codec(_split_compressed, _make_compressed)
_COORDINATES = Codec(_split_coordinates, _make_coordinates)

CODECS: dict[str, Codec] = {
    "torch.Tensor": _TENSOR,
    "torch.nn.Parameter": _TENSOR,
    "torch.Size": Codec(list, lambda kind, *parts: kind(parts)),
    "torch.dtype": Codec(lambda dtype: [_name_of(dtype)], lambda _kind, name: _dtype_of(name)),
    "torch.device": Codec(lambda device: [str(device)]),
    **dict.fromkeys((f"networkx.{name}" for name in ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph")), _GRAPH),
    **{f"scipy.sparse.{name}_{kind}": _COMPRESSED for name, kind in product(_DIRECT, _SPARSE_KINDS)},
    **{f"scipy.sparse.{name}_{kind}": _COORDINATES for name, kind in product(_OTHERS, _SPARSE_KINDS)},
    "numpy.ma.MaskedArray": Codec(_split_masked, _make_masked),
    "numpy.ma.masked": Codec(lambda _value: [], lambda kind: kind),
    **{
        f"numpy.{name}": Codec(
            lambda array: [array.view(importlib.import_module("numpy").ndarray)], lambda kind, array: array.view(kind)
        )
        for name in ("matrix", "recarray")
    },
    "numpy.dtype": Codec(
        lambda dtype: [importlib.import_module("numpy").empty(0, dtype)], lambda _kind, array: array.dtype
    ),
    "pandas.arrays.SparseArray": Codec(
        lambda array: [array.sp_values, array.sp_index.indices, len(array), array.fill_value],
        _make_sparse_cells,
    ),
    "pandas.tseries.frequencies.to_offset": Codec(
        lambda offset: [_frequency_of(offset)], lambda to_offset, text: to_offset(text)
    ),
    "polars.LazyFrame": Codec(lambda frame: [frame.collect()], lambda _kind, frame: frame.lazy()),
}


def family(kind: type) -> str | None:
    """Return the tag of a type by its base."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if issubclass(kind, numpy.dtype):
            return "numpy.dtype"
        if kind is type(numpy.ma.masked):
            return "numpy.ma.masked"
    offsets = sys.modules.get("pandas.tseries.offsets")
    if offsets is not None and issubclass(kind, offsets.BaseOffset):
        return "pandas.tseries.frequencies.to_offset"
    return None
