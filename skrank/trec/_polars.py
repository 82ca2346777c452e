"""polars, imported when one of its names is first used.

polars is an extra, and takes long to import. Its threads do not survive a fork: in a forked child,
a call of polars would wait for ever, so that names raise an error there.
"""

import os
from typing import Any

_pid = 0  # of the process that imported polars


def __getattr__(name: str) -> Any:
    global _pid
    try:
        import polars
    except ImportError:
        raise ImportError("skrank.trec needs polars: pip install skrank[trec]") from None
    _pid = _pid or os.getpid()
    if os.getpid() != _pid:
        raise RuntimeError(
            "skrank.trec was used in this process and again after a fork, which the threads of "
            'polars do not survive: start worker processes by "spawn" or "forkserver", such as '
            'multiprocessing.get_context("spawn").'
        )
    return getattr(polars, name)
