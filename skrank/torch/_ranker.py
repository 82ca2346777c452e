"""NeuralRanker: a network as an estimator of scikit-learn."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, validate_data
from torch import nn

from skrank import _validation as check
from skrank._cut_queries import warn_of_feature
from skrank._engine.collection import collection_grade
from skrank._engine.groups import require_groups
from skrank.evaluation._evaluate import unique_metrics
from skrank.metrics import Metric
from skrank.objectives import Objective, as_objective
from skrank.rankers._base import Ranker
from skrank.rankers._checks import check_lists
from skrank.rankers._rows import Part, Rows
from skrank.rankers._training import VALIDATION, HeldOut
from skrank.torch._checks import check_trainable, check_training_options, fixed_parameters, usable
from skrank.torch._dataset import QueryDataset
from skrank.torch._loss import RankingLoss
from skrank.torch._network import Standardize, is_standardized, layers
from skrank.torch._training import NeuralTraining, Progress, padded, predict, seeded

_DTYPES = (np.float64, np.float32)  # the first one for all that is neither
_LARGEST = 1e300  # feature, so that differences of any two are numbers
_LARGEST_IN_SINGLE = float(np.finfo(np.float32).max)


class NeuralRanker(Ranker):
    """A network trained on a ranking metric, for every tool of scikit-learn.

    Parameters
    ----------
    objective : str, Metric or Objective, default="gap"
        What to train on, as in `RankingLoss`.
    hidden : sequence of int, or int, default=(64, 32)
        Widths of the hidden layers, with ReLU between them; 16 stands for ``(16,)``.
    module : torch.nn.Module, or function of the number of features, optional
        Another network, or what makes one: from (n_rows, n_features) to (n_rows,) or (n_rows, 1).
        A module is copied.
    epochs : int, default=100
        Passes over the training queries, at most.
    learning_rate : float, default=1e-3
        Of Adam.
    weight_decay : float, default=0.0
        Of Adam.
    dropout : float, default=0.0
        Share of the hidden units that are left out at random in training.
    batch_queries : int, default=16
        Queries of a batch.
    standardize : bool, default=True
        Centre features and divide them by their standard deviation, over the training rows, in
        double precision. The network itself is in single precision.
    eval_metric : str, Metric or a sequence of them, optional
        What early stopping follows; of several, the first. Default: the metric of `objective`, in a
        mixture that of the first which has one, else `scoring`.
    validation_fraction : float, optional
        Share of the training queries to hold out for early stopping. Default: none, and no early
        stopping unless `fit` gets `X_val`.
    early_stopping_rounds : int or None, default=10
        Epochs without improvement after which training stops, where there is validation; the
        weights of the best epoch are restored. None: train to the end, and restore them then.
    warm_start : bool, default=False
        Take up the last training where it stopped, also if it was interrupted, for `epochs` more.
        Where its patience had ended, patience begins anew. Features are standardized as in the
        first fit; `hidden`, `module`, `dropout`, `standardize` and `random_state` must be those of
        the first fit, and all other parameters may change.
    unjudged : {"raise", "drop", "zero"}, default="raise"
        What to do with documents that were not judged (label NaN) in `fit`: refuse them, leave them
        out, or take them for not relevant.
    max_queries : int, optional
        Train on no more than so many queries, drawn at random; more of them include the fewer.
    scoring : str or Metric, default="ndcg@10"
        What `score` measures.
    device : str or torch.device, default="cpu"
    progress : bool, default=False
        Show epochs and values on standard error.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, of the batches, of dropout and of the queries held out.

    Attributes
    ----------
    module_ : torch.nn.Module
        The trained network, that standardizes features itself.
    n_epochs_ : int
        Epochs that were trained.
    best_epoch_ : int
        Epoch, from 1 on, whose weights `module_` has: the best one on the validation queries of the
        last fit, or the last one where it had none.
    evals_result_ : dict of str to dict of str to list of float
        ``evals_result_["validation"]["gap@10"]``: values per epoch, where there is validation;
        NaN for epochs of an earlier fit that did not measure them (`warm_start`).
    max_grade_ : int
        Highest grade among the labels, at least 1. `skrank.scorer` reads it, so that folds share
        one scale.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If `X` has names that are all strings.

    See Also
    --------
    RankingLoss : for training loops of your own.

    Notes
    -----
    The same seed gives the same network on the same machine with the same number of threads of
    torch. Sparse `X` stays sparse but for the rows of a batch.

    Examples
    --------
    >>> import skrank
    >>> from skrank.datasets import make_ranking
    >>> from skrank.torch import NeuralRanker
    >>> data = make_ranking(n_queries=40, random_state=0)
    >>> y = skrank.with_groups(data.relevance, data.qid)
    >>> ranker = NeuralRanker("gap", hidden=(8,), epochs=20, learning_rate=0.01, random_state=0)
    >>> ranker.fit(data.X, y).score(data.X, y) > 0.6
    True
    """

    _fitted_by: ClassVar[str] = "module_"
    module_: nn.Module
    _state: Progress

    def __init__(
        self,
        objective: str | Metric | Objective = "gap",
        *,
        hidden: Sequence[int] | int = (64, 32),
        module: nn.Module | Callable[[int], nn.Module] | None = None,
        epochs: int = 100,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        dropout: float = 0.0,
        batch_queries: int = 16,
        standardize: bool = True,
        eval_metric: str | Metric | Sequence[str | Metric] | None = None,
        validation_fraction: float | None = None,
        early_stopping_rounds: int | None = 10,
        warm_start: bool = False,
        unjudged: str = "raise",
        max_queries: int | None = None,
        scoring: str | Metric = "ndcg@10",
        device: Any = "cpu",
        progress: bool = False,
        random_state: Any = None,
    ) -> None:
        self.objective = objective
        self.hidden = hidden
        self.module = module
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.batch_queries = batch_queries
        self.standardize = standardize
        self.eval_metric = eval_metric
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.warm_start = warm_start
        self.unjudged = unjudged
        self.max_queries = max_queries
        self.scoring = scoring
        self.device = device
        self.progress = progress
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        groups_val: Any = None,
    ) -> NeuralRanker:
        """Train.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Finite features.
        y : array-like of shape (n_rows,)
            Labels, at least 0.
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" of `y`, or of `X`.
        qid : array-like of shape (n_rows,), optional
            Another name for `groups`.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row's query, constant inside a query.
        X_val, y_val, groups_val : optional
            Rows to validate on, instead of `validation_fraction`.

        Returns
        -------
        NeuralRanker
            Itself, fitted.

        Raises
        ------
        ValueError
            If groups are missing, of the wrong length, or disagree; if a label is negative or NaN;
            if weights vary inside a query; if a feature is not finite; if the objective cannot be
            trained on; if scores become infinite; if `warm_start` would take up the training of
            another network. The ranker then stays as it was. (After an interrupt it has the epochs
            that were trained.)
        """
        if groups is not None and qid is not None:
            raise ValueError("groups and qid are two names for the query of each row: give one.")
        if y is None:
            raise ValueError("NeuralRanker requires y to be passed, but the target y is None.")
        asked = {"groups": groups, "qid": qid, "sample_weight": sample_weight}
        check.check_same_index(X=X, y=y, **asked)
        check.check_same_index(X_val=X_val, y_val=y_val, groups_val=groups_val)
        check_training_options(self, X_val, y_val, groups_val)
        again = self.warm_start and hasattr(self, "module_")
        if again:
            check.check_unchanged(self._begun_with, fixed_parameters(self))
        ids = require_groups(groups if qid is None else qid, y, X, who="NeuralRanker.fit")
        begun = copy.copy(self)  # takes the place of this one once nothing is refused any more
        table = begun._table(X, reset=not again)
        warn_of_feature(X, begun)
        with check.about("X and y", also=TypeError):
            check_consistent_length(table, y)
        rows = Rows(table, y, sample_weight, groups=ids, unjudged=self.unjudged)
        check_lists(rows)
        validation = None if X_val is None else (X_val, y_val, groups_val)
        training = begun._begin(rows, y, validation, again=again)
        before, self.__dict__ = self.__dict__, begun.__dict__
        try:
            training.run(self.epochs, self._state)
        except Exception:
            self.__dict__ = before
            raise
        finally:
            self._note()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Score rows: within a query, higher ranks first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)

        Raises
        ------
        ValueError
            If a feature is not finite, or so large that a score would not be finite.
        """
        rows, device = self._checked(X), usable(self.device)
        return predict(self.module_.to(device), rows, device)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags

    # parts of fit ---------------------------------------------------------------------------------

    def _begin(
        self, rows: Rows, y: Any, validation: tuple[Any, Any, Any] | None, *, again: bool
    ) -> NeuralTraining:
        """Choose the rows and the network of a training, which begins or is taken up again."""
        if again:
            self._state = replace(self._state)  # a copy, as of the network
        else:
            rng = check_random_state(self.random_state)
            self._state = Progress(seed=int(rng.randint(2**31 - 1)))
        self._begun_with = fixed_parameters(self)
        choices = check_random_state(self._state.seed)
        chosen, held_out = rows.choose(self.max_queries, self.validation_fraction, choices)
        train, valid = rows.part(chosen), rows.part(held_out) if len(held_out) else None
        self.module_ = copy.deepcopy(self.module_) if again else self._network(train.X)
        if validation is not None:
            with check.about("X_val and y_val", also=TypeError):
                valid = self._external(*validation)
        labels = rows.y if valid is None else np.append(rows.y, valid.y)
        self.max_grade_ = collection_grade(y, labels)
        return self._training(train, valid)

    def _note(self) -> None:
        """Report where the training stands, if one has begun."""
        if not hasattr(self, "_state"):
            return
        state = self._state
        self.n_epochs_ = state.epoch
        self.best_epoch_ = state.epoch if state.best is None else state.best_epoch
        values = {name: padded(found, state.epoch) for name, found in state.values.items()}
        self.evals_result_ = {VALIDATION: values} if values else {}

    def _table(self, X: Any, *, reset: bool) -> Any:
        """Features as an array or a CSR matrix of numbers that the network takes."""
        with check.about("X", also=TypeError):
            try:
                table = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=_DTYPES)
            except OverflowError as error:  # of whole numbers of Python
                raise ValueError(error) from None
        if issparse(table) and not table.has_canonical_format:  # entries of one place are added
            table = table.copy()
            table.sum_duplicates()
        standardizes = self.standardize if reset else is_standardized(self.module_)
        check.check_feature_sizes(table, _LARGEST if standardizes else _LARGEST_IN_SINGLE)
        return table

    def _network(self, X: Any) -> nn.Module:
        """A fresh network for features such as X."""
        n_features = X.shape[1]
        with seeded(self._state.seed, torch.device("cpu")):
            if self.module is None:
                hidden = check.check_hidden(self.hidden)
                inner: nn.Module = layers(n_features, hidden, self.dropout)
            elif isinstance(self.module, nn.Module):
                inner = copy.deepcopy(self.module)
            else:
                inner = self.module(n_features)
        check_trainable(inner)
        return nn.Sequential(Standardize.of(X), inner) if self.standardize else inner

    def _training(self, train: Part, valid: Part | None) -> NeuralTraining:
        objective = as_objective(self.objective)
        device = usable(self.device)
        check.check_training_weights(train.query_weights, train.queries)
        held_out = None
        if valid is not None:
            metrics = self._metrics(objective)
            held_out = valid.X, HeldOut(valid, metrics)
        return NeuralTraining(
            network=self.module_.to(device),
            loss=RankingLoss(objective, max_grade=self.max_grade_).to(device),
            data=QueryDataset(
                train.X,
                train.y,
                train.queries.row_query,
                sample_weight=train.weights,
                dtype=torch.float64,
            ),
            held_out=held_out,
            batch_queries=self.batch_queries,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            patience=self.early_stopping_rounds,
            device=device,
            progress=self.progress,
        )

    def _metrics(self, objective: Objective) -> dict[str, Metric]:
        """What is followed, by name; the first decides."""
        chosen: Any = self.eval_metric
        if chosen is None:
            metrics = (getattr(one, "metric", None) for _, one in objective.terms)
            chosen = next((one for one in metrics if one is not None), self.scoring)
        with check.about("eval_metric"):
            named = unique_metrics(chosen)
        return {name: one.on_scale(self.max_grade_) for name, one in named.items()}
