"""Messages of the library, with options of the command in place of parameters of Python."""

from __future__ import annotations

import re

# a pattern of words for Python, and the words for the command
_PHRASES = (
    (r"pass a dict from names to runs", "name each file once"),
    (r"choose missing='zero' or 'skip'", "choose --missing zero or --missing skip"),
    (r"missing='skip' leaves", "--missing skip leaves"),
    (r'choose empty="skip", 0 or 1', "choose --empty skip, --empty 0 or --empty 1"),
    (r"without chunksize", "without --chunksize"),
    (r", for example with numpy\.\w+", ""),
    (r"such as grades=range\(5\)", "such as --max-grade 4, or columns p_0 to p_4"),
    (r"is above max_grade=(\d+) of", r"is above \1, the highest grade of"),
    (r"as max_grade\b", "with --max-grade"),
    (r"with its empty=0", "with --empty 0"),
    (r"\bk=(\S+) (must be a number)", r"-k \1 \2"),
    (r"\bname=(\S+) is the name", r"--name \1 is the name"),
    (r"n_splits=(\S+): there must", r"--folds \1: there must"),
    (r"QueryKFold\(n_splits=(\d+)\) needs", r"--folds \1 needs"),
    (r"\bn=(\S+) (must|is beyond)", r"-n \1 \2"),
    (r"tell\(\.\.\., replace=True\) takes", "--replace takes"),
    (r"skrank\.evaluate or skrank\.trec\.evaluate, which take", "skrank evaluate, which takes"),
    (r"skrank\.evaluate measures", "skrank evaluate measures"),
    (r", or divide and pass floats", ", or write it with a decimal point"),
    # parameters of a metric are in the brackets of its name
    (r'choose (labels|ties|condensed)="(\w+)"', r"write \1=\2 in the brackets of the metric"),
    (r'\b(labels|ties|condensed|average)=["\'](\w+)["\']', r"\1=\2"),
)
_OPTIONS = (
    "anytime", "budget", "chunksize", "confidence", "depth", "empty", "estimator", "judged_only",
    "max_grade", "method", "missing", "mixing", "norm", "pool_judged", "random_state", "rel",
    "replace", "weights",
)  # fmt: skip
# outside of the brackets of a metric, such as gap(max_grade=4)
_OPTION = re.compile(rf"(?<![(,\w-])({'|'.join(_OPTIONS)})=(True\b)?")


def with_options(message: str) -> str:
    """A message that names options in place of parameters.

    Examples
    --------
    >>> from skrank.cli._words import with_options
    >>> with_options("max_grade=0 must be at least 1")
    '--max-grade=0 must be at least 1'
    """
    for pattern, words in _PHRASES:
        message = re.sub(pattern, words, message)
    return _OPTION.sub(_option, message)


def _option(found: re.Match[str]) -> str:
    name = "--" + found[1].replace("_", "-")
    return name if found[2] else f"{name}="
