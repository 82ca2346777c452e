"""Calls that users make, for mypy: those with `type: ignore` are wrong, and mypy refuses them."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.model_selection import GridSearchCV, cross_validate

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import active, datasets, incompleteness, informativeness, stats, trec
from skrank.metrics import GAP, NDCG

# data and splits
data = datasets.make_ranking(60, n_docs=(5, 9), random_state=np.random.default_rng(0))
X, qid = data.X, data.qid
y: pd.Series = skrank.with_groups(data.relevance, qid)
scores: np.ndarray = X[:, 0]
X_train, X_test, y_train, y_test = skrank.query_train_test_split(X, y, test_size=0.5)
cv = skrank.QueryKFold(3, shuffle=True, n_repeats=2, random_state=np.random.RandomState(0))
splits = [(train, test) for train, test in cv.split(X, y)]
n_splits: int = skrank.QueryShuffleSplit(2, test_size=7).get_n_splits()
later = skrank.QueryTimeSeriesSplit(2, time={"q1": 1, "q2": 2}, gap=1)
for number, fold in datasets.load_letor("letor").items():
    print(number, fold.train.X.shape)

# metrics
gap = skrank.metric("gap@10")
value: float = gap(data.relevance, scores, groups=qid)
by_query: pd.Series = gap.per_query(y, scores)
same: bool = gap == GAP(k=10) and str(gap) == "gap@10"
ndcg = skrank.metric("ndcg@5", gain="linear")
weighted = NDCG(k=10)(y, scores, sample_weight=np.ones(len(qid)))
mine = skrank.metric_from_function(lambda labels: float(labels[0] > 0), "first")
skrank.unregister("first")

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
quality: float = linear.score(X_test, y_test)
ranker = skrank.GroupedRanker(
    lgb.LGBMRanker(), objective="gap", eval_metric=["ndcg@10", gap], init="linear"
)
ranker.fit(X, data.relevance, groups=qid, X_val=X, y_val=data.relevance, groups_val=qid)
lists = ranker.rank(X, qid, k=10)
mean = skrank.RankerMean([linear, ranker], weights=[1, 2]).fit(X, y)
search = GridSearchCV(ranker, skrank.search_space(ranker), scoring=skrank.scorer("gap"), cv=cv)
results = cross_validate(search, X, y, scoring=skrank.scorer("gap", "ndcg@10"), cv=cv)
folds = skrank.compare_cv({"a": results, "b": results})
found = skrank.tune(X, y, metric="ndcg@10", time_budget=5, boosters=["lightgbm"], progress=False)
best: skrank.GroupedRanker = found.ranker
number_of_trials: int = len(found.trials)
skrank.save_onnx(best, "ranker.onnx")

# objectives
lambdarank = skrank.LambdaRank(gap, truncation_level=30, norm="score")
softrank = skrank.SoftRank(ndcg, sigma=0.5)
softmax = skrank.GroupedRanker(lgb.LGBMRanker(), objective=skrank.Softmax())
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
log = skrank.xgboost.cv({"eta": 0.1}, matrix, objective="gap", metrics="gap@10", folds=3)

# files of runs
qrels = trec.read_qrels("qrels.txt")
runs = trec.read_runs("runs")
report = trec.evaluate(qrels, runs, ["ndcg@10", "trec_eval:map"], missing="zero", progress=False)
report = trec.evaluate({"q1": {"d1": 2}}, {"run": {"q1": {"d1": 0.9}}})
fused: trec.Run = trec.fuse(runs, "rrf")
robust = incompleteness.robustness(qrels, runs, percents=[100, 50], random_state=0)
study = informativeness.study(qrels, runs, ["gap", "ap"], k=100)

# statistics and active evaluation
t: stats.PairedTest = stats.paired_t(report.per_query)
interval: stats.Interval = stats.bootstrap_interval(scores, n_resamples=100, random_state=None)
tau: float = stats.tau_ap([1, 2, 3], [2, 1, 3])
needed: int = stats.queries_needed(0.02, 0.1)
campaign = active.ActiveComparator(
    {"a": scores, "b": -scores}, qid, metric="ndcg@10", n_queries=30, random_state=0
)

# extras
features = skrank.QueryFeatures(["rank", "zscore"]).fit_transform(X, y)
loss = skrank.torch.RankingLoss(skrank.LambdaRank(gap), reduction="sum")
network = skrank.torch.NeuralRanker("gap", hidden=(16,), random_state=0).fit(X, y)
drawn = skrank.plotting.PrecisionRecallDisplay([0, 1], [1, 0.5], graded=False).plot()
held: list[str] = skrank.testing.check_metric("gap")
names: list[str] = skrank.get_scorer_names()

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
