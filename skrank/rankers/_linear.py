"""LinearRanker: a weight per feature, trained on a ranking metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils import Tags

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.names import unique_metrics
from skrank._progress import Bar, progress
from skrank._typing import Options, RandomState, Table
from skrank.metrics import DCG, NDCG, Metric
from skrank.objectives import Objective
from skrank.objectives.base import metric_of, metric_or_objective
from skrank.rankers._base import Ranker
from skrank.rankers._dask import drawn, highest_grade, loaded, refuse_unjudged
from skrank.rankers._fit import Fit, Validator
from skrank.rankers._linear_features import feature_names, fit_features, mean_columns, transformed
from skrank.rankers._linear_training import LinearTraining, Solution, Steps, products, stages
from skrank.rankers._rows import VALIDATION_ROWS, Part, Rows
from skrank.scoring import RankingScorer


class LinearRanker(Ranker):
    """A linear ranker whose weights maximise a ranking metric.

    The score of a document is a weighted sum of features. A ColumnTransformer of scikit-learn
    computes the features from the columns of `X`: it takes logarithms of columns with heavy tails,
    replaces NaN and encodes categories. Training starts from ridge regression on the grades,
    centred by query. L-BFGS then maximises the smooth form of the metric (`skrank.SoftRank`), with
    less smoothing in each stage. A metric without a smooth form, such as ERR or precision at 10, is
    maximised in two steps: first the smooth form of the metric without its cut-off, or of GAP; then
    the metric itself, by Newton steps of `skrank.LambdaRank` of the length that is best for the
    metric.

    Parameters
    ----------
    objective : str, Metric or Objective, default="gap"
        Such as "gap" or "softmax". SoftRank, Softmax, SquaredError and mixtures of these are
        minimised directly. LambdaRank and LambdaLoss take the two steps described above: first the
        smooth form of their metric, if it has one, then Newton steps.
    alpha : float or sequence of float, default=1e-3
        Weight of the penalty. Training minimises the mean loss of queries with a relevant document,
        such as one minus the smooth metric, plus alpha times the sum of the squared weights. These
        are the weights of features divided by their standard deviation; mean grades of levels are
        divided by at least the standard deviation of grades. Several numbers are tried in falling
        order: training with each starts from the weights of the previous one. The one that is best
        on validation rows is then used on all queries.
    eval_metric : str or Metric, optional
        Metric on validation rows. Default: the metric of `objective`, or `scoring` if it has none.
    validation_fraction : float, optional
        Share of the training queries to hold out. Default: none, so that a sequence of `alpha`
        needs `X_val`.
    early_stopping_rounds : int, "auto" or None, default="auto"
        With validation rows and one `alpha`, training stops after this number of steps (iterations
        of all stages) without improvement, and the weights of the best step are used; "auto" is 50.
        None: all steps are trained and used.
    features : {"auto", "standard", "log"} or transformer, default="auto"
        Features of columns of numbers. "standard": no transformation. "log": signed logarithms.
        "auto": signed logarithms of columns with heavy tails.
        A transformer of scikit-learn gets all columns, categorical columns too; the `y` of its
        `fit` are grades minus the mean grade of their query, and its output must have no NaN.
    positive : bool, default=False
        True: all weights are at least 0.
    max_queries : int, optional
        Train on at most this number of queries, drawn at random; a larger number draws the same
        queries and further ones.
    options : mapping, optional
        Settings that are rarely changed:

        - "categorical_features" (default None): names or numbers of categorical columns, besides
          columns of the dtype category;
        - "smoothing" (default None): a number per stage, or one for a single stage. The unit is the
          standard deviation of the start scores inside queries. None: 1, then 0.5; if `objective`
          is a SoftRank, its sigma; in a mixture, that of the first SoftRank;
        - "max_iter" (default 200): iterations of a stage;
        - "tol" (default 1e-6): a stage ends when an iteration lowers the loss by less than
          ``tol * max(1, loss)``, or a Newton step raises the metric minus the penalty by less than
          `tol`;
        - "max_rows" (default 1,000,000): on Dask collections, train on whole queries, drawn at
          random, of at most this number of rows in all, in the memory of the client. A warning says
          so if not all rows are drawn;
        - "unjudged" (default "raise"): `fit` raises an error for documents without a judgment
          (label NaN). "drop": these are left out. "zero": they are not relevant.
    scoring : str, Metric or scorer, default="ndcg@10"
        Metric of `score`.
    progress : bool, optional
        Show a bar of the steps. Default: on a terminal, after two seconds.
    random_state : int, RandomState instance or None, default=None
        Seed of the queries held out and drawn. The draw depends on the seed and the query ids, not
        on the order of the rows.

    Attributes
    ----------
    feature_map_ : transformer
        Its `transform` computes the features: a ColumnTransformer, without categories a Pipeline,
        or the fitted `features`.
    coef_ : ndarray of shape (n_features_out,)
        Weights of the features of `feature_map_`, not standardised; 0 for a constant feature.
    alpha_ : float
        The penalty that `coef_` was trained with.
    n_iter_ : int
        Number of iterations of all stages.
    evals_result_ : dict of str to dict of str to list of float
        With validation rows, ``evals_result_["validation"]["gap"]`` has the value of each step; for
        several alphas, that of each alpha, in falling order.
    max_grade_ : int
        Highest grade of the collection, at least 1. `skrank.scorer` reads it, so that metrics have
        the same scale in all folds.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If `X` has names that are all strings.

    See Also
    --------
    skrank.GroupedRanker : boosting, which can start from a linear ranker.

    Notes
    -----
    `objective` decides what training improves, `eval_metric` which alpha or step is used, and
    `scoring` what `score` and searches report.

    The loss of a metric is not convex: the weights depend on the start, but not on random numbers.
    Scaling and shifting of columns changes scores only by rounding. Sparse `X` stays sparse.
    Rows that are not sorted by query are copied. Besides, training takes some 30 bytes per row,
    and a copy of the features if `feature_map_` changes a column.

    NaN in a column of numbers is estimated from the other columns. Whether a value is NaN is a
    further feature if it correlates with grades (`skrank.preprocessing.RidgeImputer`). A category
    of up to 4 levels has a weight per level (`sklearn.preprocessing.OneHotEncoder`). Levels of
    other categories are replaced by their mean grade, after centring by query
    (`sklearn.preprocessing.TargetEncoder`): in training, by that in other folds. The five folds are
    blocks of rows, with the queries in random order by a fixed seed, so that up to four queries lie
    in two folds.

    The loss depends on differences of scores inside queries only. There is thus no intercept, and a
    feature that is constant inside queries gets a weight of about 0.

    References
    ----------
    M. Taylor, J. Guiver, S. Robertson, T. Minka, SoftRank: Optimizing Non-Smooth Rank Metrics, WSDM
    2008. S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance
    Judgments, SIGIR 2010.

    Examples
    --------
    >>> import skrank
    >>> from skrank import LinearRanker
    >>> from skrank.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> y = skrank.with_groups(data.relevance, data.qid)
    >>> ranker = LinearRanker("gap").fit(data.X, y)
    >>> ranker.coef_.shape
    (20,)
    >>> ranker.score(data.X, y) > 0.6
    True
    """

    _defaults: ClassVar[Options] = {
        "categorical_features": None, "smoothing": None, "max_iter": 200, "tol": 1e-6,
        "max_rows": 1_000_000, "unjudged": "raise",
    }  # fmt: skip
    coef_: np.ndarray
    alpha_: float
    max_grade_: int
    evals_result_: dict[str, dict[str, list[float]]]

    def __init__(
        self,
        objective: str | Metric | Objective = "gap",
        *,
        alpha: float | Sequence[float] = 1e-3,
        eval_metric: str | Metric | None = None,
        validation_fraction: float | None = None,
        early_stopping_rounds: int | str | None = "auto",
        features: str | TransformerMixin = "auto",
        positive: bool = False,
        max_queries: int | None = None,
        options: Options | None = None,
        scoring: str | Metric | RankingScorer = "ndcg@10",
        progress: bool | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.objective = objective
        self.alpha = alpha
        self.eval_metric = eval_metric
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.features = features
        self.positive = positive
        self.max_queries = max_queries
        self.options = options
        self.scoring = scoring
        self.progress = progress
        self.random_state = random_state

    def _predict(self, X: Table) -> np.ndarray:
        features = transformed(self.feature_map_, X)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = products(features, self.coef_)
        if (row := check.first(~np.isfinite(scores))) >= 0:
            raise ValueError(
                f"the score of row {row} is {scores[row]}: its features are far outside the range "
                "of the training rows. Give features in the same units as in fit."
            )
        return scores

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags

    # steps of fit, called by `Ranker._fit` --------------------------------------------------------

    def _check_parameters(self, *, has_X_val: bool) -> None:
        check.check_flag("positive", self.positive)
        self._alphas()
        self._stages()
        self._checked_patience("steps", has_X_val=has_X_val)
        if np.ndim(self.alpha) and self.validation_fraction is None and not has_X_val:
            raise ValueError(
                "validation rows choose among several numbers of alpha: set "
                "validation_fraction=0.2, or give X_val, y_val and groups_val to fit."
            )

    def _train(self, train: Rows, valid: Part | None, *, max_grade: int = 1) -> None:
        """Train; `max_grade` is the highest grade of the Dask collections that rows come from."""
        # `check` sets attributes: of a copy, whose memory `del rows` frees
        rows = replace(train).check(unjudged=self._options()["unjudged"])
        rows.refuse_single_rows()
        chosen, held_out = rows.choose(
            self.max_queries, self.validation_fraction, self.random_state
        )
        if len(held_out):
            valid = rows.part(held_out)
        self.max_grade_ = max(max_grade, rows.max_grade(valid))
        self.evals_result_ = {}
        part = _part_of_positive_weight(rows, chosen)
        everything = None
        if len(held_out) and np.ndim(self.alpha):
            assert chosen is not None
            everything = _part_of_positive_weight(rows, np.append(chosen, held_out))
        del rows
        training, names = self._training(part)
        with progress(self.progress, None, "steps") as bar:
            self.alpha_, weights, self.n_iter_ = self._solution(training, valid, bar)
            if everything is not None:
                weight_of = dict(zip(names, weights, strict=True))
                training, names = self._training(everything)
                # weights of standardised features are a start: their scale hardly differs
                start = training.start(np.array([weight_of.get(name, 0.0) for name in names]))
                alphas = np.array([self.alpha_])
                ((_, weights, self.n_iter_),) = training.path(alphas, start, Steps(bar))
        self.coef_ = weights / training.scale

    def _train_on_dask(self, train: Rows, valid: Rows | None) -> None:
        """Train on whole queries that are drawn from the collections, in memory."""
        refuse_unjudged(self)
        rows = loaded(train)
        valid_rows = None if valid is None else loaded(valid, VALIDATION_ROWS)
        train, part = self._resolved(drawn(rows, self), validation=False), None
        if valid_rows is not None:
            part = self._validation_part(drawn(valid_rows, self))
        self._train(train, part, max_grade=highest_grade(rows, valid_rows))

    def _solution(self, training: LinearTraining, valid: Part | None, bar: Bar) -> Solution:
        """Alpha, weights and number of iterations.

        With validation rows, those of the alpha or step that is best on them; sets `evals_result_`.
        """
        alphas, start = self._alphas(), training.start()
        if valid is None:
            (solution,) = training.path(alphas, start, Steps(bar))
            return solution
        eval_metric = self.eval_metric
        if eval_metric is None:
            objective = metric_or_objective(self.objective)
            eval_metric = metric_of(objective) if isinstance(objective, Objective) else objective
        ((name, metric),) = unique_metrics([eval_metric or self._scorer().metrics[0]]).items()
        validator = Validator(valid, {name: metric.on_scale(self.max_grade_)})
        X = transformed(self.feature_map_, valid.X)
        sign = 1 if metric.greater_is_better else -1

        def value(weights: np.ndarray) -> float:
            return sign * validator.means(products(X, weights / training.scale))[name]

        several = np.ndim(self.alpha) > 0
        steps = Steps(bar) if several else Steps(bar, value, self._patience("steps"))
        solutions = list(training.path(alphas, start, steps))
        values = [value(weights) for _, weights, _ in solutions] if several else steps.values
        best = int(np.argmax(values)) if several else 0
        alpha, weights, n_iter = solutions[best]
        if steps.values and steps.patience is not None:
            weights = steps.best
        self.evals_result_ = {Fit.valid_name: {name: [sign * signed for signed in values]}}
        return alpha, weights, n_iter

    def _alphas(self) -> np.ndarray:
        """Penalties in falling order."""
        alphas = check.check_numbers("alpha", self.alpha) if np.ndim(self.alpha) else (self.alpha,)
        return np.unique([check.check_number("alpha", alpha, 0, 1e9) for alpha in alphas])[::-1]

    def _stages(self) -> list[Objective]:
        """The objectives of the training, after checks of the options."""
        options = self._options()
        smoothing = options["smoothing"]
        if smoothing is not None:
            smoothing = check.check_numbers("smoothing", np.atleast_1d(smoothing))
            for sigma in smoothing:
                check.check_number("smoothing", sigma, 1e-6, 1e6)
        check.check_count("max_rows", options["max_rows"], "rows of Dask collections to train on")
        check.check_count("max_iter", options["max_iter"], "iterations of a stage")
        check.check_number("tol", options["tol"], 0, 1)
        return stages(self.objective, smoothing)

    def _training(self, part: Part) -> tuple[LinearTraining, list[str]]:
        """Training on rows, and the names of features."""
        X, y, queries, weights = part.X, part.y, part.queries, part.query_weights
        weights = np.ones(len(queries)) if weights is None else weights
        options = self._options()
        grades = queries.centered(y)
        self.feature_map_, features = fit_features(
            self.features, X, options["categorical_features"], queries, grades
        )
        # If levels of a category hardly tell documents apart, their mean grades hardly differ.
        # Divided by their own standard deviation, these small differences would count as much as
        # other features.
        means = mean_columns(self.feature_map_, features.shape[1])
        least = np.where(means, np.sqrt(np.mean(grades**2)), 0.0)
        del grades  # frees memory
        training = LinearTraining(
            features, Judgments(y, queries),
            weights / weights.max(),  # only ratios matter; gradients are in single precision
            [stage.on_scale(self.max_grade_) for stage in self._stages()],
            options["max_iter"], options["tol"], self.positive, least,
        )  # fmt: skip
        return training, feature_names(self.feature_map_, len(training.scale))


def _part_of_positive_weight(rows: Rows, chosen: np.ndarray | None) -> Part:
    """The rows of the chosen queries, by default of all queries, without queries of weight 0."""
    part = rows.part(chosen)
    weights = part.query_weights
    if weights is None or weights.all():
        return part
    used = np.unique(rows.codes[rows.order]) if chosen is None else np.sort(chosen)
    return rows.part(used[weights > 0])  # medians and means of levels would count the others


def linear_init(fit: Fit, *, grades: bool) -> LinearRanker:
    """The LinearRanker for `init="linear"` of a GroupedRanker.

    If labels are not `grades`, it is trained on DCG or nDCG, which take any labels, of all ranks.
    """
    metric = metric_of(fit.objective) if fit.objective is not None else None
    if not grades:  # DCG is the base class of NDCG
        metric = replace(metric, k=None) if isinstance(metric, DCG) else NDCG(gain="linear")
    named = fit.kind.categorical_features(fit.estimator, fit.arguments)
    return LinearRanker(metric or "gap", options={"categorical_features": named})
