"""A kernel timer that a poll can wait for: ``epoll`` itself only counts whole milliseconds.

``os.timerfd_create`` exists from Python 3.13 on; until then the C library is asked.
"""

import ctypes
import os

_CLOCK_MONOTONIC = 1
_ABSOLUTE = 1
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
_SECOND = 1_000_000_000


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Setting(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class Timer:
    """One timer on CLOCK_MONOTONIC; its ``fd`` becomes readable when it is due."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd = int(self._libc.timerfd_create(_CLOCK_MONOTONIC, _FLAGS))
        if self.fd < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), "timerfd_create")
        self._setting = _Setting()
        self._pointer = ctypes.byref(self._setting)
        self._due_ns = 0

    def set(self, due_ns: int) -> None:
        """Become readable at ``due_ns`` of the monotonic clock; 0 is never."""
        if due_ns == self._due_ns:
            return
        self._due_ns = due_ns
        value = self._setting.value
        value.seconds, value.nanoseconds = divmod(due_ns, _SECOND)
        if self._libc.timerfd_settime(self.fd, _ABSOLUTE, self._pointer, None) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), "timerfd_settime")

    def clear(self) -> None:
        """Take note of its expiry."""
        self._due_ns = 0
        try:
            os.read(self.fd, 8)
        except BlockingIOError:
            return

    def close(self) -> None:
        """Give it back."""
        os.close(self.fd)
