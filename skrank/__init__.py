"""Learning to rank with graded relevance, inside scikit-learn, LightGBM and XGBoost."""

import lazy_loader

__version__ = "0.2.0"

# The public names stand in __init__.pyi, and are imported when they are first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

# What `from skrank import *` brings needs no extra, and hides no library of the same name.
__all__ = [name for name in __all__ if name not in ("dask", "lightgbm", "torch", "xgboost")]
