"""NeuralRanker: a neural network as an estimator of scikit-learn, trained by skorch."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_matrix, issparse
from sklearn.preprocessing import StandardScaler
from sklearn.utils import assert_all_finite
from skorch import NeuralNet
from skorch.callbacks import Callback, EarlyStopping
from skorch.utils import noop
from torch import nn

from skrank import _validation as check
from skrank._progress import Bar, progress
from skrank._typing import Options, RandomState, Table
from skrank.extending import Judgments, Ranking, measure, unique_metrics
from skrank.metrics import Metric
from skrank.objectives import Objective, as_objective
from skrank.objectives.base import metric_of
from skrank.rankers import Ranker
from skrank.scoring import RankingScorer
from skrank.torch._dataset import QueryBatch, QueryDataset
from skrank.torch._draws import OwnDraws
from skrank.torch._loss import RankingLoss

if TYPE_CHECKING:
    from sklearn.utils import Tags

_ROWS = 2**14  # rows that are scored at a time
# arguments of skorch that net_params must not have, and what sets them in NeuralRanker
_SET_ELSEWHERE = {
    "lr": "learning_rate",
    "optimizer__lr": "learning_rate",
    "max_epochs": "epochs",
    "criterion": "objective",
    "train_split": "validation_fraction",
    "dataset": "fit(X, y)",
    "warm_start": "net_.partial_fit",
    "draws": "random_state",
    "callbacks__progress": "progress",
    "callbacks__validation": "eval_metric",
    "callbacks__early_stopping": "early_stopping_rounds",
}


class NeuralRanker(Ranker):
    """A neural network trained on a ranking metric, as an estimator of scikit-learn.

    skorch trains the network: an item of its data set is a query, so that batches hold whole
    queries.

    Parameters
    ----------
    objective : str, Metric or Objective, default="gap"
        Objective, as in `RankingLoss`. A metric is short for LambdaRank on this metric.
    hidden : sequence of int, or int, default=(64, 32)
        Widths of the hidden layers, with ReLU between them; 16 means ``(16,)``.
    epochs : int, default=100
        Maximum number of passes over the training queries.
    learning_rate : float, default=1e-3
        Learning rate of Adam.
    eval_metric : str, Metric or a sequence of them, optional
        Metrics on the validation queries, of which the first decides when to stop. Default: the
        metric of `objective` (in a mixture, of the first objective that has one), or `scoring`.
    validation_fraction : float, optional
        Share of the training queries to hold out for early stopping. Default: none, and no early
        stopping unless `fit` gets `X_val`.
    early_stopping_rounds : int, "auto" or None, default="auto"
        With validation, training stops after this number of epochs without improvement ("auto" is
        10), and the weights of the best epoch are restored. None: train to the end, then restore
        them.
    net_params : mapping, optional
        Arguments of `skorch.NeuralNet`, such as ``{"optimizer__weight_decay": 1e-4}``, "device",
        "batch_size" (queries of a batch, by default 16), "callbacks" (a list of callbacks of
        skorch, such as `Checkpoint`, or of pairs of name and callback), "verbose" (1 prints a table
        of epochs), and:

        - "module__dropout": probability that a hidden unit is left out in training;
        - "module": a network in place of `hidden`, or a function of the number of features that
          returns one: from (n_rows, n_features) to (n_rows,) or (n_rows, 1). A module is copied; a
          function gets the other arguments ``"module__..."``.
    options : mapping, optional
        Settings that are rarely changed:

        - "standardize" (default True): standardize features by
          `sklearn.preprocessing.StandardScaler`, in double precision; the columns of a sparse `X`
          are only scaled. The network itself is in single precision;
        - "max_queries" (default None): train on at most this number of queries, drawn at random. A
          larger number adds queries to those of a smaller number;
        - "unjudged" (default "raise"): `fit` raises an error for documents without a judgment
          (label NaN). "drop": these are left out. "zero": they are not relevant.
    scoring : str, Metric or scorer, default="ndcg@10"
        Metric of `score`.
    progress : bool, optional
        Show a bar of the epochs. Default: on a terminal, after two seconds.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, the batches, dropout and the queries held out.

    Attributes
    ----------
    net_ : skorch.NeuralNet
        The trained net of skorch, with its history and optimizer.
    module_ : torch.nn.Module
        The trained network, which takes features that `scaler_` has standardized.
    scaler_ : StandardScaler
        Without `standardize`, it changes nothing.
    n_epochs_ : int
        Number of epochs trained.
    best_epoch_ : int
        Epoch, from 1 on, whose weights `module_` has: the best epoch on the validation queries of
        the fit, or the last epoch without validation.
    evals_result_ : dict of str to dict of str to list of float
        ``evals_result_["validation"]["gap@10"]``: values per epoch, with validation.
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
    `objective` decides what training improves, `eval_metric` which epoch is used, and `scoring`
    what `score` and searches report. The history of skorch (``net_.history``) has the values of
    `eval_metric` by name, after those of `train_loss`.

    The same seed gives the same network on the same machine with the same number of threads of
    torch, also if several threads train rankers. The generator of torch is neither seeded nor
    advanced. Some functions still draw from it, such as `torch.randn_like`, dropouts other than
    `torch.nn.Dropout`, and dropout inside attention and recurrent layers: call
    ``torch.manual_seed`` before `fit`, and train one such network at a time. Small networks train
    fastest with one thread of torch (``torch.set_num_threads(1)``). Rows of a sparse `X` become
    dense in a batch. An interrupt ends the training at once (skorch handles `KeyboardInterrupt`):
    `n_epochs_` counts the incomplete epoch. With validation, the weights of the best complete epoch
    are restored, otherwise those at the interrupt stay. Without validation,
    ``net_.partial_fit(QueryDataset(scaler_.transform(X), y, groups))`` continues the training.

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

    _defaults: ClassVar[Options] = {"standardize": True, "max_queries": None, "unjudged": "raise"}
    net_: NeuralNet

    def __init__(
        self,
        objective: str | Metric | Objective = "gap",
        *,
        hidden: Sequence[int] | int = (64, 32),
        epochs: int = 100,
        learning_rate: float = 1e-3,
        eval_metric: str | Metric | Sequence[str | Metric] | None = None,
        validation_fraction: float | None = None,
        early_stopping_rounds: int | str | None = "auto",
        net_params: Options | None = None,
        options: Options | None = None,
        scoring: str | Metric | RankingScorer = "ndcg@10",
        progress: bool | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.objective = objective
        self.hidden = hidden
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.eval_metric = eval_metric
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.net_params = net_params
        self.options = options
        self.scoring = scoring
        self.progress = progress
        self.random_state = random_state

    @property
    def module_(self) -> nn.Module:
        """The trained network."""
        return self.net_.module_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags

    # steps of fit and predict, called by `Ranker` -------------------------------------------------

    def _check_parameters(self, *, has_X_val: bool) -> None:
        hidden_widths(self.hidden)
        check.check_flag("standardize", self._options()["standardize"])
        check.check_count("epochs", self.epochs, "passes over the training queries")
        self._checked_patience("epochs", has_X_val=has_X_val)
        checked_net_params(self.net_params)
        check.check_number("learning_rate", self.learning_rate, 0, 1e3, open_low=True)

    def _table(self, X: Table, *, reset: bool) -> Table:
        """Features as an array or a CSR matrix, after checks."""
        table = super()._table(X, reset=reset)
        values = check.feature_numbers(table, remedy="encode it", who=self)
        assert_all_finite(values, input_name="X", estimator_name=type(self).__name__)
        return values

    def _predict(self, X: Table) -> np.ndarray:
        rows = in_single(self._scaled(X))
        scores = self.net_.predict(rows).reshape(-1).astype(np.float64)
        if (row := check.first(~np.isfinite(scores))) >= 0:
            raise ValueError(
                f"the network gives row {row} of X the score {scores[row]}: scale the features, or "
                "lower learning_rate."
            )
        return scores

    def _train(self, train: Any, valid: Any) -> None:  # Rows, and Part or None, as in `Ranker`
        rng = check.as_random_state("random_state", self.random_state)
        # Before queries are drawn: the network starts from the same weights for all `max_queries`.
        # A seed, since the net keeps its generator, and `rng` may be the caller's.
        seed = int(rng.randint(2**31 - 1))
        options = self._options()
        rows = train.check(unjudged=options["unjudged"])
        chosen, held_out = rows.choose(options["max_queries"], self.validation_fraction, rng)
        rows.refuse_single_rows()
        part = rows.part(chosen)
        # `fit` refuses validation_fraction with X_val
        valid_part = rows.part(held_out) if len(held_out) else valid
        self.max_grade_ = rows.max_grade(valid_part)
        standardize = bool(options["standardize"])
        with_mean = standardize and not issparse(part.X)
        self.scaler_ = StandardScaler(with_mean=with_mean, with_std=standardize).fit(part.X)
        check.check_training_weights(part.query_weights, part.queries)
        X, groups = self._scaled(part.X), part.queries.row_query
        data = QueryDataset(X, part.y, groups, sample_weight=part.weights)
        net_params = checked_net_params(self.net_params)
        draws = OwnDraws(np.random.RandomState(seed))
        with progress(self.progress, self.epochs, "epochs") as bar:
            callbacks: dict[str, Callback] = {"progress": Counter(bar)}
            if valid_part is not None:
                callbacks |= self._early_stopping(valid_part)
            params = {
                "criterion": RankingLoss(self.objective, max_grade=self.max_grade_),
                "optimizer": torch.optim.Adam, "lr": self.learning_rate, "train_split": None,
                "max_epochs": self.epochs, "batch_size": 16, "verbose": 0,
                "iterator_train__shuffle": "iterator_train__sampler" not in net_params,
                "iterator_train__collate_fn": features_and_labels,
                "iterator_valid__batch_size": _ROWS,
            }  # fmt: skip
            with check.about("net_params", also=TypeError):
                with draws:
                    params["module"] = self._network(part.X.shape[1], net_params)
                params["callbacks"] = [*callbacks.items(), *net_params.pop("callbacks")]
                net = QueryNet(draws=draws, **params | net_params).initialize()
            self.net_ = net.partial_fit(data)
        history = self.net_.history
        self.n_epochs_ = self.best_epoch_ = len(history)
        self.evals_result_ = {}
        if valid_part is not None and history:
            self.best_epoch_ = callbacks["early_stopping"].best_epoch_
            self.evals_result_["validation"] = {  # an interrupted epoch has a row without metrics
                name: [row[name] for row in history if name in row]
                for name in callbacks["validation"].metrics
            }

    def _early_stopping(self, valid: Any) -> dict[str, Callback]:
        """Callbacks that measure the validation rows, and stop by the first metric."""
        chosen = self.eval_metric
        if chosen is None:
            chosen = metric_of(as_objective(self.objective)) or self._scorer().metrics[0]
        with check.about("eval_metric"):
            named = unique_metrics(chosen)
        X = in_single(self._scaled(valid.X))
        validation = Validation(valid, X, named, self.max_grade_)
        name, first = next(iter(named.items()))
        stopping = EarlyStopping(
            name, patience=self._patience("epochs") or self.epochs + 1, threshold=0,
            lower_is_better=not first.greater_is_better, sink=noop, load_best=True,
        )  # fmt: skip
        return {"validation": validation, "early_stopping": stopping}

    def _network(self, n_features: int, params: Options) -> nn.Module:
        """A new network; takes "module" and its arguments from `params`."""
        names = [name for name in params if name.startswith("module__")]
        arguments = {name.removeprefix("module__"): params.pop(name) for name in names}
        module = params.pop("module", partial(layers, hidden_widths(self.hidden)))
        if isinstance(module, nn.Module):
            if names:
                raise ValueError(f'{names[0]!r} needs a class or a function as "module".')
            return copy.deepcopy(module)
        network = module(n_features, **arguments) if callable(module) else module
        if not isinstance(network, nn.Module):
            raise ValueError(
                f"module={module!r} must be a torch.nn.Module, or a function of the number of "
                "features that returns a module."
            )
        return network

    def _scaled(self, X: Table) -> Table:
        """Standardized features, after a check that single precision can hold them."""
        table = self.scaler_.transform(X)
        if not max(table.max(), -table.min()) <= np.finfo(np.float32).max:
            row, feature = divmod(int(abs(table).argmax()), table.shape[1])
            raise ValueError(
                f"feature {feature} of row {row} of X is {X[row, feature]:g}, too large for single "
                "precision, or too far from the training rows: scale the features."
            )
        return table


class QueryNet(NeuralNet):
    """A net of skorch whose batches are those of `QueryDataset`, and whose loss is RankingLoss."""

    def __init__(self, *, draws: OwnDraws, **params: Any) -> None:
        super().__init__(**params)
        self.draws = draws

    def get_params_for(self, prefix: str) -> Options:
        """Arguments of a part of the net.

        Iterators get generators of their own, as a DataLoader would advance that of torch.
        """
        params: Options = super().get_params_for(prefix)
        generators = {"iterator_train": self.draws.generator, "iterator_valid": torch.Generator}
        if prefix in generators:
            params.setdefault("generator", generators[prefix]())
        return params

    def infer(self, x: Any, **fit_params: Any) -> torch.Tensor:
        """Scores of a batch."""
        with self.draws:
            return super().infer(x, **fit_params)

    def get_loss(
        self, y_pred: torch.Tensor, y_true: QueryBatch, *args: Any, **kwargs: Any
    ) -> torch.Tensor:
        """The loss of a batch, whose labels stay on the host (skorch would move them)."""
        scores = y_pred.flatten()
        return self.criterion_(scores, y_true.labels, y_true.offsets, weights=y_true.weights)


class Counter(Callback):
    """Counts epochs."""

    bar: Bar = Bar()  # in copies from a pickle, which has no bar

    def __init__(self, bar: Bar) -> None:
        self.bar = bar

    def __getstate__(self) -> dict[str, object]:
        return {}

    def on_epoch_end(self, net: NeuralNet, **kwargs: Any) -> None:
        """Count the epoch."""
        self.bar.update(1)


class Validation(Callback):
    """Metrics of validation queries, in the history of skorch."""

    def __init__(
        self, valid: Any, X: np.ndarray, metrics: dict[str, Metric], max_grade: int
    ) -> None:
        self.metrics = metrics
        judgments = Judgments(valid.y, valid.queries)
        plans = [metric.bind(judgments, max_grade=max_grade) for metric in metrics.values()]
        self.held_out = judgments, plans, valid.query_weights, X

    def __getstate__(self) -> dict[str, object]:
        return {"metrics": self.metrics}  # pickles and copies of a net have no data

    def on_epoch_end(self, net: NeuralNet, **kwargs: Any) -> None:
        """Measure the queries."""
        judgments, plans, weights, X = self.held_out
        ranking = Ranking(judgments, net.predict(X).reshape(-1).astype(np.float64))
        means = measure(judgments, [ranking], plans, weights).means()[0].tolist()
        if np.isnan(means[0]):
            raise ValueError(
                f"eval_metric {next(iter(self.metrics))} is NaN on the validation queries: choose "
                'other queries, another metric, or empty="skip".'
            )
        for name, value in zip(self.metrics, means, strict=True):
            net.history.record(name, value)


def in_single(X: np.ndarray | csr_matrix) -> np.ndarray:
    """Features as a dense array in single precision."""
    return (X if isinstance(X, np.ndarray) else X.toarray()).astype(np.float32)


def features_and_labels(batch: QueryBatch) -> tuple[torch.Tensor, QueryBatch]:
    """The features and the target that skorch expects, of a batch that is collated already."""
    return batch.X, batch


def layers(hidden: tuple[int, ...], n_features: int, dropout: float = 0.0) -> nn.Sequential:
    """Linear layers with ReLU and dropout between them, and one score as output."""
    parts: list[nn.Module] = []
    for width in hidden:
        parts += [nn.Linear(n_features, width), nn.ReLU()]
        if dropout != 0:  # torch refuses negative numbers
            parts.append(nn.Dropout(dropout))
        n_features = width
    return nn.Sequential(*parts, nn.Linear(n_features, 1))


def hidden_widths(hidden: Sequence[int] | int) -> tuple[int, ...]:
    """Widths of the hidden layers; one number is the width of one hidden layer."""
    widths = hidden if isinstance(hidden, (list, tuple, np.ndarray)) else [hidden]
    return tuple(check.check_count("hidden", width, "units of a layer") for width in widths)


def checked_net_params(net_params: Options | None) -> Options:
    """A copy of `net_params`, with a list of callbacks; raises for arguments that skrank sets."""
    options = {} if net_params is None else net_params
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise ValueError(f"net_params={options!r} must map names of arguments of skorch to values.")
    for name in options:
        for argument, use in _SET_ELSEWHERE.items():
            if name == argument or name.startswith(f"{argument}__"):
                raise ValueError(f"net_params has {name!r}: use {use} of NeuralRanker instead.")
    callbacks = options.get("callbacks") or []
    if not isinstance(callbacks, list) or not all(map(is_callback, callbacks)):
        raise ValueError(
            f"net_params has callbacks={callbacks!r}: give a list of callbacks of skorch, or of "
            "pairs (name, callback). callbacks__print_log=None leaves out a callback by its name."
        )
    return {**options, "callbacks": callbacks}


def is_callback(item: Any) -> bool:
    """True for a callback of skorch or its class, with or without a name."""
    if isinstance(item, tuple) and len(item) == 2:
        item = item[1]
    return isinstance(item, Callback) or (isinstance(item, type) and issubclass(item, Callback))
