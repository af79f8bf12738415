"""Columns of episodes as the front end unpacks them."""

import base64
from typing import Any

import numpy as np


def unpacked_numbers(packed: dict[str, str]) -> list[Any]:
    return np.frombuffer(base64.b64decode(packed["data"]), packed["kind"]).tolist()


def unpacked_words(packed: dict[str, Any]) -> list[str | None]:
    return [None if code < 0 else packed["values"][code] for code in unpacked_numbers(packed["codes"])]
