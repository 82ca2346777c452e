"""
A report for the browser
========================

``skrank evaluate --format html`` writes one page with tests, tables that sort,
differences by query and curves. The page loads nothing from the network.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from skrank.cli import main

# %%
# Judgments and two runs, as files:

rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())
pairs = [
    (f"q{query}", f"d{number}") for query in range(25) for number in range(20)
]
labels = rng.choice(3, p=[0.6, 0.3, 0.1], size=len(pairs))
frame = pd.DataFrame(pairs, columns=["qid", "docid"])
frame.assign(label=labels).to_csv(folder / "qrels.csv", index=False)
for name, spread in {"new": 0.8, "old": 1.2}.items():
    scores = labels + spread * rng.normal(size=len(pairs))
    frame.assign(score=scores, run=name).to_csv(
        folder / f"{name}.csv", index=False
    )

# %%
# The command, as typed in a shell, without the folders: ``skrank evaluate
# qrels.csv new.csv old.csv -m gap -m ndcg@10 --format html --output
# report.html``

files = [str(folder / f"{name}.csv") for name in ("qrels", "new", "old")]
page = folder / "report.html"
main(
    [
        "evaluate",
        *files,
        "-m",
        "gap",
        "-m",
        "ndcg@10",
        "--format",
        "html",
        "--output",
        str(page),
    ]
)
print("wrote", page.name, "of", round(page.stat().st_size / 1000), "kB")

# %%
# Without ``--format html``, the command prints the means:

main(["evaluate", *files, "-m", "gap", "-m", "ndcg@10"])

# %%
# The differences by query are also a plot:

import matplotlib.pyplot as plt

from skrank import trec

report = trec.evaluate(files[0], files[1:], ["gap", "ndcg@10"])
report.plot("gap")
plt.show()
