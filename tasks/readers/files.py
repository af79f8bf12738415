"""Records of files, recognised by content, and of folders."""

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.tally import Tally
from carryover.tasks.readers.zstandard import ZIP_METHOD, NoZstandardError, ZstandardMember, zstandard_stream

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_PARQUET = b"PAR1"
_ARROW_FILE = b"ARROW1"
_ARROW_STREAM = b"\xff\xff\xff\xff"
_BATCH_ROWS = 256
_NO_ZSTANDARD = "Zstandard needs pyarrow; install carryover with pyarrow"


def read_files(path: Path, tally: Tally) -> Iterator[Iterator[Record]]:
    """Yield the records of each file, zip member or folder.

    What cannot be read is counted in `tally` with the reason. A plain text is a record where it is named itself, and
    left out where it lies in a folder beside others.
    """
    for file in list_files(path):
        passed = tally.byte_count
        yield from _open_file(file, tally, is_named=file == path)
        tally.pass_bytes(file.stat().st_size - (tally.byte_count - passed))


def list_files(path: Path) -> list[Path]:
    """Return a file, or a folder's files without hidden ones."""
    if not path.is_dir():
        return [path]
    found = [file for file in sorted(path.rglob("*")) if file.is_file()]
    return [file for file in found if not any(part.startswith(".") for part in file.relative_to(path).parts)]


def _open_file(file: Any, tally: Tally, *, is_named: bool) -> Iterator[Iterator[Record]]:
    with file.open("rb") as opened:
        head = opened.read(8)
        if head.startswith(_ZIP):
            yield from _zip_members(opened, file, tally)
            return
        stream = _rewound(opened, file)
        if head.startswith(_GZIP):
            stream = cast(IO[bytes], gzip.GzipFile(fileobj=stream))
            head = stream.read(8)
            stream.seek(0)
        if head.startswith(_ZSTANDARD):
            plain = zstandard_stream(stream)
            if plain is None:
                tally.skip(_NO_ZSTANDARD, str(file))
                return
            stream = cast(IO[bytes], plain)
            head = _first_bytes(plain)
        if head.startswith((_PARQUET, _ARROW_FILE, _ARROW_STREAM)):
            yield _table_rows(_seekable(stream), head, file, tally)
        elif not head:
            tally.skip("empty file", str(file))
        else:
            yield _until_damage(_text_records(stream, file, tally, is_named=is_named), file, tally)


def _seekable(stream: IO[bytes]) -> IO[bytes]:
    """Return a stream that can seek, in memory where it could not."""
    return stream if stream.seekable() else io.BytesIO(stream.read())


def _first_bytes(plain: io.BufferedReader) -> bytes:
    """Return a decompressed stream's first bytes; damage shows later."""
    try:
        return plain.peek(8)[:8]
    except OSError:
        return b"damaged"


def _until_damage(records: Iterator[Record], file: Any, tally: Tally) -> Iterator[Record]:
    """Yield records until compressed content is damaged, and count that."""
    try:
        yield from records
    except (OSError, EOFError, zlib.error) as error:
        tally.skip("damaged compressed file", f"{file}: {error}")


def _rewound(opened: IO[bytes], file: Any) -> IO[bytes]:
    """Return a stream at its start, in memory for zip members.

    A member cannot always seek.
    """
    if isinstance(file, zipfile.Path):
        return io.BytesIO(file.read_bytes())
    opened.seek(0)
    return opened


def _zip_members(opened: IO[bytes], file: Any, tally: Tally) -> Iterator[Iterator[Record]]:
    try:
        archive = zipfile.ZipFile(_rewound(opened, file))
    except zipfile.BadZipFile as error:
        tally.skip(f"damaged zip: {error}", str(file))
        return
    for name in sorted(archive.namelist()):
        member = zipfile.Path(archive, name)
        if not member.is_file():
            continue
        is_zstandard = archive.getinfo(name).compress_type == ZIP_METHOD
        try:
            yield from _open_file(ZstandardMember(archive, name) if is_zstandard else member, tally, is_named=False)
        except NoZstandardError:
            tally.skip(_NO_ZSTANDARD, f"{file}/{name}")
        except NotImplementedError:
            tally.skip("compressed with a method that Python's zipfile lacks", f"{file}/{name}")


