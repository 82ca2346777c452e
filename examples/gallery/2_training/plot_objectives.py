"""
Objectives, as pulls between documents
======================================

The gradient of an objective shows how it changes the score of each document of
a query. Scores of good documents rise and scores of bad documents fall, in
proportion to the change of the metric: with a cut-off at 3, gradients are large
for documents that could enter or leave the first three ranks.
"""

import matplotlib.pyplot as plt
import numpy as np

import skrank

labels = np.array([0, 2, 0, 1, 0, 0, 1, 0, 2, 0])
scores = np.linspace(2, -2, 10)

objectives = {
    "LambdaRank, GAP": skrank.LambdaRank("gap", norm=False),
    "LambdaRank, nDCG@3": skrank.LambdaRank("ndcg@3", norm=False),
    "softmax": skrank.Softmax(),
    "squared error, centred": skrank.SquaredError(centered=True),
}
fig, axes = plt.subplots(
    2, 2, sharex=True, figsize=(8, 5), layout="constrained"
)
colours = np.array(["0.7", "tab:cyan", "tab:blue"])[labels]
for ax, (name, objective) in zip(axes.flat, objectives.items(), strict=True):
    gradient, _ = objective(labels, scores, groups=np.zeros(10))
    ax.bar(range(1, 11), -gradient, color=colours)
    ax.axhline(0, color="0.3", linewidth=0.8)
    ax.set_title(name)
for ax in axes[1]:
    ax.set_xlabel("rank (grey: grade 0, light: 1, dark: 2)")
for ax in axes[:, 0]:
    ax.set_ylabel("pull upwards")
plt.show()
