"""Values that go through the codec and back, and blobs that no encoder writes."""

import json
from collections.abc import Mapping
from typing import Any

from carryover.tasks.runtime.inside.values.tree import decode, encode


def travelled(value: Any, known: Mapping[str, type] | None = None) -> Any:
    """Return a value as it arrives on the other side, which knows some classes."""
    encoded = encode(value, known)
    blob = memoryview(bytearray(encoded.size))
    encoded.write(blob)
    return decode(blob, known or {}, libraries=encoded.libraries)


def forged(part: Any, nodes: list[Any], contents: bytes = b"") -> memoryview:
    """Return a blob with this head; its contents follow at the next place that is aligned."""
    head = json.dumps([part, nodes]).encode()
    start = -(-(8 + len(head)) // 64) * 64
    return memoryview(bytearray((len(head).to_bytes(8, "little") + head).ljust(start, b"\0") + contents))
