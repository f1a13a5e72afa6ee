"""A timer that fires within tens of microseconds of an absolute deadline.

Event loops round their timeouts to a millisecond, which is a tenth of a decode step. Linux's
timerfd does not; where it is missing the loop's own timer serves.
"""

import asyncio
import ctypes
import os
import time
from collections.abc import Callable

_CLOCK_MONOTONIC = 1
_TFD_NONBLOCK = os.O_NONBLOCK
_TFD_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_TFD_TIMER_ABSTIME = 1


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class DeadlineTimer:
    """One pending deadline on the monotonic clock; setting another replaces it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._spec = _Itimerspec()
        self._descriptor = self._create()
        if self._descriptor >= 0:
            loop.add_reader(self._descriptor, self._fired)

    def arm(self, deadline_s: float) -> None:
        """Call back once at this instant of ``time.monotonic``; at once where it has passed."""
        if self._descriptor < 0:
            self.disarm()
            delay = max(0.0, deadline_s - time.monotonic())
            self._handle = self._loop.call_later(delay, self._callback)
            return
        # A value of zero would disarm the timer instead of letting it fire.
        whole = max(1, int(deadline_s * 1e9))
        self._settime(*divmod(whole, 1_000_000_000))

    def disarm(self) -> None:
        """Forget the pending deadline."""
        if self._descriptor >= 0:
            self._settime(0, 0)
        elif self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def close(self) -> None:
        """Free the descriptor; the timer cannot be used afterwards."""
        self.disarm()
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _create(self) -> int:
        create = getattr(self._libc, "timerfd_create", None)
        return create(_CLOCK_MONOTONIC, _TFD_NONBLOCK | _TFD_CLOEXEC) if create else -1

    def _settime(self, seconds: int, nanoseconds: int) -> None:
        value = self._spec.value
        value.seconds, value.nanoseconds = seconds, nanoseconds
        spec = ctypes.byref(self._spec)
        self._libc.timerfd_settime(self._descriptor, _TFD_TIMER_ABSTIME, spec, None)

    def _fired(self) -> None:
        try:
            os.read(self._descriptor, 8)
        except BlockingIOError:
            # Re-armed between the wake-up and this read: nothing is due yet.
            return
        self._callback()
