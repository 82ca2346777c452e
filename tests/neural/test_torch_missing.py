"""skrank without torch."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, cwd=ROOT, check=True,
    ).stdout.strip()  # fmt: skip


def test_skrank_works_without_torch_and_names_the_extra():
    code = """
import sys
sys.modules["torch"] = None
import skrank
skrank.metric("gap"), skrank.LambdaRank("gap")
try:
    skrank.torch
except ImportError as error:
    print(error)
"""
    assert run(code) == (
        "skrank.torch needs torch, which is not installed: pip install skrank[torch]"
    )
