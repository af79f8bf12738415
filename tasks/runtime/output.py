"""Output of a block: a file in memory, read by the host."""

import os

_USUAL_BYTES = 8192
"""More is rarely printed, and room for the limit costs more to allocate than to fill."""


class Output:
    """The file behind an episode's descriptors 1 and 2.

    It is one for all blocks that share an interpreter's state.
    """

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("output", os.MFD_CLOEXEC)

    def renew(self) -> int:
        """Continue with another file, and return its descriptor.

        A file's attributes and flags outlive its content.

        A process that holds the former one keeps an empty file.
        """
        former = self.descriptor
        self.descriptor = os.memfd_create("output", os.MFD_CLOEXEC)
        os.ftruncate(former, 0)
        os.close(former)
        return self.descriptor

    def clear(self) -> None:
        """Empty the file for the next block.

        What an installation printed is not the block's.
        """
        os.ftruncate(self.descriptor, 0)
        os.lseek(self.descriptor, 0, os.SEEK_SET)

    def read(self, limit_bytes: int) -> str:
        """Return what was written, at most so many bytes of it."""
        content = os.pread(self.descriptor, min(_USUAL_BYTES, limit_bytes), 0)
        if len(content) == _USUAL_BYTES:
            content = os.pread(self.descriptor, limit_bytes, 0)
        return content.decode(errors="replace")

    def close(self) -> None:
        """Free it."""
        os.close(self.descriptor)
