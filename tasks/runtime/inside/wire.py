"""Frames between host and sandbox: a length, then JSON, over a Unix socket; descriptors may ride along.

JSON only, in both directions: bytes made in the sandbox are parsed, never unpickled.
"""

import _socket
import json
import struct
import time
from typing import Any

_HEADER = struct.Struct("<I")
_CHUNK_BYTES = 65536
_ANCILLARY_BYTES = _socket.CMSG_SPACE(2 * 4)
_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode

FRAME_LIMIT_BYTES = 16 << 20
"""A longer frame is a protocol violation: large objects travel through shared memory."""


class FrameError(Exception):
    """The peer sent something that is no frame."""


class FrameTooLargeError(Exception):
    """The message to send is longer than a frame may be."""


class Channel:
    """One end of a connection that carries frames."""

    __slots__ = ("_buffer", "_descriptors", "_socket", "deadline")

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._buffer = bytearray()
        self._descriptors: list[int] = []
        self.deadline: float | None = None
        """Monotonic time after which a frame that trickles in is given up like one that does not come."""

    def send(self, message: Any, descriptors: tuple[int, ...] = ()) -> None:
        """Send one frame, with open descriptors if any; raise `OSError` when the peer is gone."""
        payload = _encode(message).encode()
        if len(payload) > FRAME_LIMIT_BYTES:
            raise FrameTooLargeError(f"a message of {len(payload)} bytes exceeds the {FRAME_LIMIT_BYTES} of a frame")
        frame = _HEADER.pack(len(payload)) + payload
        if descriptors:
            rights = struct.pack(f"{len(descriptors)}i", *descriptors)
            sent = self._socket.sendmsg([frame], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
            if sent == len(frame):
                return
            frame = frame[sent:]
        self._socket.sendall(frame)

    def receive(self) -> Any:
        """Return the next message and drop descriptors that nobody asked for.

        Raise `EOFError` when the peer is gone, `FrameError` for what is no frame, and `BlockingIOError` when the
        socket has a receive timeout and it passed; the call may then be repeated, nothing is lost.
        """
        return self._next_message(self._socket.recv)

    def receive_with_descriptors(self) -> tuple[Any, tuple[int, ...]]:
        """Return the next message and the descriptors that came with it; the caller owns them."""
        message = self._next_message(self._receive_chunk)
        descriptors = tuple(self._descriptors)
        self._descriptors.clear()
        return message, descriptors

    def fileno(self) -> int:
        """The socket's descriptor."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _next_message(self, read: Any) -> Any:
        buffer = self._buffer
        while True:
            if len(buffer) >= _HEADER.size:
                size = _HEADER.unpack_from(buffer)[0]
                if size > FRAME_LIMIT_BYTES:
                    raise FrameError(f"a frame of {size} bytes")
                end = _HEADER.size + size
                if len(buffer) >= end:
                    payload = buffer[_HEADER.size : end]
                    del buffer[:end]
                    try:
                        return _decode(payload.decode())
                    except (ValueError, RecursionError) as error:
                        raise FrameError(f"a frame that is no JSON: {error}") from error
            chunk = read(_CHUNK_BYTES)
            if not chunk:
                raise EOFError("the peer is gone")
            buffer += chunk
            if self.deadline is not None and time.monotonic() > self.deadline:
                raise BlockingIOError

    def _receive_chunk(self, size: int) -> bytes:
        chunk, ancillary, _, _ = self._socket.recvmsg(size, _ANCILLARY_BYTES)
        for level, kind, data in ancillary:
            if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                whole = data[: len(data) - len(data) % 4]
                self._descriptors.extend(struct.unpack(f"{len(whole) // 4}i", whole))
        return chunk
