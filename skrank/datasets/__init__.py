"""Data sets: collections in the formats of LETOR, and generated rankings."""

from skrank.datasets._letor import LETOR as LETOR
from skrank.datasets._letor import Fold as Fold
from skrank.datasets._letor import load_letor as load_letor
from skrank.datasets._made import make_ranking as make_ranking
