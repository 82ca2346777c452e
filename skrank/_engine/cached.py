"""Attributes that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):
    """`functools.cached_property` without a lock.

    Python 3.11's holds one while it computes. A process that is forked meanwhile, by another
    thread, would wait for it forever. Here two threads may compute the same value; either will do.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        """The value, which hides this from then on."""
        if instance is None:
            return self
        return instance.__dict__.setdefault(self.name, self.compute(instance))
