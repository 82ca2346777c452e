"""Base class of the rankers: input, score and tags by the conventions of scikit-learn."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import RegressorTags, Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from skrank import _validation as check
from skrank._engine.groups import require_groups, resolve_groups, without_queries
from skrank._fitted import cloned, predicted_scores, restored_on_failure
from skrank._ranked_lists import rank
from skrank._typing import Estimator, Options, Table
from skrank._warnings import warn
from skrank.dask._partitions import head_of
from skrank.dask._predict import predict_collection
from skrank.metrics import Metric
from skrank.rankers._rows import VALIDATION_ROWS, Part, Rows
from skrank.scoring import RankingScorer, scorer

# early_stopping_rounds="auto" of all rankers: large, as metrics of few queries are noisy; not tuned
_PATIENCE = {"rounds": 50, "epochs": 10, "steps": 50}  # of boosting, a network, a linear ranker


class Ranker(BaseEstimator, ABC):
    """An estimator whose `fit` takes groups, and whose `score` is the metric `scoring`."""

    __metadata_request__fit: ClassVar[dict[str, object]] = {"groups": True}
    __metadata_request__score: ClassVar[dict[str, object]] = {"groups": True}

    _defaults: ClassVar[Options] = {}  # of `options`, for rankers with this parameter

    scoring: str | Metric | RankingScorer
    eval_metric: Any  # this and the next of rankers that call `_patience`
    early_stopping_rounds: int | str | None
    _inner: ClassVar[tuple[str, ...]] = ()  # parameters that are estimators

    def fit(
        self,
        X: Table,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        X_val: Table | None = None,
        y_val: ArrayLike | None = None,
        groups_val: ArrayLike | None = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Features: numbers, which may be NaN but not infinite, and categories. A `GroupedRanker`
            and a `RankerMean` accept the features that their estimators accept. A `LinearRanker`, a
            `GroupedRanker` with a Dask ranker, and a `RankerMean` of these also accept Dask
            collections for all arguments; each query must lie in one partition.
        y : array-like of shape (n_rows,)
            Labels; at least 0 if the estimator or `init` is a ranker, or `eval_metric` is given.
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" of `y` or of `X`, or the column "qid"
            of a frame `X`, which is never a feature.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row's query, constant inside a query.
        X_val, y_val, groups_val : optional
            Validation rows, instead of those of `validation_fraction`. They decide when training
            stops early, and which of several numbers `alpha` a `LinearRanker` uses.

        Returns
        -------
        self
            The fitted ranker.

        Raises
        ------
        ValueError
            If groups are missing, have the wrong length, or differ between two sources; if a label
            is negative or NaN, or all are 0; if weights vary inside a query; if a feature is
            infinite, or is text and not a category; if the ranker or its estimator does not support
            the objective, the metric or early stopping; if only a part of the arguments for
            validation is given.

        Warns
        -----
        ConvergenceWarning
            If a `LinearRanker` does not converge in `max_iter` iterations.
        """
        return self._fit(Rows(X, y, groups, sample_weight), X_val, y_val, groups_val)

    def predict(self, X: Table) -> np.ndarray:
        """Score rows. Inside a query, rows with higher scores rank higher.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), or a Dask collection
            In the order of the rows. Of a `LinearRanker`, ``feature_map_.transform(X) @ coef_``. Of
            a `GroupedRanker`, the scores of its estimator, which are expected grades if this is a
            classifier; with `init`, the scaled scores of `init` plus those of the rounds. Of a
            `RankerMean`, the weighted mean of the scores of its rankers. The scores of each ranker
            are divided by their standard deviation inside the training queries. Of a
            `NeuralRanker`, the output of the network.

        Raises
        ------
        ValueError
            If a feature is infinite, or NaN for a `NeuralRanker`, or a score is not finite.
        """
        if hasattr(X, "__dask_graph__"):
            self._checked(head_of(X))
            return predict_collection(self, X)
        return self._predict(self._checked(X))

    def score(
        self,
        X: Table,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Measure the ranking of rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: as in `fit`.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row's query, constant inside a query.

        Returns
        -------
        float
            Mean over queries of `scoring`; negated if lower is better.
        """
        self._checked(X)  # before the scorer asks for groups, as checks of scikit-learn expect
        value = self._scorer()(self, X, y, groups=groups, sample_weight=sample_weight)
        assert not isinstance(value, dict)  # a scorer of one metric
        return value

    def rank(
        self,
        X: Table,
        groups: ArrayLike | None = None,
        *,
        ids: ArrayLike | None = None,
        k: int | None = None,
        ties: str = "stable",
    ) -> pd.DataFrame:
        """List the documents of each query, highest score first.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level or the column "qid" of `X`; without both,
            all rows belong to one query, with the id 0.
        ids : array-like of shape (n_rows,), optional
            Document of each row, at most once per query. Default: the number of the row.
        k : int, optional
            Largest number of documents per query. Default: all.
        ties : {"stable", "average", "best", "worst"}, default="stable"
            Rank of documents with equal scores, see `skrank.rank`.

        Returns
        -------
        pandas.DataFrame
            A row per listed document, with the columns qid, rank (from 1), docid and score.

        Raises
        ------
        ValueError
            If groups have the wrong length, or differ between two sources; if a document occurs
            twice in a query.

        See Also
        --------
        skrank.rank : the same for any scores.

        Examples
        --------
        >>> from skrank import LinearRanker
        >>> from skrank.datasets import make_ranking
        >>> data = make_ranking(n_queries=60, random_state=0)
        >>> ranker = LinearRanker("gap").fit(data.X, data.relevance, data.qid)
        >>> top = ranker.rank(data.X, data.qid, k=3)
        >>> top.columns.to_list(), len(top)
        (['qid', 'rank', 'docid', 'score'], 180)
        """
        check.check_same_index(X=X, groups=groups, ids=ids)
        return rank(predicted_scores(self, X), resolve_groups(groups, X=X), ids=ids, k=k, ties=ties)

    # steps of fit ---------------------------------------------------------------------------------

    def _fit(
        self,
        train: Rows,
        X_val: Table | None,
        y_val: ArrayLike | None,
        groups_val: ArrayLike | None,
    ) -> Self:
        """Check the arguments of `fit`, and train."""
        if train.y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together: give both, or none.")
        if X_val is None and groups_val is not None:
            raise ValueError("groups_val is the query of each row of X_val: give X_val and y_val.")
        valid = None if y_val is None else Rows(X_val, y_val, groups_val)
        on_dask = hasattr(train.X, "__dask_graph__")
        if not on_dask:
            check.check_same_index(
                X=train.X, y=train.y, groups=train.groups, sample_weight=train.sample_weight
            )
            if valid is not None:
                check.check_same_index(X_val=valid.X, y_val=valid.y, groups_val=valid.groups)
        if valid is not None and getattr(self, "validation_fraction", None) is not None:
            raise ValueError("X_val and validation_fraction are given: set one of the two.")
        self._scorer()  # raises if `scoring` is wrong
        self._check_parameters(has_X_val=valid is not None)
        with restored_on_failure(self):
            if on_dask:
                self._train_on_dask(train, valid)
                return self
            resolved = self._resolved(train, validation=False)
            self._train(resolved, None if valid is None else self._validation_part(valid))
        return self

    def _validation_part(self, rows: Rows) -> Part:
        """Checked validation rows, sorted by query if the queries are needed."""
        with check.about(VALIDATION_ROWS):
            rows = self._resolved(rows, validation=True)
            return rows.check(unjudged=self._options()["unjudged"], graded=self._graded).part()

    def _resolved(self, rows: Rows, *, validation: bool) -> Rows:
        """The rows with X as a checked table, and one query id per row, or None if not needed."""
        table = self._table(without_queries(rows.X), reset=not validation)
        check_consistent_length(table, rows.y)
        ids = None
        if self._needs_queries(validation=validation):
            who = "validation (groups_val)" if validation else f"{type(self).__name__}.fit"
            ids = require_groups(rows.groups, rows.y, rows.X, who=who)
        return replace(rows, X=table, groups=ids)

    def _check_parameters(self, *, has_X_val: bool) -> None:
        """Raise if a parameter is wrong; `has_X_val` is True if the caller gives `X_val`."""

    def _table(self, X: Table, *, reset: bool) -> Table:
        """X as a checked table; stores its features if `reset`, else compares with the stored."""
        X = check.feature_table(X, keep_polars=False)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _options(self) -> Options:
        """`options` with their defaults."""
        options = getattr(self, "options", None)
        options = {} if options is None else options
        if not isinstance(options, Mapping):
            raise ValueError(
                f"options={check.brief(options)} must be a mapping of {', '.join(self._defaults)}."
            )
        check.check_known(f"options of {type(self).__name__}", options, self._defaults)
        return self._defaults | dict(options)

    def _scorer(self) -> RankingScorer:
        """The scorer that `scoring` names; raises if it has several metrics."""
        with check.about("scoring"):  # errors name the parameter
            scoring = self.scoring
            if not isinstance(scoring, RankingScorer):
                scoring = scorer(scoring)
        if len(scoring.metrics) > 1:
            raise ValueError(f"scoring={scoring} has several metrics: give one.")
        return scoring

    def _patience(self, unit: str) -> int | None:
        """Number of rounds, epochs or steps without improvement after which training stops."""
        patience = self.early_stopping_rounds
        if isinstance(patience, str) and patience == "auto":
            return _PATIENCE[unit]
        if patience is None:
            return None
        return check.check_count(
            "early_stopping_rounds", patience, f'{unit} without improvement, or "auto"'
        )

    def _checked_patience(self, unit: str, *, has_X_val: bool) -> int | None:
        """`_patience`; without validation rows, warns of parameters that have no effect."""
        patience = self._patience(unit)
        unused = [] if self.eval_metric is None else ["eval_metric"]
        if patience is not None and self.early_stopping_rounds != "auto":
            unused.append("early_stopping_rounds")
        if unused and not has_X_val and getattr(self, "validation_fraction", None) is None:
            warn(
                f"{' and '.join(unused)} of {type(self).__name__} without validation rows: all "
                f"{unit} are trained. Set validation_fraction, or give X_val, y_val and groups_val "
                "to fit.",
            )
        return patience

    def _needs_queries(self, *, validation: bool) -> bool:
        """True if each row must have a query; `validation` asks about the validation rows."""
        return True

    @property
    def _graded(self) -> bool:
        """True if labels must be at least 0."""
        return True

    @abstractmethod
    def _train(self, train: Rows, valid: Part | None) -> None:
        """Train on rows that `_resolved` returned, and set the fitted attributes."""

    def _train_on_dask(self, train: Rows, valid: Rows | None) -> None:
        """Train on Dask collections, and set the fitted attributes."""
        raise no_collections(self)

    @abstractmethod
    def _predict(self, X: Table) -> np.ndarray:
        """Scores of a table that `_checked` returned."""

    def _checked(self, X: Table) -> Table:
        """X as a table; raises if the ranker is not fitted or X has other features than in fit."""
        check_is_fitted(self)
        X = self._table(without_queries(X), reset=False)
        if X.shape[0] == 0:
            raise ValueError("X has no rows: there is no document to rank.")
        return X

    def __sklearn_clone__(self) -> Self:
        bare = copy.copy(self)
        for name in self._inner:  # `clone` of scikit-learn refuses some of them
            setattr(bare, name, None)
        clone = super(Ranker, bare).__sklearn_clone__()
        for name in self._inner:
            setattr(clone, name, cloned(getattr(self, name), safe=False))
        return clone

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # ensembles of scikit-learn use a ranker as a regressor: it predicts one number per row
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags(poor_score=True)
        tags.target_tags.required = True
        return tags


def no_collections(ranker: Estimator) -> ValueError:
    """The error if a ranker that trains in memory gets Dask collections."""
    name = type(getattr(ranker, "estimator", ranker)).__name__
    return ValueError(
        f"X is a Dask collection, and {name} trains on one machine: pass arrays "
        'that fit into memory, or train recommended_ranker("xgboost.dask"), a GroupedRanker with '
        "DaskLGBMRanker or DaskXGBRanker, or a LinearRanker."
    )
