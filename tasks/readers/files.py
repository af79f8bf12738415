"""Records of files, recognised by content, and of folders."""

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from carryover.tasks.readers.reader import Record
from carryover.tasks.readers.tally import Tally
from carryover.tasks.readers.text_files import text_records
from carryover.tasks.readers.zstandard import ZIP_METHOD, NoZstandardError, ZstandardMember, zstandard_stream

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_PARQUET = b"PAR1"
_ARROW_FILE = b"ARROW1"
_ARROW_STREAM = b"\xff\xff\xff\xff"
_TAR = b"ustar"
_TAR_AT = 257
_HEAD_BYTES = 512
"""Bytes of a stream that tell what it holds."""
_DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile)
"""What damaged content raises."""
_DAMAGED = "damaged file"
_ENCRYPTED = 0x1
"""Flag of a zip's member that asks for a password."""
_BATCH_ROWS = 256
_NO_ZSTANDARD = "Zstandard needs pyarrow; install carryover with pyarrow"


def read_files(path: Path, tally: Tally) -> Iterator[Iterator[Record]]:
    """Yield the records of each file, zip member or folder.

    What cannot be read is counted in `tally` with the reason. A plain text is a record where it is named itself, and
    left out where it lies in a folder beside others.
    """
    for file in _hidden_files(path):
        tally.skip("hidden file", str(file))
    for file in list_files(path):
        passed = tally.byte_count
        yield from _open_file(file, tally, is_named=file == path)
        tally.pass_bytes(file.stat().st_size - (tally.byte_count - passed))


def list_files(path: Path) -> list[Path]:
    """Return a file, or a folder's files without hidden ones."""
    if not path.is_dir():
        return [path]
    return [file for file in _files_below(path) if not _is_hidden(file, path)]


def _hidden_files(path: Path) -> list[Path]:
    return [file for file in _files_below(path) if _is_hidden(file, path)]


def _files_below(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.is_file()]


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _open_file(file: Any, tally: Tally, *, is_named: bool) -> Iterator[Iterator[Record]]:
    try:
        opened = file.open("rb")
    except PermissionError:
        tally.skip("no permission to read the file", str(file))
        return
    with opened:
        try:
            yield from _read_stream(_rewound(opened), file, tally, is_named=is_named)
        except _DAMAGE as error:
            if not isinstance(file, Path):  # the archive's reader reports its members
                raise
            tally.skip(_DAMAGED, f"{file}: {error}")


def _read_stream(opened: IO[bytes], file: Any, tally: Tally, *, is_named: bool) -> Iterator[Iterator[Record]]:
    """Yield the records of a stream, of each member of an archive, or of what is compressed in it."""
    stream = opened if isinstance(opened, io.BufferedReader) else io.BufferedReader(cast(Any, opened))
    head = _first_bytes(stream)
    if head.startswith(_ZIP):
        yield from _zip_members(_seekable(stream), file, tally)
    elif head.startswith(_GZIP):
        yield from _read_stream(cast(IO[bytes], gzip.GzipFile(fileobj=stream)), file, tally, is_named=is_named)
    elif head.startswith(_ZSTANDARD):
        plain = zstandard_stream(stream)
        if plain is None:
            tally.skip(_NO_ZSTANDARD, str(file))
            return
        yield from _read_stream(plain, file, tally, is_named=is_named)
    elif head.startswith((_PARQUET, _ARROW_FILE, _ARROW_STREAM)):
        rows = _table_rows(_seekable(stream), head, file, tally)
        yield _with_count(_until_damage(rows, file, tally), file, tally)
    elif head[_TAR_AT:].startswith(_TAR):
        tally.skip("a tar archive; unpack it, or pack its files as zip", str(file))
    elif not head:
        tally.skip("empty file", str(file))
    else:
        records = text_records(stream, file, tally, is_named=is_named)
        yield _with_count(_until_damage(records, file, tally), file, tally)


def _seekable(stream: IO[bytes]) -> IO[bytes]:
    """Return a stream that can seek, in memory where it could not."""
    return stream if stream.seekable() else io.BytesIO(stream.read())


def _first_bytes(stream: io.BufferedReader) -> bytes:
    """Return a stream's first bytes; damage shows later."""
    try:
        return stream.peek(_HEAD_BYTES)[:_HEAD_BYTES]
    except _DAMAGE:
        return b"damaged"


def _with_count(records: Iterator[Record], file: Any, tally: Tally) -> Iterator[Record]:
    """Yield a file's records, and count a file that holds none."""
    unread_count = tally.unread.total()
    record = None
    for record in records:
        yield record
    if record is None and tally.unread.total() == unread_count:
        tally.skip("no record in the file", str(file))


def _until_damage(records: Iterator[Record], file: Any, tally: Tally) -> Iterator[Record]:
    """Yield records until compressed content is damaged, and count that."""
    try:
        yield from records
    except _DAMAGE as error:
        tally.skip(_DAMAGED, f"{file}: {error}")


def _rewound(opened: IO[bytes]) -> IO[bytes]:
    """Return a file's stream, in memory for zip members.

    A member cannot always seek.
    """
    if isinstance(opened, zipfile.ZipExtFile):
        return io.BytesIO(opened.read())
    return opened


def _zip_members(stream: IO[bytes], file: Any, tally: Tally) -> Iterator[Iterator[Record]]:
    try:
        archive = zipfile.ZipFile(stream)
    except zipfile.BadZipFile as error:
        tally.skip(f"damaged zip: {error}", str(file))
        return
    archive.filename = str(file)  # names the members of a zip that lies in another
    for name in sorted(archive.namelist()):
        member = zipfile.Path(archive, name)
        if not member.is_file():
            continue
        info = archive.getinfo(name)
        if info.flag_bits & _ENCRYPTED:
            tally.skip("encrypted zip member", f"{file}/{name}")
            continue
        is_zstandard = info.compress_type == ZIP_METHOD
        try:
            yield from _open_file(ZstandardMember(archive, name) if is_zstandard else member, tally, is_named=False)
        except NoZstandardError:
            tally.skip(_NO_ZSTANDARD, f"{file}/{name}")
        except NotImplementedError:
            tally.skip("compressed with a method that Python's zipfile lacks", f"{file}/{name}")
        except _DAMAGE as error:
            tally.skip("damaged zip member", f"{file}/{name}: {error}")


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
