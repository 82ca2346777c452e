"""Matrix: features in a NumPy array or a CSR matrix, for which these functions do the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse, vstack
from sklearn.utils import _safe_indexing

Matrix: TypeAlias = np.ndarray | csr_matrix

_BLOCK = 2**17  # entries of X that are converted or centred at a time


def is_sparse(X: Matrix) -> TypeGuard[csr_matrix]:
    return issparse(X)


def row_blocks(X: Matrix) -> Iterator[slice]:
    """Slices of rows with about _BLOCK entries; of a sparse matrix, with at least 1 per column."""
    n_rows, n_features = X.shape
    step = _BLOCK // max(1, n_features)
    if is_sparse(X):
        step = n_rows * (_BLOCK + n_features) // (X.nnz + 1)
    step = max(1, step)
    return (slice(row, row + step) for row in range(0, n_rows, step))


def products(X: Matrix, weights: np.ndarray) -> np.ndarray:
    """X @ weights in double precision, with equal results for equal rows.

    BLAS computes rows in groups: the last bit of a product depends on neighbouring rows, and equal
    documents would not tie.
    """
    if is_sparse(X):
        return X @ weights
    out = np.empty(len(X))
    for rows in row_blocks(X):
        block = np.ascontiguousarray(X[rows], dtype=np.float64)
        np.einsum("ij,j->i", block, weights, out=out[rows])
    return out


def has_nan(X: Matrix) -> bool:
    """True if an entry is NaN."""
    if is_sparse(X):
        return bool(np.isnan(X.data).any())
    return any(np.isnan(X[rows]).any() for rows in row_blocks(X))


def with_entries(X: csr_matrix, entries: np.ndarray) -> csr_matrix:
    """A matrix with the sparsity pattern of X and other entries."""
    return csr_matrix((entries, X.indices, X.indptr), X.shape)


def without_duplicates(X: csr_matrix) -> csr_matrix:
    """X, or a copy in which entries of the same row and column are summed."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def bytes_of(X: Matrix) -> int:
    """Bytes of the entries of X and of their indexes."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if is_sparse(X) else X.nbytes


# the functions below also take frames -------------------------------------------------------------


def columns_of(X: Any, columns: np.ndarray) -> Any:
    return _safe_indexing(X, columns, axis=1)


def stack_rows(parts: Sequence[Any]) -> Any:
    """Concatenate frames, arrays or matrices along their rows."""
    if len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def stack_columns(parts: Sequence[Matrix]) -> Matrix:
    """Features side by side, in the layout and the dtype of the first part."""
    if len(parts) == 1:
        return parts[0]
    if issparse(parts[0]):
        return hstack(list(map(csr_matrix, parts)), format="csr", dtype=parts[0].dtype)
    return np.hstack(parts, dtype=parts[0].dtype, casting="unsafe")
