"""What only kernels call has no machine code of its own, and is not kept."""

from __future__ import annotations

import numpy as np
import pytest
from numba import float64
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import TypingError

from skrank._kernels import cache
from skrank._kernels.forms import njit, part


@part()
def square(x):
    return x * x


@part(forceinline=True)
def sum_of_squares(numbers):
    total = 0.0
    for i in range(len(numbers)):
        total += square(numbers[i])
    return total


@part(allocates=True)
def first_numbers(n):
    numbers = np.empty(n)
    for i in range(n):
        numbers[i] = i
    return numbers


@njit(allocates=True)
def of_first_numbers(n):
    return sum_of_squares(first_numbers(n))


@njit()
def of_numbers(numbers):
    return sum_of_squares(numbers), square(len(numbers))


@part()
def wrong(x):
    return x.nothing


@njit()
def calls_what_is_wrong(x):
    return wrong(x)


@part(forceinline=True)
def cube(x):
    return x * x * x


@njit()
def sum_of_cubes(numbers):
    return cube(numbers[0]) + cube(numbers[1])


def test_kernels_take_in_their_parts_of_any_depth():
    assert of_first_numbers(5) == 0 + 1 + 4 + 9 + 16
    assert of_numbers(np.array([1.0, 2.0])) == (5.0, 4)
    assert of_numbers(np.array([3, 4], np.int32)) == (25.0, 4)


def test_parts_are_neither_emitted_nor_kept():
    of_numbers(np.ones(2))
    compiled = square.compiled
    compiled.compile((float64,))  # the kernel may have been kept
    assert compiled.stats.cache_path is None
    assert of_numbers.compiled.stats.cache_path is not None
    for result in compiled.overloads.values():
        with global_compiler_lock:
            result.library._ensure_finalized()
        assert result.library.get_pointer_to_function("cfunc." + result.fndesc.mangled_name) == 0
        with pytest.raises(ValueError, match="object caching not enabled"):
            result.library.serialize_using_object_code()


def test_what_is_wrong_in_a_part_is_told():
    with pytest.raises(TypingError, match="nothing"):
        calls_what_is_wrong(1)


def test_other_versions_of_numba_compile_parts_as_they_like(monkeypatch):
    monkeypatch.setattr(cache, "_LAST_KNOWN_INSIDE", (0, 0))
    assert sum_of_cubes(np.array([1.0, 2.0])) == 9.0
    cube.compiled.compile((float64,))
    (result,) = cube.compiled.overloads.values()
    assert type(result.library) is JITCodeLibrary
    assert cube.compiled.stats.cache_path is None
