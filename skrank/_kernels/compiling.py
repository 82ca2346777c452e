"""Say once that loops are being compiled, which takes seconds on the first use of an installation.

numba keeps what it has compiled, so that later processes say nothing. ``SKRANK_QUIET=1`` in the
environment silences it for good.
"""

import os
import sys

from numba.core import event

MESSAGE = "skrank: compiling loops for this machine, once: some seconds (SKRANK_QUIET=1 hides this)"


class _Announcement(event.Listener):
    """Writes the message when numba compiles the first loop of skrank in this process."""

    made = False

    def on_start(self, event):
        """One of numba's compilations begins."""
        if not self.made and (event.data["dispatcher"].py_func.__module__ or "").startswith(
            "skrank."
        ):
            self.made = True
            if os.environ.get("SKRANK_QUIET", "0") in ("", "0"):
                print(MESSAGE, file=sys.stderr, flush=True)

    def on_end(self, event):
        """Nothing to say."""


event.register("numba:compile", _Announcement())
