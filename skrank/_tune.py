"""tune: search the best booster and its parameters within a time budget."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from skrank import _validation as check
from skrank import with_groups
from skrank._printed import Printed
from skrank._progress import Bar
from skrank._progress import progress as progress_bar
from skrank._typing import Options, RandomState, Table
from skrank._warnings import warn
from skrank.extending import Queries, require_groups
from skrank.metrics import Metric
from skrank.model_selection import QueryKFold, search_space
from skrank.rankers import GroupedRanker, LinearRanker
from skrank.scoring import scorer

if TYPE_CHECKING:
    import optuna
    import pandas as pd

_MOST_GRADES = 64  # distinct labels that GAP trains on, with label 0, which it always counts
_ROUNDS = 1000  # upper bound; early stopping usually ends training earlier
# Rows from which several threads train faster. On busy cores, threads of LightGBM wait for each
# other: a trial on 1,229 rows took 30 s.
_SEVERAL_THREADS = 50_000
# Parameters of the first trial of each booster, from the page "What should I train?" of the docs.
_FIRST: dict[str, Options] = {
    "lightgbm": {
        "num_leaves": 15, "min_child_samples": 50, "extra_trees": True, "learning_rate": 0.05,
        "colsample_bytree": 0.7, "reg_lambda": 10.0,
    },
    "xgboost": {
        "max_depth": 4, "min_child_weight": 1.0, "reg_lambda": 10.0, "learning_rate": 0.05,
        "colsample_bytree": 0.7, "subsample": 0.8,
    },
    "catboost": {"depth": 4, "l2_leaf_reg": 3.0, "random_strength": 1.0, "learning_rate": 0.05},
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Tuning(Printed):
    """Result of `tune`.

    Attributes
    ----------
    ranker : GroupedRanker
        The best ranker, trained on all queries.
    params : dict
        Its booster and the parameters that were searched.
    value : float
        Mean over folds of the metric with these parameters, negated if lower is better. The highest
        of many values is biased upwards: measure `ranker` on other queries.
    trials : pandas.DataFrame
        Optuna's table, best first: number, state ("COMPLETE", "PRUNED", "FAIL", or "OUT OF TIME"
        for a trial that the time budget has cut off), value (NaN unless complete), duration, and
        parameters.
    study : optuna.Study
    """

    ranker: GroupedRanker
    params: Options
    value: float
    trials: pd.DataFrame
    study: optuna.Study

    @property
    def caption(self) -> str:
        """Number of trials by state, boosters without a complete trial, and the best parameters."""
        states = self.trials["state"].value_counts()
        counts = ", ".join(f"{count} {state.lower()}" for state, count in states.items())
        best = ", ".join(
            f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in self.params.items()
        )
        measured = set(self._complete["booster"])
        searched = self.study.user_attrs["boosters"]
        missing = [booster for booster in searched if booster not in measured]
        longer = f"; without a complete trial, search longer: {', '.join(missing)}"
        return f"trials: {counts}; best {self.value:.4f}: {best}{longer if missing else ''}"

    def _printed(self) -> dict[str, pd.DataFrame]:
        return {"best trials": self._complete[["booster", "value"]].head(5)}

    @property
    def _complete(self) -> pd.DataFrame:
        return self.trials[self.trials["state"] == "COMPLETE"]


def tune(
    X: Table,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    metric: str | Metric = "ndcg@10",
    time_budget: float = 60.0,
    boosters: Sequence[str] | None = None,
    cv: int = 3,
    progress: bool | None = None,
    random_state: RandomState = None,
) -> Tuning:
    """Search the best booster and its parameters in limited time, and train it on all queries.

    Every candidate starts from the scores of a linear ranker; LightGBM and XGBoost train on GAP,
    CatBoost on YetiRank. If labels are not whole numbers, or more than 64 are distinct, softmax
    takes the place of GAP, unless `metric` is GAP. Optuna draws the booster, and its parameters
    from `skrank.search_space`; the first trial of each booster has the parameters that "What should
    I train?" recommends. A candidate is measured on folds of whole queries. In each fold, it stops
    early on a fifth of the training queries. After each fold but the last, from the fourth trial
    on, a trial is pruned if its best mean so far is below the median of the previous trials after
    as many folds. A trial that fails is recorded, and the search goes on. Below 50,000 rows,
    boosters train with one thread.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
        Labels, at least 0.
    groups : array-like of shape (n_rows,), optional
        Query of each row. Default: the index level "qid" of `y`, or of `X`.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query: in training, in early stopping, and in
        the means of the metric over queries.
    metric : str or Metric, default="ndcg@10"
        Metric by which candidates are compared and stop early.
    time_budget : float, default=60
        Seconds of the search and of the final training, whose time is estimated from the trials.
        The search ends after a fold, but not before one trial is complete.
    boosters : sequence of {"lightgbm", "xgboost", "catboost"}, optional
        Default: all installed boosters.
    cv : int, default=3
        Number of folds.
    progress : bool or None, default=None
        Whether to show what is trained, the time, the number of trials and the best value. None:
        on a terminal.
    random_state : int, RandomState instance or None, default=None
        Seed of the sampler and of the rankers. The number of trials depends on the speed of the
        machine; the parameters of the n-th trial do not.

    Returns
    -------
    Tuning
        The trained ranker, and the table of the trials.

    Raises
    ------
    ImportError
        If Optuna or the boosters are not installed.
    ValueError
        If `time_budget` is 0, or too few queries have a relevant document; if groups are missing,
        or differ between two sources; if weights vary inside a query; if every booster fails.

    Warns
    -----
    UserWarning
        If a trial fails.

    See Also
    --------
    skrank.search_space : the parameters and their ranges.

    Examples
    --------
    >>> import skrank
    >>> from skrank.datasets import make_ranking
    >>> data = make_ranking(n_queries=40, random_state=0)
    >>> y = skrank.with_groups(data.relevance, data.qid)
    >>> found = skrank.tune(
    ...     data.X, y, time_budget=0.1, boosters=["lightgbm"], cv=2, random_state=0
    ... )
    >>> found.params["booster"]
    'lightgbm'
    >>> found.ranker.predict(data.X).shape == data.relevance.shape
    True
    """
    try:
        import optuna
    except ImportError:
        raise ImportError("skrank.tune needs Optuna: pip install skrank[tune]") from None
    start = time.monotonic()
    check.check_number("time_budget", time_budget, 0, 1e9, open_low=True)  # 1e9 is a free choice
    check.check_count("cv", cv, "folds of whole queries", least=2)
    chosen = _boosters(boosters)
    measured = scorer(metric).metrics[0]
    check_consistent_length(X, y)
    check.check_same_index(X=X, y=y, groups=groups, sample_weight=sample_weight)
    ids = require_groups(groups, y, X, who="tune")
    labels = y if "qid" in getattr(getattr(y, "index", None), "names", ()) else with_groups(y, ids)
    values = check.as_vector("y", labels)
    if (row := check.first(np.isnan(values))) >= 0:
        raise ValueError(
            f"row {row} of y was not judged: leave out such rows, "
            "and call skrank.with_groups on the others, or give them the label 0."
        )
    check.number_columns(X, check.MAKE_CATEGORY, {check.LEVEL}, categories=())  # raises
    relevant = len(np.unique(ids[values > 0]))
    if relevant < 2 * cv:
        raise ValueError(
            f"{relevant} queries have a relevant document, and cv={cv} folds with validation need "
            f"at least {2 * cv}: label more queries, lower cv, or train skrank.LinearRanker, which "
            "needs no search."
        )
    rng = check.as_random_state("random_state", random_state)
    seed = int(rng.randint(2**31 - 2**20))  # LightGBM takes seeds below 2**31
    weights = None
    if sample_weight is not None:
        weights = check.as_vector("sample_weight", sample_weight, len(ids))
        check.query_weights(weights, Queries.from_groups(ids))  # raises if they vary inside a query
    folds = list(QueryKFold(cv, stratify="n_relevant").split(X, labels))
    form = "{desc}: {percentage:3.0f}%|{bar}| {n:.0f} of {total:g} s{postfix}"
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # no line for each trial
    try:
        study = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=3),
        )  # fmt: skip
        with progress_bar(progress, time_budget, "s", desc="tune", bar_format=form, delay=0) as bar:
            search = _Search(
                X, labels, weights, measured, chosen, folds, seed, study, bar, start, time_budget
            )
            bar.write(search.plan, file=sys.stderr)
            study.set_user_attr("boosters", chosen)
            for booster in chosen:
                first = {f"estimator__{name}": value for name, value in _FIRST[booster].items()}
                study.enqueue_trial({"booster": booster, **first, "init_scale": 1.0})
            while not search.is_done:
                study.optimize(search, n_trials=1, catch=(Exception,))
                search.show()
            if not search.count("COMPLETE"):
                failures = [f"{name} failed: {error}" for name, error in search.errors.items()]
                raise ValueError(f"no trial is complete: {'; '.join(failures)}")
            params = dict(study.best_params)
            ranker = search.base(params.pop("booster")).set_params(**params)
            ranker.fit(X, labels, sample_weight=weights)
            search.show()
    finally:
        optuna.logging.set_verbosity(verbosity)
    return Tuning(ranker, dict(study.best_params), study.best_value, _table(study), study)


@dataclass(eq=False)
class _Search:
    """Objective function of the study: mean over folds of the metric with a trial's parameters."""

    X: Table
    y: pd.Series
    weights: np.ndarray | None
    metric: Metric
    boosters: list[str]
    folds: list[tuple[np.ndarray, np.ndarray]]
    seed: int
    study: optuna.Study
    bar: Bar
    start: float  # in seconds of time.monotonic
    budget: float  # in seconds
    final: float = 0.0  # estimated seconds of the final training
    errors: dict[str, Exception] = field(default_factory=dict)  # the last of each booster

    @property
    def objective(self) -> str:
        """Name of the objective that LightGBM and XGBoost are trained on."""
        distinct = np.union1d(check.as_vector("y", self.y), [0.0])
        graded = len(distinct) <= _MOST_GRADES and np.array_equal(distinct, np.rint(distinct))
        return "gap" if graded or self.metric.first_name == "gap" else "softmax"

    @property
    def plan(self) -> str:
        """A line that says what is trained and measured."""
        objectives = dict.fromkeys(self.boosters, self.objective) | {"catboost": "YetiRank"}
        trained = ", ".join(f"{booster} on {objectives[booster]}" for booster in self.boosters)
        n_queries = self.y.index.get_level_values("qid").nunique()
        return (
            f"tune: {trained}, each from a linear ranker, for {self.budget:g} s; measured by "
            f"{self.metric} on {len(self.folds)} folds of {n_queries} queries"
        )

    @property
    def is_over(self) -> bool:
        """True if the time left is that of the final training."""
        return time.monotonic() - self.start + self.final >= self.budget

    @property
    def is_done(self) -> bool:
        """True after the time budget, if a trial is complete, or if all boosters fail."""
        if not self.count("COMPLETE"):
            return len(self.errors) == len(self.boosters)
        return self.is_over

    def count(self, state: str) -> int:
        """Number of trials in a state."""
        trials = self.study.get_trials(deepcopy=False)
        return sum(trial.state.name == state for trial in trials)

    def show(self) -> None:
        """Show the time, the number of trials and the best value."""
        self.bar.n = min(time.monotonic() - self.start, self.budget)
        best = f", best {self.study.best_value:.4f}" if self.count("COMPLETE") else ""
        n_trials = sum(map(self.count, ("COMPLETE", "PRUNED", "FAIL")))
        self.bar.set_postfix_str(f"{n_trials} trials{best}")

    def _part(self, rows: np.ndarray) -> Options:
        """Arguments of `fit` and of the scorer for some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return {"X": _safe_indexing(self.X, rows), "y": self.y.iloc[rows], "sample_weight": weights}

    def base(self, booster: str) -> GroupedRanker:
        """A ranker with the parameters that are not searched."""
        library, seed = import_module(booster), self.seed
        one_thread = len(self.y) < _SEVERAL_THREADS
        if booster == "lightgbm":
            trees = library.LGBMRanker(
                n_estimators=_ROUNDS, subsample=0.8, subsample_freq=1, random_state=seed,
                verbosity=-1,
                n_jobs=int(one_thread),  # 0 is the number of threads of OpenMP
                feature_pre_filter=False,  # True would drop all features of a small fold, and fail
            )  # fmt: skip
        elif booster == "xgboost":
            trees = library.XGBRanker(
                n_estimators=_ROUNDS, random_state=seed, n_jobs=int(one_thread)
            )
        else:
            trees = library.CatBoostRanker(
                loss_function="YetiRank", iterations=_ROUNDS, random_seed=seed, verbose=False,
                allow_writing_files=False, thread_count=1 if one_thread else -1,
            )  # fmt: skip
        objective = self.objective
        return GroupedRanker(
            trees, objective=None if booster == "catboost" else objective,
            eval_metric=self.metric, validation_fraction=0.2, options={"refit": True},
            init="linear" if objective == "gap" else LinearRanker(objective), scoring=self.metric,
            random_state=seed,
        )  # fmt: skip

    def __call__(self, trial: optuna.Trial) -> float:
        import optuna

        booster = trial.suggest_categorical("booster", self.boosters)
        try:
            return self._mean(trial, booster)
        except Exception as error:
            if not isinstance(error, optuna.TrialPruned):
                self.errors[booster] = error
                warn(f"trial {trial.number} of {booster} failed, and the search goes on: {error}")
            raise

    def _mean(self, trial: optuna.Trial, booster: str) -> float:
        """Mean of the metric over folds; raises TrialPruned."""
        import optuna

        begin, n_folds = time.monotonic(), len(self.folds)
        base = self.base(booster)
        ranker = base.set_params(options=None, **search_space(base).suggest(trial))  # without refit
        values: list[float] = []
        for number, (train, test) in enumerate(self.folds, start=1):
            fitted = clone(ranker).fit(**self._part(train))
            value = scorer(self.metric)(fitted, **self._part(test))
            assert not isinstance(value, dict)  # a scorer of one metric
            values.append(value)
            trial.report(float(np.mean(values)), number)
            self.show()
            late = self.is_over and self.count("COMPLETE") > 0
            pruned = trial.should_prune()
            if number < n_folds and (late or pruned):
                trial.set_user_attr("late", late and not pruned)
                raise optuna.TrialPruned
        # The folds together train on n_folds - 1 times all queries. After a training that stops
        # early on 4/5 of its queries, the final training is repeated on all: 1 + 5/4.
        seconds = (time.monotonic() - begin) * 2.25 / (n_folds - 1)
        self.final = max(self.final, seconds)
        return float(np.mean(values))


def _table(study: optuna.Study) -> pd.DataFrame:
    """A row per trial, best first."""
    table = study.trials_dataframe(("number", "state", "value", "duration", "params"))
    late = [bool(trial.user_attrs.get("late")) for trial in study.trials]
    table["state"] = table["state"].mask(late, "OUT OF TIME")
    table = table[table["state"].isin(["COMPLETE", "PRUNED", "FAIL", "OUT OF TIME"])]
    table["value"] = table["value"].where(table["state"] == "COMPLETE")
    table.columns = [name.removeprefix("params_") for name in table.columns]
    return table.sort_values("value", ascending=False, ignore_index=True)


def _boosters(names: Sequence[str] | None) -> list[str]:
    """Names of the boosters to search; by default those that are installed."""
    installed = [name for name in _FIRST if find_spec(name)]
    chosen = installed if names is None else check.chosen_names("boosters", names, _FIRST)
    if not chosen or not set(chosen) <= set(installed):
        raise ImportError(
            f"boosters={check.brief(names)}, and {installed} are installed: pip install "
            "skrank[lightgbm]"
        )
    return list(dict.fromkeys(chosen))
