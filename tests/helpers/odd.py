"""Odd arrays for random tests: dtypes, containers, sizes and extremes that users pass."""

import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st

import skrank

PACKAGE = Path(skrank.__file__).resolve().parent  # of the tree, or an installed one
NAN, INF = float("nan"), float("inf")

GRADES = (0.0, 1.0, 2.0, 3.0)
ODD_LABELS = (NAN, 0.5, 2.5, 4.0, 31.0, 32.0, 64.0, 999.0, 1000.0, 1001.0, 2.0**31, 1e-30, 1e30,
              5e-324, 1e-101, 1e101, 1e308, INF, -INF, -1.0, -0.0)  # fmt: skip
ODD_SCORES = (0.0, -0.0, -INF, 5e-324, -5e-324, 1e-300, 1e308, -1e308, 2.0**53, 1 + 2.0**-52, 1.0,
              NAN, INF)  # fmt: skip
IDS = (0, 1, -1, 7, 2**31, 2**53, 2**53 + 1, 0.5, "a", "b", "", "1", "nan", b"a", True, None, NAN,
       pd.NA, pd.NaT, (1, 2), 1j, frozenset({1}))  # fmt: skip
DTYPES = ("f8", "f4", "f2", ">f8", "<f4", "i8", "i4", "i1", ">i2", "u1", "u8", "?", "O", "g", "c16",
          "U8", "S8", "m8[s]", "M8[s]")  # fmt: skip


def of_dtype(values, dtype):
    """An array of the type, as far as it has these values."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        array = _as_array(values)
        try:
            return np.asarray(values, dtype="O").astype(dtype)
        except (TypeError, ValueError, OverflowError):
            return array


def _as_array(values):
    try:
        return np.asarray(values)
    except ValueError:  # of elements of different lengths
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array


def in_container(values, kind):
    """The values in a container of users, or as they are where it cannot hold them."""
    array = _as_array(values)
    try:
        return {
            "array": lambda: array,
            "list": lambda: list(values),
            "tuple": lambda: tuple(values),
            "strided": lambda: np.repeat(array, 2)[::2],
            "reversed": lambda: array[::-1][::-1],
            "read-only": lambda: np.broadcast_to(array, array.shape),
            "column": lambda: array[:, None],
            "Series": lambda: pd.Series(list(values)),
            "Series of its own index": lambda: pd.Series(array, index=np.arange(len(array)) + 5),
            "nullable": lambda: pd.Series(array.astype(float), dtype="Float64"),
            "arrow": lambda: pd.Series(array.astype(float), dtype="double[pyarrow]"),
            "categorical": lambda: pd.Series(pd.Categorical(list(values))),
            "Index": lambda: pd.Index(array),
            "frame": lambda: pd.DataFrame({"x": array}),
            "polars": lambda: pl.Series(array),
            "masked": lambda: np.ma.masked_invalid(array),
            "masked without mask": lambda: np.ma.array(array),
            "matrix": lambda: np.asmatrix(array).T,
            "two columns": lambda: np.stack([array, array], axis=1),
            "scalar": lambda: array[0],
            "set": lambda: set(values),
            "generator": lambda: iter(values),
            "dict": lambda: dict(enumerate(values)),
            "nothing": lambda: None,
        }[kind]()
    except Exception:
        return array


USUAL = ("array", "list", "tuple", "strided", "reversed", "read-only", "column", "Series",
         "Series of its own index", "nullable", "arrow", "Index", "frame", "polars",
         "masked without mask")  # fmt: skip
UNUSUAL = ("categorical", "masked", "matrix", "two columns", "scalar", "set", "generator", "dict",
           "nothing")  # fmt: skip
containers = st.sampled_from(USUAL) | st.sampled_from(USUAL + UNUSUAL)
dtypes = st.sampled_from(("f8", "f8", *DTYPES))
labels = st.sampled_from(GRADES) | st.sampled_from((*GRADES, NAN)) | st.sampled_from(ODD_LABELS)
grades = st.sampled_from((*GRADES, NAN))
scores = st.integers(-2, 2).map(float) | st.sampled_from(ODD_SCORES) | st.floats(-9, 9, width=32)
finite_scores = st.integers(-2, 2).map(float) | st.floats(-1e300, 1e300)
ids = st.integers(0, 2) | st.sampled_from(IDS)


@st.composite
def arrays(draw, elements, size):
    values = draw(st.lists(elements, min_size=size, max_size=size))
    if draw(st.integers(0, 30)) == 0:
        values = values[:-1]
    if not draw(st.booleans()):
        return in_container(values, draw(containers))
    return in_container(of_dtype(values, draw(dtypes)), draw(containers))


def as_floats(values):
    """What numbers an array holds, in double precision."""
    if isinstance(values, pl.Series):
        values = values.to_numpy()
    if isinstance(values, (pd.Series, pd.DataFrame)):
        values = values.to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(all="ignore"):
        return np.asarray(values, dtype=np.float64).ravel()


def is_ours(error):
    """Whether skrank refused an argument: by a statement, or in a check, in which NumPy raised."""
    frames = traceback.extract_tb(error.__traceback__)
    if frames[-1].filename.endswith("sklearn/utils/validation.py"):  # whose checks are for users
        return True
    last = [one for one in frames if PACKAGE in Path(one.filename).parents][-1]
    in_a_check = PACKAGE / "_validation" in Path(last.filename).parents
    return in_a_check or (last is frames[-1] and last.line.startswith("raise "))


def outcome(call):
    """What a call returns, or its error; anything but a value or an error of ours is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "no query has a relevant document", RuntimeWarning)
        message = "(relevance|labels of the qrels) .* as if they were (swapped|scores)"
        warnings.filterwarnings("ignore", message, UserWarning)
        try:
            return call()
        except (ValueError, TypeError, OverflowError) as error:
            if not is_ours(error):
                raise
            return error
