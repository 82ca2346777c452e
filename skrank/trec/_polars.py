"""polars, imported when one of its names is first used.

polars is an extra, and takes long to import. Its threads do not survive a fork: in a forked child,
a call of polars would wait for ever, so that names raise an error there.
"""

import os
from typing import Any

_pid = 0  # of the process that first used a name


def __getattr__(name: str) -> Any:
    global _pid
    try:
        import polars
    except ImportError:
        raise ImportError("skrank.trec needs polars: pip install skrank[trec]") from None
    _pid = _pid or os.getpid()
    if os.getpid() != _pid:
        raise RuntimeError(
            "the threads of polars, which skrank.trec uses, do not survive a fork: start worker "
            'processes by multiprocessing.get_context("spawn") or "forkserver".'
        )
    return getattr(polars, name)
