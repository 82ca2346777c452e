"""``python -m skrank``: the command line."""

import sys

from skrank.cli import program

sys.exit(program())
