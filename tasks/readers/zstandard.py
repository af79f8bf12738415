"""Zstandard, by pyarrow: Python's own library reads it from 3.14 on."""

import io
import zipfile
from typing import IO, Any, cast

ZIP_METHOD = 93
"""Number of the method in a zip, as Inspect's logs use it."""
_HEADER_BYTES = 30
"""Size of the fixed part of a member's header in a zip; two lengths stand at its end."""


def zstandard_stream(stream: IO[bytes]) -> io.BufferedReader | None:
    """Return a stream's decompressed content; null without pyarrow."""
    try:
        import pyarrow as pa
    except ImportError:
        return None
    plain = pa.CompressedInputStream(pa.PythonFile(stream, "r"), "zstd")
    return io.BufferedReader(cast(Any, plain))


class NoZstandardError(Exception):
    """Zstandard cannot be read: pyarrow is missing."""


class ZstandardMember:
    """A zip's member under Zstandard, read like a file."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self.name = name
        self._archive = archive

    def __str__(self) -> str:
        """Return the path of the member, behind that of its zip."""
        return f"{self._archive.filename}/{self.name}"

    def open(self, _mode: str = "rb") -> IO[bytes]:
        """Return the member's decompressed bytes as a stream.

        Raises:
            NoZstandardError: pyarrow is missing.
        """
        info = self._archive.getinfo(self.name)
        file = cast(IO[bytes], self._archive.fp)
        file.seek(info.header_offset)
        header = file.read(_HEADER_BYTES)
        name_length = int.from_bytes(header[26:28], "little")
        extra_length = int.from_bytes(header[28:30], "little")
        file.seek(name_length + extra_length, io.SEEK_CUR)
        plain = zstandard_stream(io.BytesIO(file.read(info.compress_size)))
        if plain is None:
            raise NoZstandardError
        return io.BytesIO(plain.read())
