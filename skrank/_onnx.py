"""save_onnx: a fitted ranker as one ONNX graph, which needs neither Python nor the booster."""

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
from skrank.rankers._feature_gaps import FARTHEST
from skrank.rankers._feature_map import FeatureMap
from skrank.rankers._signed_logs import signed_log

if TYPE_CHECKING:
    import onnx

_INPUT, _OUTPUT = "X", "score"
_OPSETS = {"": 17, "ai.onnx.ml": 3}  # of onnxruntime 1.18 and newer


def save_onnx(ranker: Estimator, path: str | PathLike[str]) -> None:
    """Save a fitted ranker as one ONNX model, with its start and all its trees.

    The model has one input ``X``, float64 of shape (n_rows, n_features) with the columns in the
    order of training, and one output ``score``, float64 of shape (n_rows,). Its scores differ from
    those of `predict` by rounding only: trees are summed in single precision.

    Parameters
    ----------
    ranker : GroupedRanker, LinearRanker or RankerMean
        Fitted. A GroupedRanker around an LGBMRanker, XGBRanker or CatBoostRanker, whose `init` is
        such a ranker, or none; a RankerMean of such rankers.
    path : str or path
        File to write; one that exists is replaced.

    Raises
    ------
    ImportError
        If onnx is not installed.
    TypeError
        If the ranker, or one inside it, is of another class.
    ValueError
        If trees cannot be converted: those with categorical features, of a linear booster, or with
        linear leaves; or a linear ranker of categories, or of a transformer in `features`.

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
        """The model of all nodes; its output are the scores, which have shape (n_rows, 1) here."""
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


# rankers: each function adds the nodes of a ranker and returns the name of its scores, which are
# float64 of shape (n_rows, 1)


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
    """The features of `feature_map_`: columns or their logs, NaN replaced, indicators of NaN."""
    found = ranker.feature_map_
    if found.transformer_ is not None or found.encoders_:
        raise ValueError(
            "save_onnx cannot convert a linear ranker of categories, or of a transformer in "
            "features=: encode the columns before the ranker, and save the encoder by skl2onnx."
        )
    numbers = _without_gaps(graph, _logs(graph, found), found)
    if not len(found.missing_):
        return numbers
    columns = graph.node("Gather", _INPUT, graph.constant(found.missing_), axis=1)
    missing = graph.cast(graph.node("IsNaN", columns), np.float64)
    return graph.node("Concat", numbers, missing, axis=1)


def _logs(graph: _Graph, found: FeatureMap) -> str:
    """Columns, some of them as signed logarithms; NaN stays NaN."""
    logs = np.isfinite(found.scale_)
    if not logs.any():
        return _INPUT
    center, scale = np.where(logs, found.center_, 0.0), np.where(logs, found.scale_, 1.0)
    away = graph.node("Sub", _INPUT, graph.constant(center))
    away = graph.node("Div", away, graph.constant(scale))
    size = graph.node("Add", graph.node("Abs", away), graph.constant(np.array(1.0)))
    signed = graph.node("Mul", graph.node("Sign", away), graph.node("Log", size))
    of_zero = signed_log(np.zeros(len(center)), center, scale)
    signed = graph.node("Sub", signed, graph.constant(of_zero))
    return graph.node("Where", graph.constant(logs), signed, _INPUT)


def _without_gaps(graph: _Graph, values: str, found: FeatureMap) -> str:
    """Values with the estimate or the median in place of NaN."""
    gaps = graph.node("IsNaN", values)
    if (known := found.estimates_) is None:
        return graph.node("Where", gaps, graph.constant(found.fill_), values)
    standard = graph.node("Sub", values, graph.constant(known.mean))
    standard = graph.node("Div", standard, graph.constant(known.deviation))
    standard = graph.node("Where", gaps, graph.constant(np.array(0.0)), standard)
    estimates = graph.node("MatMul", standard, graph.constant(known.weights.T.copy()))
    estimates = graph.node("Min", estimates, graph.constant(np.array(FARTHEST)))
    estimates = graph.node("Max", estimates, graph.constant(np.array(-FARTHEST)))
    spread = np.where(np.isfinite(known.deviation), known.deviation, 0.0)
    estimates = graph.node("Mul", estimates, graph.constant(spread))
    estimates = graph.node("Add", estimates, graph.constant(known.mean))
    return graph.node("Where", gaps, estimates, values)


def _grouped(graph: _Graph, ranker: GroupedRanker) -> str:
    """The sum of the start and of the rounds that predictions use."""
    parts = []
    if ranker.init_factor_:
        parts.append(_times(graph, _scores(graph, ranker.init_), ranker.init_factor_))
    if ranker.best_iteration_ != 0 or not parts:
        parts.append(_trees(graph, ranker.estimator_, ranker.best_iteration_))
    return _sum(graph, parts)


_TREES: dict[tuple[str, str], tuple[Callable[..., Any], type]] = {
    ("lightgbm", "LGBMRanker"): (lightgbm_trees, np.float64),
    ("xgboost", "XGBRanker"): (xgboost_trees, np.float32),
    ("catboost", "CatBoostRanker"): (catboost_trees, np.float32),
}  # and the type to which the booster converts features before it compares them


def _trees(graph: _Graph, estimator: Estimator, n_rounds: int | None) -> str:
    found = next((_TREES[name] for name in class_names(estimator) if name in _TREES), None)
    if found is None:
        raise TypeError(
            f"save_onnx cannot convert {type(estimator).__name__}: it takes an LGBMRanker, "
            "XGBRanker or CatBoostRanker in a GroupedRanker."
        )
    convert, dtype = found
    attributes = convert(estimator, n_rounds)
    if attributes is None:  # no round
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
