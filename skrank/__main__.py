"""``python -m skrank``: the command line."""

import sys

from skrank.cli import main

sys.exit(main())
