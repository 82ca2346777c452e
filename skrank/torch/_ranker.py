"""NeuralRanker: a neural network as an estimator of scikit-learn."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data
from torch import nn

from skrank import _validation as check
from skrank._engine.groups import collection_grade
from skrank._engine.names import unique_metrics
from skrank._typing import RandomState, Table
from skrank.metrics import Metric, metric
from skrank.objectives import Objective, as_objective
from skrank.objectives.base import metric_of
from skrank.rankers._base import Ranker
from skrank.rankers._fit import VALIDATION, Validator
from skrank.rankers._rows import LabelledRows, Part, Rows, check_several_rows_per_query
from skrank.torch._dataset import QueryDataset
from skrank.torch._loss import RankingLoss
from skrank.torch._training import (
    NeuralTraining,
    Progress,
    Standardize,
    layers,
    padded,
    predict,
    seeded,
    threads_for,
)

if TYPE_CHECKING:
    from sklearn.utils import Tags

_DTYPES = (np.float64, np.float32)  # other dtypes are converted to the first
# largest feature, with standardization (differences do not overflow) and without
_LARGEST = {True: 1e300, False: float(np.finfo(np.float32).max)}
_FIXED = "module", "dropout", "standardize", "random_state"  # a warm start cannot change these


class NeuralRanker(Ranker):
    """A neural network trained on a ranking metric, as an estimator of scikit-learn.

    Parameters
    ----------
    objective : str, Metric or Objective, default="gap"
        Objective, as in `RankingLoss`. A metric is short for LambdaRank on this metric.
    hidden : sequence of int, or int, default=(64, 32)
        Widths of the hidden layers, with ReLU between them; 16 means ``(16,)``.
    module : torch.nn.Module, or function of the number of features, optional
        Another network, or a function that returns one: from (n_rows, n_features) to (n_rows,) or
        (n_rows, 1). A module is copied.
    epochs : int, default=100
        Maximum number of passes over the training queries.
    learning_rate : float, default=1e-3
        Learning rate of Adam.
    weight_decay : float, default=0.0
        Weight decay of Adam.
    dropout : float, default=0.0
        Probability that a hidden unit is left out in training.
    batch_queries : int, default=16
        Number of queries of a batch.
    standardize : bool, default=True
        Subtract the mean of each feature and divide by its standard deviation, both over the
        training rows, in double precision. The network itself is in single precision.
    eval_metric : str, Metric or a sequence of them, optional
        Metrics on the validation queries, of which the first decides when to stop. Default: the
        metric of `objective` (in a mixture, of the first objective that has one), or `scoring`.
    validation_fraction : float, optional
        Share of the training queries to hold out for early stopping. Default: none, and no early
        stopping unless `fit` gets `X_val`.
    early_stopping_rounds : int or None, default=10
        With validation, training stops after this number of epochs without improvement, and the
        weights of the best epoch are restored. None: train to the end, then restore them.
    warm_start : bool, default=False
        Continue the training of the last fit, also if it was interrupted, for `epochs` more epochs.
        If early stopping ended the last fit, patience starts again. Features are standardized as in
        the first fit; `hidden`, `module`, `dropout`, `standardize` and `random_state` must be those
        of the first fit, and all other parameters may change.
    unjudged : {"raise", "drop", "zero"}, default="raise"
        Documents that were not judged (label NaN) in `fit` raise an error, are left out, or count
        as not relevant.
    max_queries : int, optional
        Train on at most this number of queries, drawn at random. A larger number adds queries to
        those of a smaller number.
    scoring : str or Metric, default="ndcg@10"
        Metric of `score`.
    device : str or torch.device, default="cpu"
    progress : bool, default=False
        Print epochs and values to standard error.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, the batches, dropout and the queries held out.

    Attributes
    ----------
    module_ : torch.nn.Module
        The trained network, with the standardization of features as its first layer.
    n_epochs_ : int
        Number of epochs trained.
    best_epoch_ : int
        Epoch, from 1 on, whose weights `module_` has: the best epoch on the validation queries of
        the last fit, or the last epoch without validation.
    evals_result_ : dict of str to dict of str to list of float
        ``evals_result_["validation"]["gap@10"]``: values per epoch, with validation; NaN for epochs
        of an earlier fit without this metric (`warm_start`).
    max_grade_ : int
        Highest grade among the labels, at least 1. `skrank.scorer` reads it, so that folds share
        one scale.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If all column names of `X` are strings.

    See Also
    --------
    RankingLoss : the loss, for other training loops.

    Notes
    -----
    Networks of at most 100,000 parameters are trained on the processor with one thread of torch,
    because more threads would wait for each other longer than they compute. `fit` restores the
    number of threads. Where many processes train at once, set ``OMP_NUM_THREADS=1`` as well.

    The same seed gives the same network on the same machine with the same number of threads of
    torch. Rows of a sparse `X` become dense in a batch.

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
        device: str | torch.device = "cpu",
        progress: bool = False,
        random_state: RandomState = None,
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
        X: Table,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: Table | None = None,
        y_val: ArrayLike | None = None,
        groups_val: ArrayLike | None = None,
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
            Rows for validation, instead of `validation_fraction`.

        Returns
        -------
        NeuralRanker
            Itself, fitted.

        Raises
        ------
        ValueError
            If groups are missing, of the wrong length, or disagree; if a label is negative or NaN;
            if weights vary inside a query; if a feature is not finite; if the objective cannot be
            trained on; if scores become infinite; if `warm_start` is set and the network would be
            another one. An error leaves the ranker unchanged. (After an interrupt, the ranker has
            the epochs that were completed.)
        """
        super().fit(
            X, y, groups, qid=qid, sample_weight=sample_weight,
            X_val=X_val, y_val=y_val, groups_val=groups_val,
        )  # fmt: skip
        if self._interrupted:  # raised here, so that the completed epochs are not lost
            raise KeyboardInterrupt
        return self

    def predict(self, X: Table) -> np.ndarray:
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags

    # steps of fit, called by `Ranker._fit` --------------------------------------------------------

    def _check_parameters(self, *, has_X_val: bool) -> None:
        fixed = self._fixed_parameters()
        if self.module is not None and not callable(self.module):
            raise ValueError(
                f"module={self.module!r} must be a torch.nn.Module, or a function of the number "
                "of features that returns a module."
            )
        check.check_flag("standardize", self.standardize)
        check.check_flag("warm_start", self.warm_start)
        check.check_flag("progress", self.progress)
        check.check_count("epochs", self.epochs, "passes over the training queries")
        check.check_count("batch_queries", self.batch_queries, "queries of a batch")
        if self.early_stopping_rounds is not None:
            rounds = self.early_stopping_rounds
            check.check_count("early_stopping_rounds", rounds, "epochs without improvement")
        check.check_number("learning_rate", self.learning_rate, 0, 1e3, open_low=True)
        check.check_number("weight_decay", self.weight_decay, 0, 1e3)
        if check.check_number("dropout", self.dropout, 0, 1):
            check.check_share("dropout", self.dropout, ": it leaves no unit")
        with check.about("scoring"):
            metric(self.scoring)
        if has_X_val and self.validation_fraction is not None:
            raise ValueError("X_val and validation_fraction are both given: leave out one.")
        for name, value in self._begun_with.items() if self._continues() else ():
            if value is not fixed[name] and value != fixed[name]:
                raise ValueError(
                    f"{name}={fixed[name]!r} was {value!r} in the first fit, which warm_start=True "
                    f"continues: restore {name}, or set warm_start=False to train anew."
                )

    def _fixed_parameters(self) -> dict[str, object]:
        """Parameters that a warm start cannot change."""
        fixed: dict[str, object] = {"hidden": hidden_widths(self.hidden)}
        return fixed | {name: getattr(self, name) for name in _FIXED}

    def _continues(self) -> bool:
        """True if `fit` continues the training of the last fit."""
        return self.warm_start and hasattr(self, "module_")

    def _table(self, X: Table, *, reset: bool) -> Table:
        """Features as an array or a CSR matrix, after checks."""
        reset = reset and not self._continues()
        with check.about("X", also=TypeError):
            try:
                table = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=_DTYPES)
            except OverflowError as error:  # a Python integer too large for float64
                raise ValueError(error) from None
        if issparse(table) and not table.has_canonical_format:  # duplicate entries add up
            table = table.copy()
            table.sum_duplicates()
        largest, limit = max(table.max(), -table.min()), _LARGEST[bool(self.standardize)]
        if largest > limit:
            row, feature = divmod(int(abs(table).argmax()), table.shape[1])
            raise ValueError(
                f"feature {feature} of row {row} of X is {table[row, feature]:g}, and networks "
                f"take features up to {limit:g}: scale the features, or choose standardize=True."
            )
        return table

    def _train(self, train: LabelledRows, valid: LabelledRows | None) -> None:
        continues, self._begun_with = self._continues(), self._fixed_parameters()
        if continues:
            self._state = replace(self._state)  # a copy, so that an error leaves the old state
        else:
            rng = check.as_random_state("random_state", self.random_state)
            self._state = Progress(seed=int(rng.randint(2**31 - 1)))
        rows = Rows(train, unjudged=self.unjudged)
        check_several_rows_per_query(rows.ids, len(rows.y))
        choices = np.random.RandomState(self._state.seed)
        chosen, held_out = rows.choose(self.max_queries, self.validation_fraction, choices)
        part, valid_part = rows.part(chosen), None
        if valid is not None:
            valid_part = Rows(valid, unjudged=self.unjudged).part()
        elif len(held_out):
            valid_part = rows.part(held_out)
        labels = rows.y if valid_part is None else np.append(rows.y, valid_part.y)
        self.max_grade_ = collection_grade(train.y, labels)
        self.module_ = copy.deepcopy(self.module_) if continues else self._network(part.X)
        training = self._training(part, valid_part)
        self._interrupted = False
        try:
            with threads_for(training.network, training.device):
                training.run(self.epochs, self._state)
        except KeyboardInterrupt:
            self._interrupted = True
        state = self._state
        self.n_epochs_ = state.epoch
        self.best_epoch_ = state.epoch if state.best is None else state.best_epoch
        values = {name: padded(found, state.epoch) for name, found in state.values.items()}
        self.evals_result_ = {VALIDATION: values} if values else {}

    def _network(self, X: Table) -> nn.Module:
        """A new network for the features of X."""
        n_features = X.shape[1]
        with seeded(self._state.seed, torch.device("cpu")):
            if self.module is None:
                inner: nn.Module = layers(n_features, hidden_widths(self.hidden), self.dropout)
            elif isinstance(self.module, nn.Module):
                inner = copy.deepcopy(self.module)
            else:
                inner = self.module(n_features)
        if not isinstance(inner, nn.Module):
            raise ValueError(
                f"module returns a {type(inner).__name__}: it must return a torch.nn.Module."
            )
        return nn.Sequential(Standardize.of(X), inner) if self.standardize else inner

    def _training(self, train: Part, valid: Part | None) -> NeuralTraining:
        objective = as_objective(self.objective)
        device = usable(self.device)
        network = self.module_.to(device)
        check.check_training_weights(train.query_weights, train.queries)
        groups, weights = train.queries.row_query, train.weights
        data = QueryDataset(train.X, train.y, groups, sample_weight=weights, dtype=torch.float64)
        held_out = None
        if valid is not None:
            held_out = valid.X, Validator(valid, self._metrics(objective))
        return NeuralTraining(
            network=network,
            loss=RankingLoss(objective, max_grade=self.max_grade_).to(device),
            data=data,
            held_out=held_out,
            batch_queries=self.batch_queries,
            optimizer=torch.optim.Adam(
                network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay
            ),
            patience=self.early_stopping_rounds,
            device=device,
            progress=self.progress,
        )

    def _metrics(self, objective: Objective) -> dict[str, Metric]:
        """Metrics for early stopping by name, the deciding metric first."""
        chosen = self.eval_metric
        if chosen is None:
            chosen = metric_of(objective) or self.scoring
        with check.about("eval_metric"):
            named = unique_metrics(chosen)
        return {name: one.on_scale(self.max_grade_) for name, one in named.items()}


def hidden_widths(hidden: Sequence[int] | int) -> tuple[int, ...]:
    """Widths of the hidden layers; one number is the width of one hidden layer."""
    hidden = [hidden] if isinstance(hidden, (int, np.integer)) else hidden
    if not isinstance(hidden, (list, tuple, np.ndarray)) or np.ndim(hidden) != 1:
        raise ValueError(
            f"hidden={hidden!r} must be the width of the hidden layer, or a sequence of widths."
        )
    return tuple(check.check_count("each of hidden", width, "units of a layer") for width in hidden)


def usable(device: str | torch.device) -> torch.device:
    """A device, after a check that tensors can be created there."""
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (AssertionError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"device={device!r} cannot be used: {reason}") from None
    return found
