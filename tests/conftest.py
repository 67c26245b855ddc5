"""What every test may rely on."""

from __future__ import annotations

import contextlib
import signal

# A process started in the background may have to ignore interrupts, and so would every program that the
# tests start and interrupt. With a handler in place here, those begin with the default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)
