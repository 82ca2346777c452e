"""``skrank`` and ``python -m skrank``: the command line."""

import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # an interrupt ends the process without a traceback, also while modules are imported
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from skrank.cli import main as program

if __name__ == "__main__":
    sys.exit(program())
