"""The parts of a bundle, unpacked."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def parts_of(page: Path) -> dict[str, Any]:
    """Return the values that a page holds, by path."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r'<script type="text/plain" id="part/([^"]+)">([^<]*)</script>', text)
    return {path: unpacked(packed) for path, packed in found}
