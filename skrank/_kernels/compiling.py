"""What happens around a compilation: a word on the first one, and no search for garbage.

The first use of an installation takes seconds, and says why. numba keeps what it has compiled, so
that later processes say nothing. ``SKRANK_QUIET=1`` in the environment silences it for good.
"""

import gc
import os
import sys

from numba.core import event

MESSAGE = "skrank: compiling loops for this machine, once: some seconds (SKRANK_QUIET=1 hides this)"


class _Compilations(event.Listener):
    """Follows numba's compilations of loops of skrank; one of them compiles what it calls."""

    announced = False
    depth = 0
    collecting = False

    def on_start(self, event):
        """One of numba's compilations begins."""
        ours = (event.data["dispatcher"].py_func.__module__ or "").startswith("skrank.")
        if ours and not self.announced:
            self.announced = True
            if os.environ.get("SKRANK_QUIET", "0") in ("", "0"):
                print(MESSAGE, file=sys.stderr, flush=True)
        if self.depth == 0 and ours:
            self.collecting = gc.isenabled()
            gc.disable()  # a sixth of the time would go into looking at what is all in use
        self.depth += ours or self.depth > 0

    def on_end(self, event):
        """One has ended, or failed."""
        self.depth -= self.depth > 0
        if self.depth == 0 and self.collecting:
            self.collecting = False
            gc.enable()


event.register("numba:compile", _Compilations())