def _text_records(stream: IO[bytes], file: Any, tally: Tally, *, is_named: bool) -> Iterator[Record]:
    stem = Path(file.name).stem
    first = b""
    while not first.strip():
        line = stream.readline()
        if not line:
            tally.skip("empty file", str(file))
            return
        first = line
    following = stream.readline()
    if _is_one_json_value(first) and following.strip():
        yield from _json_lines(chain((first, following), stream), file, stem, tally)
        return
    text = first + following + stream.read()
    try:
        content = json.loads(text.decode("utf-8-sig"), strict=False)
    except UnicodeDecodeError:
        tally.skip("neither JSON nor text in UTF-8", str(file))
    except ValueError:
        yield from _plain_text(text.decode("utf-8-sig"), file, tally, is_named=is_named)
    else:
        yield from _spread(content, file, stem)


def _json_lines(lines: Iterator[bytes], file: Any, stem: str, tally: Tally) -> Iterator[Record]:
    for number, line in enumerate(lines, start=1):
        if isinstance(file, Path):
            tally.pass_bytes(len(line))
        if not line.strip():
            continue
        place = f"line {number} of {file}"
        try:
            content = json.loads(line.decode("utf-8-sig"), strict=False)
        except ValueError as error:
            tally.skip("a line that is not JSON in UTF-8", f"{place}: {error}")
            continue
        yield Record(content, place, f"{stem}-{number}", file)


def _spread(content: Any, file: Any, stem: str) -> Iterator[Record]:
    """Yield a document, or the elements of a list of them."""
    if not isinstance(content, list):
        yield Record(content, str(file), stem, file)
        return
    for number, element in enumerate(content, start=1):
        yield Record(element, f"element {number} of {file}", f"{stem}-{number}", file)


def _plain_text(text: str, file: Any, tally: Tally, *, is_named: bool) -> Iterator[Record]:
    looks_like_json = text.lstrip()[:1] in ("{", "[")
    if looks_like_json:
        yield from _json_documents(text, file, tally)
    elif is_named:
        yield Record(text, str(file), Path(file.name).stem, file)
    else:
        tally.skip("plain text beside traces; name it itself to read it as a transcript", str(file))


def _json_documents(text: str, file: Any, tally: Tally) -> Iterator[Record]:
    """Yield JSON documents that follow one another, as consoles print spans."""
    decoder = json.JSONDecoder(strict=False)
    number = 0
    at = _next_sign(text, 0)
    while at < len(text):
        number += 1
        place = f"document {number} of {file}"
        try:
            content, end = decoder.raw_decode(text, at)
        except ValueError as error:
            tally.skip("not JSON in UTF-8", f"{place}: {error}")
            return
        yield Record(content, place, f"{Path(file.name).stem}-{number}", file)
        at = _next_sign(text, end)


def _next_sign(text: str, at: int) -> int:
    """Return the position of the next character that is no space."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _is_one_json_value(line: bytes) -> bool:
    if not line.lstrip(b"\xef\xbb\xbf \t").startswith((b"{", b"[")):
        return False
    try:
        json.loads(line.decode("utf-8-sig"), strict=False)
    except ValueError:
        return False
    return True


def _table_rows(stream: IO[bytes], head: bytes, file: Any, tally: Tally) -> Iterator[Record]:
    try:
        import pyarrow as pa
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        tally.skip("Parquet and Arrow files need pyarrow; install carryover with pyarrow", str(file))
        return
    try:
        if head.startswith(_PARQUET):
            batches = pyarrow.parquet.ParquetFile(stream).iter_batches(batch_size=_BATCH_ROWS)
        elif head.startswith(_ARROW_FILE):
            table = pyarrow.ipc.open_file(stream)
            batches = (table.get_batch(index) for index in range(table.num_record_batches))
        else:
            batches = iter(pyarrow.ipc.open_stream(stream))
        rows = chain.from_iterable(batch.to_pylist() for batch in batches)
        for number, row in enumerate(rows, start=1):
            yield Record(row, f"row {number} of {file}", f"{Path(file.name).stem}-{number}", file)
    except pa.ArrowInvalid as error:
        tally.skip("damaged Parquet or Arrow file", f"{file}: {error}")
