"""
Thresholds of GAP from clicks
=============================

In the user model of GAP, users click on documents that they find relevant. The
click rate of grade i is then g_1 + ... + g_i, and the thresholds are the
differences of the click rate.
"""

import matplotlib.pyplot as plt
import numpy as np

from skrank.informativeness import thresholds_from_clicks

rng = np.random.default_rng(0)
true = np.array([0.2, 0.5, 0.3])
grades = rng.choice(4, p=[0.5, 0.3, 0.15, 0.05], size=20_000)
content = np.concatenate([[0], np.cumsum(true)])
clicks = rng.random(len(grades)) < content[grades]

sizes = [100, 300, 1000, 3000, 10_000, 20_000]
found = np.array(
    [
        thresholds_from_clicks(
            grades[:size],
            clicks[:size],
            shown=np.ones(size),
            max_grade=3,
            method="rate",
        )
        for size in sizes
    ]
)
for grade in range(3):
    (line,) = plt.plot(
        sizes, found[:, grade], marker="o", label=f"g_{grade + 1}"
    )
    plt.axhline(true[grade], color=line.get_color(), linestyle=":")
plt.xscale("log")
plt.xlabel("documents shown")
plt.ylabel("threshold found; dotted: the one that made the clicks")
plt.legend()
plt.show()
