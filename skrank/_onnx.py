"""save_onnx: convert a fitted ranker to one ONNX graph, which runs without Python and booster."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skrank._fitted import class_names
from skrank._onnx_trees import catboost_trees, lightgbm_trees, xgboost_trees
from skrank._typing import Estimator
from skrank.rankers import GroupedRanker, LinearRanker, RankerMean
from skrank.rankers._feature_map import FeatureMap
from skrank.rankers._feature_missing import FARTHEST
from skrank.rankers._signed_logs import signed_log

if TYPE_CHECKING:
    import onnx

_INPUT, _OUTPUT = "X", "score"
_OPSETS = {"": 17, "ai.onnx.ml": 3}  # versions that onnxruntime 1.18 and newer support


def save_onnx(ranker: Estimator, path: str | PathLike[str]) -> None:
    """Save a fitted ranker as one ONNX model, with its `init` and its trees.

    The model has one input ``X``, float64 of shape (n_rows, n_features) with the columns in the
    order of training, and one output ``score``, float64 of shape (n_rows,). The scores differ from
    `predict` only by rounding: trees are summed in single precision.

    Parameters
    ----------
    ranker : GroupedRanker, LinearRanker or RankerMean
        Fitted. A GroupedRanker must contain an LGBMRanker, XGBRanker or CatBoostRanker; its `init`
        and the rankers of a RankerMean must be rankers that can be saved, too.
    path : str or path
        File to write; an existing file is replaced.

    Raises
    ------
    ImportError
        If onnx is not installed.
    TypeError
        If the ranker, or a ranker inside it, has another class.
    ValueError
        If a ranker cannot be converted: trees with categorical features or linear leaves, a linear
        booster, or a linear ranker with categories or with a transformer in `features`.

    Examples
    --------
    >>> import lightgbm, skrank
    >>> from skrank.datasets import make_ranking
    >>> data = make_ranking(n_queries=20, random_state=0)
    >>> ranker = skrank.GroupedRanker(
    ...     lightgbm.LGBMRanker(n_estimators=5, verbosity=-1), objective="gap", init="linear"
    ... ).fit(data.X, data.relevance, data.qid)
    >>> skrank.save_onnx(ranker, "ranker.onnx")                              # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession("ranker.onnx")                # doctest: +SKIP
    >>> (scores,) = session.run(None, {"X": data.X})                         # doctest: +SKIP
    """
    try:
        import onnx
    except ImportError:
        raise ImportError("skrank.save_onnx needs onnx: pip install skrank[onnx]") from None
    check_is_fitted(ranker)
    graph = _Graph(onnx)
    model = graph.model(_scores(graph, ranker), int(ranker.n_features_in_))
    onnx.checker.check_model(model)
    onnx.save(model, fspath(path))


class _Graph:
    """Nodes and constants of an ONNX graph under construction."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, values: np.ndarray) -> str:
        """Add a constant; returns its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def node(self, op: str, *inputs: str, domain: str = "", **attributes: object) -> str:
        """Add a node with one output; returns the name of the output."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(
            self.onnx.helper.make_node(op, list(inputs), [name], domain=domain, **attributes)
        )
        return name

    def cast(self, name: str, dtype: type) -> str:
        """Add a conversion to a NumPy type."""
        to = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.node("Cast", name, to=to)

    def model(self, scores: str, n_features: int) -> onnx.ModelProto:
        """The model of all nodes; reshapes `scores` from (n_rows, 1) to its output (n_rows,)."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        shape = self.constant(np.array([-1], np.int64))
        self.nodes.append(helper.make_node("Reshape", [scores, shape], [_OUTPUT]))
        graph = helper.make_graph(
            self.nodes,
            "skrank",
            [helper.make_tensor_value_info(_INPUT, double, ["rows", n_features])],
            [helper.make_tensor_value_info(_OUTPUT, double, ["rows"])],
            self.constants,
        )
        opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="skrank")


# Each function below adds nodes to the graph and returns the name of their output. Scores are
# float64 of shape (n_rows, 1).


def _scores(graph: _Graph, ranker: Estimator) -> str:
    if isinstance(ranker, LinearRanker):
        return _linear(graph, ranker)
    if isinstance(ranker, GroupedRanker):
        return _grouped(graph, ranker)
    if isinstance(ranker, RankerMean):
        parts = [
            _times(graph, _scores(graph, one), factor)
            for one, factor in zip(ranker.estimators_, ranker.factors_, strict=True)
            if factor
        ]
        return _sum(graph, parts)
    raise TypeError(
        f"save_onnx cannot convert {type(ranker).__name__}: it takes a LinearRanker, a "
        "GroupedRanker around an LGBMRanker, XGBRanker or CatBoostRanker, or a RankerMean of these."
    )


def _linear(graph: _Graph, ranker: LinearRanker) -> str:
    weights = graph.constant(ranker.coef_.astype(np.float64)[:, np.newaxis])
    return graph.node("MatMul", _features(graph, ranker), weights)


def _features(graph: _Graph, ranker: LinearRanker) -> str:
    """Features of `feature_map_`: columns or their logs with NaN replaced; indicators of NaN."""
    feature_map = ranker.feature_map_
    if feature_map.transformer_ is not None or feature_map.encoders_:
        raise ValueError(
            "save_onnx cannot convert a linear ranker of categories, or of a transformer in "
            "features=: encode the columns before the ranker, and save the encoder by skl2onnx."
        )
    numbers = _without_nan(graph, _logs(graph, feature_map), feature_map)
    if not len(feature_map.missing_):
        return numbers
    columns = graph.node("Gather", _INPUT, graph.constant(feature_map.missing_), axis=1)
    missing = graph.cast(graph.node("IsNaN", columns), np.float64)
    return graph.node("Concat", numbers, missing, axis=1)


def _logs(graph: _Graph, feature_map: FeatureMap) -> str:
    """Columns, or their signed logarithms where the scale is finite; NaN stays NaN."""
    logs = np.isfinite(feature_map.scale_)
    if not logs.any():
        return _INPUT
    center = np.where(logs, feature_map.center_, 0.0)
    scale = np.where(logs, feature_map.scale_, 1.0)
    away = graph.node("Sub", _INPUT, graph.constant(center))
    away = graph.node("Div", away, graph.constant(scale))
    size = graph.node("Add", graph.node("Abs", away), graph.constant(np.array(1.0)))
    signed = graph.node("Mul", graph.node("Sign", away), graph.node("Log", size))
    of_zero = signed_log(np.zeros(len(center)), center, scale)
    signed = graph.node("Sub", signed, graph.constant(of_zero))
    return graph.node("Where", graph.constant(logs), signed, _INPUT)


def _without_nan(graph: _Graph, values: str, feature_map: FeatureMap) -> str:
    """Values with an estimate from the other features, or the median, in place of NaN."""
    is_nan = graph.node("IsNaN", values)
    if (ridge := feature_map.estimates_) is None:
        return graph.node("Where", is_nan, graph.constant(feature_map.fill_), values)
    standard = graph.node("Sub", values, graph.constant(ridge.mean))
    standard = graph.node("Div", standard, graph.constant(ridge.deviation))
    standard = graph.node("Where", is_nan, graph.constant(np.array(0.0)), standard)
    estimates = graph.node("MatMul", standard, graph.constant(ridge.weights.T.copy()))
    estimates = graph.node("Min", estimates, graph.constant(np.array(FARTHEST)))
    estimates = graph.node("Max", estimates, graph.constant(np.array(-FARTHEST)))
    spread = np.where(np.isfinite(ridge.deviation), ridge.deviation, 0.0)
    estimates = graph.node("Mul", estimates, graph.constant(spread))
    estimates = graph.node("Add", estimates, graph.constant(ridge.mean))
    return graph.node("Where", is_nan, estimates, values)


def _grouped(graph: _Graph, ranker: GroupedRanker) -> str:
    """The sum of the scores of `init` and of the rounds that predictions use."""
    parts = []
    if ranker.init_factor_:
        parts.append(_times(graph, _scores(graph, ranker.init_), ranker.init_factor_))
    if ranker.best_iteration_ != 0 or not parts:
        parts.append(_trees(graph, ranker.estimator_, ranker.best_iteration_))
    return _sum(graph, parts)


# Converter of the trees, and the dtype of features when the booster compares them with thresholds.
_TREES: dict[tuple[str, str], tuple[Callable[..., Any], type]] = {
    ("lightgbm", "LGBMRanker"): (lightgbm_trees, np.float64),
    ("xgboost", "XGBRanker"): (xgboost_trees, np.float32),
    ("catboost", "CatBoostRanker"): (catboost_trees, np.float32),
}


def _trees(graph: _Graph, estimator: Estimator, n_rounds: int | None) -> str:
    found = next((_TREES[name] for name in class_names(estimator) if name in _TREES), None)
    if found is None:
        raise TypeError(
            f"save_onnx cannot convert {type(estimator).__name__}: it takes an LGBMRanker, "
            "XGBRanker or CatBoostRanker in a GroupedRanker."
        )
    convert, dtype = found
    attributes = convert(estimator, n_rounds)
    if attributes is None:  # no tree: all scores are 0
        zeros = graph.constant(np.zeros((estimator.n_features_in_, 1)))
        return graph.node("MatMul", _INPUT, zeros)
    X = _INPUT if dtype is np.float64 else graph.cast(_INPUT, dtype)
    scores = graph.node("TreeEnsembleRegressor", X, domain="ai.onnx.ml", n_targets=1, **attributes)
    return graph.cast(scores, np.float64)


def _times(graph: _Graph, scores: str, factor: float) -> str:
    return graph.node("Mul", scores, graph.constant(np.array(factor, np.float64)))


def _sum(graph: _Graph, parts: list[str]) -> str:
    if not parts:
        raise ValueError(
            "all rankers of the RankerMean have constant scores, so that there is nothing to save."
        )
    return parts[0] if len(parts) == 1 else graph.node("Sum", *parts)
