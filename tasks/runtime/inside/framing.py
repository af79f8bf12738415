"""Frames between host and sandbox: length and JSON, with descriptors.

JSON only, in both directions: bytes made in the sandbox are parsed, never unpickled.
"""

import _socket
from json.decoder import JSONDecoder
from json.encoder import c_make_encoder, encode_basestring_ascii  # type: ignore[attr-defined]
from os import close as close_descriptor
from os import dup2  # references of our own: a block may rebind what a module holds
from time import monotonic
from typing import Any

_HEADER_BYTES = 4
_CHUNK_BYTES = 2048
_CHUNK_LIMIT_BYTES = 1 << 18
_DESCRIPTOR_BYTES = 4
_DESCRIPTORS_LIMIT = 2
_ANCILLARY_BYTES = _socket.CMSG_SPACE(_DESCRIPTORS_LIMIT * _DESCRIPTOR_BYTES)


def _refuse(value: Any) -> None:
    raise TypeError(f"{type(value).__name__} is not JSON serializable")


_chunks = c_make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", False, False, True)
_scan = JSONDecoder().scan_once  # type: ignore[attr-defined]

FRAME_LIMIT_BYTES = 16 << 20
"""A longer frame is a protocol violation: large objects travel through shared memory."""
CALL_LIMIT_BYTES = 1 << 20
"""Of a tool call with its arguments."""
ANSWER_LIMIT_BYTES = 1 << 16
"""Maximum size of a control message, except for one that describes a variable."""


class FrameError(Exception):
    """The peer sent an invalid frame."""


class FrameTooLargeError(Exception):
    """The message to send is longer than a frame may be."""

    def __init__(self, size: int, limit_bytes: int) -> None:
        super().__init__(f"a message of {size} bytes exceeds the {limit_bytes} of a frame")
        self.size = size


class Channel:
    """One end of a connection that carries frames."""

    __slots__ = ("_buffer", "_descriptors", "_socket", "deadline", "limit_bytes")

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._buffer = bytearray()
        self._descriptors: list[int] = []
        self.deadline: float | None = None
        """Monotonic time after which a frame that trickles in or out is given up."""
        self.limit_bytes = FRAME_LIMIT_BYTES
        """Of a frame that comes."""

    def send(self, message: Any, descriptors: tuple[int, ...] = (), limit_bytes: int = FRAME_LIMIT_BYTES) -> None:
        """Send one frame, with open descriptors if any.

        Raises:
            BlockingIOError: The peer did not take all of it before the deadline.
            OSError: The peer is gone.
        """
        payload = "".join(_chunks(message, 0)).encode()
        if len(payload) > limit_bytes:
            raise FrameTooLargeError(len(payload), limit_bytes)
        frame = memoryview(len(payload).to_bytes(_HEADER_BYTES, "little") + payload)
        rights = b""
        for descriptor in descriptors:
            rights += descriptor.to_bytes(_DESCRIPTOR_BYTES, "little")
        ancillary = []
        if rights:
            ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)]
        while frame:
            try:
                sent = self._socket.sendmsg([frame], ancillary) if ancillary else self._socket.send(frame)
                frame = frame[sent:]
                ancillary = []
            except BlockingIOError:
                if self.deadline is None or monotonic() > self.deadline:
                    raise

    def receive(self) -> Any:
        """Return the next message and close unclaimed descriptors.

        Raise `EOFError` when the peer is gone, `FrameError` for an invalid frame, and `BlockingIOError` when the
        socket has a receive timeout and it passed; the call may then be repeated, nothing is lost.
        """
        return self._next_message(self._socket.recv)

    def receive_with_descriptors(self) -> tuple[Any, tuple[int, ...]]:
        """Return the next message and its descriptors, owned by the caller."""
        message = self._next_message(self._receive_chunk)
        descriptors = tuple(self._descriptors)
        self._descriptors.clear()
        return message, descriptors

    def fileno(self) -> int:
        """The socket's descriptor."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket and unclaimed descriptors."""
        self._socket.close()
        self._drop_descriptors()

    def replace(self, descriptor: int) -> None:
        """Continue on another connection, as a forked process does."""
        dup2(descriptor, self._socket.fileno(), False)
        close_descriptor(descriptor)
        self._buffer.clear()
        self._descriptors.clear()

    def _next_message(self, read: Any) -> Any:
        buffer = self._buffer
        while True:
            wanted = self._missing() if buffer else _CHUNK_BYTES
            if wanted <= 0:
                end = len(buffer) + wanted
                payload = bytes(buffer[_HEADER_BYTES:end])
                del buffer[:end]
                return _parse(payload)
            chunk = read(min(max(wanted, _CHUNK_BYTES), _CHUNK_LIMIT_BYTES))
            if not chunk:
                raise EOFError("the peer is gone")
            if not buffer and int.from_bytes(chunk[:_HEADER_BYTES], "little") == len(chunk) - _HEADER_BYTES:
                return _parse(chunk[_HEADER_BYTES:])
            buffer += chunk
            if self.deadline is not None and monotonic() > self.deadline:
                raise BlockingIOError

    def _missing(self) -> int:
        """Return the begun frame's missing bytes; 0 or less if complete."""
        buffer = self._buffer
        size = 0
        if len(buffer) >= _HEADER_BYTES:
            size = int.from_bytes(buffer[:_HEADER_BYTES], "little")
        if size > self.limit_bytes:
            raise FrameError(f"a frame of {size} bytes")
        return _HEADER_BYTES + size - len(buffer)

    def _receive_chunk(self, size: int) -> bytes:
        chunk, ancillary, _, _ = self._socket.recvmsg(size, _ANCILLARY_BYTES)
        for level, kind, data in ancillary:
            if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                for start in range(0, len(data) - _DESCRIPTOR_BYTES + 1, _DESCRIPTOR_BYTES):
                    self._descriptors.append(int.from_bytes(data[start : start + _DESCRIPTOR_BYTES], "little"))
        if len(self._descriptors) > _DESCRIPTORS_LIMIT:
            self._drop_descriptors()
            raise FrameError(f"a frame with more than {_DESCRIPTORS_LIMIT} descriptors")
        return chunk

    def _drop_descriptors(self) -> None:
        while self._descriptors:
            close_descriptor(self._descriptors.pop())


def _parse(payload: bytes) -> Any:
    try:
        return _scan(payload.decode(), 0)[0]
    except (ValueError, RecursionError, StopIteration) as error:
        raise FrameError(f"frame is not valid JSON: {error}") from error
