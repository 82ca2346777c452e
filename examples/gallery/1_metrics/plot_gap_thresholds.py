"""
GAP, and what its thresholds mean
=================================

Graded average precision (GAP) models users who differ in which grades they call
relevant. With probability g_i, a user calls grade i and better relevant. GAP is
the expected average precision of such users.
"""

import matplotlib.pyplot as plt
import numpy as np

import skrank

# %%
# Two lists of the same documents: the first has the document of grade 2 on top
# and the documents of grade 1 last; the second has grade 1 first. The better
# list depends on the users.

best_first = [2, 0, 0, 0, 1, 1, 1]
fair_first = [1, 1, 1, 0, 2, 0, 0]
scores = -np.arange(7)

g1 = np.linspace(0, 1, 21)
for name, labels in {
    "best first": best_first,
    "fair ones first": fair_first,
}.items():
    values = [
        skrank.metric("gap", thresholds=[g, 1 - g])(labels, scores) for g in g1
    ]
    plt.plot(g1, values, marker=".", label=name)
plt.xlabel("share of users who are content with grade 1")
plt.ylabel("GAP")
plt.legend()
plt.show()

# %%
# At the right end all users call grade 1 relevant, and GAP is average
# precision. At the left end GAP is average precision of grade 2 alone.

print(
    skrank.metric("gap", thresholds=[1, 0])(best_first, scores),
    skrank.metric("ap")(best_first, scores),
)
print(
    skrank.metric("gap", thresholds=[0, 1])(best_first, scores),
    skrank.metric("ap", rel=2)(best_first, scores),
)
