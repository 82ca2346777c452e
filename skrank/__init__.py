"""Learning to rank with graded relevance, inside scikit-learn, LightGBM and XGBoost."""

from importlib.util import find_spec

import lazy_loader

__version__ = "0.2.0"

# The public names stand in __init__.pyi, and are imported when they are first used.
__getattr__, _names, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    """Public names; `help` and `inspect.getmembers` import all, which skrank.torch may refuse."""
    try:
        installed = find_spec("torch") is not None and find_spec("skorch") is not None
    except (ImportError, ValueError):  # ValueError: a module without __spec__, such as a mock
        installed = False
    return [name for name in _names() if installed or name != "torch"]


# What `from skrank import *` brings needs no extra, and hides no library of the same name.
__all__ = [name for name in __all__ if name not in ("dask", "lightgbm", "torch", "xgboost")]
