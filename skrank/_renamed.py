"""Names and arguments of versions before 0.3; to be removed in 0.4.

`_renamed.csv` has what replaces them: an expression, and the old names and arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


@cache  # read when it is needed, not by `import skrank`
def replacements() -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """What replaces names, and arguments by functions and classes, such as "compare(alpha)"."""
    from pathlib import Path

    names: dict[str, str] = {}
    arguments: dict[str, dict[str, str]] = {}
    for row in Path(__file__).with_suffix(".csv").read_text(encoding="utf-8").splitlines()[1:]:
        use, _, old_names = row.partition("|")
        for old in old_names.split():
            function, _, argument = old.removesuffix(")").partition("(")
            if argument:
                arguments.setdefault(function, {})[argument] = use
            else:
                names[old] = use
    return names, arguments


def refuse_old_arguments(function: F) -> F:
    """Decorator: an argument of an earlier version raises a TypeError that names the new one.

    It decorates a function, or a class, whose `__init__` then refuses the argument.
    """
    name, owner = function.__qualname__, cast(Any, function)
    full = f"{function.__module__.split('.')[1]}.{name}"  # such as trec.evaluate
    is_class = isinstance(function, type)
    called = owner.__init__ if is_class else owner

    @wraps(called)
    def call(*args: Any, **kwargs: Any) -> Any:
        arguments = replacements()[1] if kwargs else {}
        for old, use in arguments.get(full, arguments.get(name, {})).items():
            if old in kwargs:
                raise TypeError(f"{name} has no argument {old} any more: use {use}.")
        return called(*args, **kwargs)

    if is_class:
        owner.__init__ = call
        return function
    return cast(F, call)


def refuse_old_names(module: str) -> None:
    """Give a module a `__getattr__`: an old name raises an ImportError that names the new one.

    An AttributeError would not reach users: ``from skrank import old`` replaces its message. Type
    checkers do not see the function, so that they still refuse names that a module does not have.
    """
    otherwise = vars(sys.modules[module]).get("__getattr__")

    def find(name: str) -> object:
        use = replacements()[0].get(f"{module}.{'*_score' if name.endswith('_score') else name}")
        if use is not None:
            raise ImportError(f"{module} has no {name} any more: use {use}.", name=name)
        if otherwise is not None:
            return otherwise(name)
        raise AttributeError(f"{module} has no {name}")

    vars(sys.modules[module])["__getattr__"] = find
