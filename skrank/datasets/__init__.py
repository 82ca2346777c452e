"""Data sets: collections in the formats of LETOR, and generated rankings."""

from skrank.datasets._letor import Fold, load_letor
from skrank.datasets._made import make_ranking

__all__ = ["Fold", "load_letor", "make_ranking"]
