"""Calls that users make, for mypy: those with `type: ignore` are wrong, and mypy refuses them."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.model_selection import GridSearchCV, cross_validate

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import active, datasets, stats, trec
from skrank.metrics import NDCG

# data and splits
data = datasets.make_ranking(60, n_docs=(5, 9), random_state=np.random.default_rng(0))
X, qid = data.X, data.qid
y: pd.Series = skrank.with_groups(data.relevance, qid)
scores: np.ndarray = X[:, 0]
X_train, X_test, y_train, y_test = skrank.query_train_test_split(X, y, test_size=0.5)
cv = skrank.QueryKFold(3, shuffle=True, n_repeats=2, random_state=np.random.RandomState(0))
splits = [(train, test) for train, test in cv.split(X, y)]
n_splits: int = skrank.QueryShuffleSplit(2, test_size=7).get_n_splits()

# metrics
gap = skrank.metric("gap@10")
value: float = gap(data.relevance, scores, groups=qid)
by_query: pd.Series = gap.per_query(y, scores)
ndcg = skrank.metric("ndcg@5", gain="linear")

# evaluation
report = skrank.evaluate(y, {"a": scores, "b": -scores}, metrics=["gap", ndcg, NDCG(k=3)])
means: pd.DataFrame = report.mean
latex: str = report.to_latex()
table: pd.DataFrame = report.to_frame()
compared = skrank.compare(y, {"a": scores, "b": -scores}, baseline="a", confidence=0.9)
differences: pd.DataFrame = compared.to_frame()
lists: pd.DataFrame = skrank.rank(scores, qid, k=3)

# rankers
linear = skrank.LinearRanker("gap", validation_fraction=0.2).fit(X_train, y_train)
predicted: np.ndarray = linear.predict(X_test)
ranker = skrank.GroupedRanker(
    lgb.LGBMRanker(), objective="gap", eval_metric=["ndcg@10", gap], init="linear"
)
ranker.fit(X, data.relevance, groups=qid, X_val=X, y_val=data.relevance, groups_val=qid)
mean = skrank.RankerMean([linear, ranker], weights=[1, 2]).fit(X, y)
search = GridSearchCV(ranker, skrank.search_space(ranker), scoring=skrank.scorer("gap"), cv=cv)
results = cross_validate(search, X, y, scoring=skrank.scorer("gap", "ndcg@10"), cv=cv)
found = skrank.tune(X, y, metric="ndcg@10", time_budget=5, boosters=["lightgbm"], progress=False)
best: skrank.GroupedRanker = found.ranker

# objectives
lambdarank = skrank.LambdaRank(gap, truncation_level=30, norm="score")
gradient, curvature = lambdarank(data.relevance, scores, groups=qid)

# the boosters' own interfaces
train_set = lgb.Dataset(X, y, group=[10, 20])
lgb.train(
    {"objective": skrank.lightgbm.objective("gap", truncation_level=30), "metric": "None"},
    train_set,
    feval=skrank.lightgbm.eval_metric("gap@10", "ndcg@10"),
)
matrix = xgb.DMatrix(X, y, qid=qid)
xgb.train(
    {"disable_default_eval_metric": 1},
    matrix,
    obj=skrank.xgboost.objective("gap"),
    custom_metric=skrank.xgboost.eval_metric("gap@10"),
    callbacks=[skrank.xgboost.early_stopping("gap@10", rounds=50)],
)

# files of runs
qrels = trec.read_qrels("qrels.txt")
runs = trec.read_runs("runs")
report = trec.evaluate(qrels, runs, ["ndcg@10", "trec_eval:map"], missing="zero", progress=False)
fused: trec.Run = trec.fuse(runs, "rrf")

# statistics and active evaluation
t: stats.PairedTest = stats.paired_t(report.per_query)
interval: stats.Interval = stats.bootstrap_interval(scores, n_resamples=100, random_state=None)
tau: float = stats.tau_ap([1, 2, 3], [2, 1, 3])
campaign = active.ActiveComparator(
    {"a": scores, "b": -scores}, qid, metric="ndcg@10", n_queries=30, random_state=0
)

# extras
features = skrank.QueryFeatures(["rank", "zscore"]).fit_transform(X, y)
loss = skrank.torch.RankingLoss(skrank.LambdaRank(gap), reduction="sum")
network = skrank.torch.NeuralRanker("gap", hidden=(16,), random_state=0).fit(X, y)

# wrong calls
skrank.evaluate(y, scores, groups=qid, metric="gap")  # type: ignore[call-arg]
skrank.evaluate(relevance=y)  # type: ignore[call-arg]
skrank.metric(10)  # type: ignore[arg-type]
skrank.QueryKFold(n_splits="5")  # type: ignore[arg-type]
skrank.LambdaRank(gap, truncation=30)  # type: ignore[call-arg]
skrank.tune(X, y, time_budget="60")  # type: ignore[arg-type]
skrank.GroupedRanker(lgb.LGBMRanker(), validation_fraction="a fifth")  # type: ignore[arg-type]
skrank.scorer(["gap", "ndcg@10"])  # type: ignore[arg-type]
skrank.mrtic("gap")  # type: ignore[attr-defined]
stats.paired_t(scores, alpha=0.05)  # type: ignore[call-arg]
trec.evaluate(qrels, runs, progress="no")  # type: ignore[arg-type]
