"""save_onnx: convert a fitted ranker to one ONNX graph, which runs without Python and booster.

onnxmltools is not used, since its converters depend on the objective of the booster: they convert
an XGBRanker to a classifier, and raise an error for LightGBM with a callable objective. This module
reads the trees from the models of the boosters, and keeps the precision of thresholds.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from skrank._boosters.adapters import import_booster
from skrank._files import write_atomically
from skrank._fitted import class_names
from skrank._typing import Estimator, Options
from skrank.preprocessing import RidgeImputer, SignedLog
from skrank.preprocessing._columns import FARTHEST
from skrank.rankers import GroupedRanker, LinearRanker, RankerMean
from skrank.rankers._linear_features import as_numbers

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
        File to write, with the suffix .onnx or without a suffix. An existing file is replaced; it
        stays as it was if an error occurs.

    Raises
    ------
    ImportError
        If onnx is not installed.
    OSError
        If the file cannot be written.
    TypeError
        If the ranker, or a ranker inside it, has another class.
    ValueError
        If the file has another suffix, or a ranker cannot be converted: trees with categorical
        features or linear leaves, a linear booster, CatBoost's asymmetric trees or scales, an
        objective of LightGBM with a link (such as "poisson"), or a linear ranker with categories or
        with other steps in `features` than ColumnTransformer, Pipeline, SignedLog, RidgeImputer,
        SimpleImputer and StandardScaler.

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
    suffix = Path(path).suffix
    if suffix.lower() not in ("", ".onnx"):
        raise ValueError(f"path={fspath(path)!r}: ONNX models have the suffix .onnx, not {suffix}.")
    graph = _Graph(onnx)
    model = graph.model(_scores(graph, ranker), int(ranker.n_features_in_))
    onnx.checker.check_model(model)
    write_atomically(path, model.SerializeToString())


class _Graph:
    """Nodes and constants of an ONNX graph under construction."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, values: np.ndarray | float) -> str:
        """Add a constant; returns its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(
        self, op: str, *inputs: str | np.ndarray | float, domain: str = "", **attributes: object
    ) -> str:
        """Add a node with one output; returns the name of the output.

        Inputs are names of outputs, or values, which become constants.
        """
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        name = f"n{len(self.nodes)}"
        self.nodes.append(
            self.onnx.helper.make_node(op, names, [name], domain=domain, **attributes)
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


# Each function down to `_sum` adds nodes to the graph and returns the name of the last output.
# Scores are float64 of shape (n_rows, 1).


def _scores(graph: _Graph, ranker: Estimator) -> str:
    if isinstance(ranker, LinearRanker):
        return _linear(graph, ranker)
    if isinstance(ranker, GroupedRanker):
        return _grouped(graph, ranker)
    if isinstance(ranker, RankerMean):
        parts = [
            graph.node("Mul", _scores(graph, one), float(factor))
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
    return graph.node("MatMul", _features(graph, ranker.feature_map_, _INPUT), weights)


def _features(graph: _Graph, step: Any, X: str) -> str:
    """The output of a fitted transformer of features."""
    if isinstance(step, Pipeline):
        for _, one in step.steps:
            X = _features(graph, one, X)
        return X
    if isinstance(step, ColumnTransformer):
        names = list(getattr(step, "feature_names_in_", ()))
        parts = []
        for _, one, columns in step.transformers_:
            if isinstance(one, str):  # "drop"
                continue
            if not isinstance(columns, slice):
                columns = [names.index(one) if isinstance(one, str) else one for one in columns]
            taken = graph.node("Gather", X, np.arange(step.n_features_in_)[columns], axis=1)
            parts.append(_features(graph, one, taken))
        return graph.node("Concat", *parts, axis=1)
    if isinstance(step, SignedLog):
        return _signed_log(graph, step, X)
    if isinstance(step, RidgeImputer):
        return _estimated(graph, step, X)
    if isinstance(step, SimpleImputer) and np.isreal(step.statistics_).all():
        return _imputed(graph, step, X)
    if isinstance(step, StandardScaler):
        X = X if step.mean_ is None else graph.node("Sub", X, step.mean_)
        return X if step.scale_ is None else graph.node("Div", X, step.scale_)
    if isinstance(step, FunctionTransformer) and step.func in (None, as_numbers):
        return X
    raise ValueError(
        f"save_onnx cannot convert {type(step).__name__} in the features of a linear ranker: "
        "encode the columns before the ranker, and save the encoder by skl2onnx."
    )


def _signed_log(graph: _Graph, step: SignedLog, X: str) -> str:
    """Columns, or their signed logarithms where the scale is finite; NaN stays NaN."""
    logs = np.isfinite(step.scale_)
    center, scale = np.where(logs, step.center_, 0.0), np.where(logs, step.scale_, 1.0)
    away = graph.node("Div", graph.node("Sub", X, center), scale)
    size = graph.node("Add", graph.node("Abs", away), 1.0)
    signed = graph.node("Mul", graph.node("Sign", away), graph.node("Log", size))
    of_zero = np.copysign(np.log1p(np.abs(center / scale)), -center)
    return graph.node("Where", logs, graph.node("Sub", signed, of_zero), X)


def _estimated(graph: _Graph, step: RidgeImputer, X: str) -> str:
    """Columns with estimates, or medians, in place of NaN, and indicators of NaN."""
    is_nan = graph.node("IsNaN", X)
    if step.weights_ is None or step.deviation_ is None or step.mean_ is None:
        filled = graph.node("Where", is_nan, step.fill_, X)
    else:
        standard = graph.node("Div", graph.node("Sub", X, step.mean_), step.deviation_)
        standard = graph.node("Where", is_nan, 0.0, standard)
        estimates = graph.node("MatMul", standard, step.weights_.T.copy())
        estimates = graph.node("Max", graph.node("Min", estimates, FARTHEST), -FARTHEST)
        spread = np.where(np.isfinite(step.deviation_), step.deviation_, 0.0)
        estimates = graph.node("Add", graph.node("Mul", estimates, spread), step.mean_)
        filled = graph.node("Where", is_nan, estimates, X)
    return _with_indicators(graph, filled, X, step.missing_)


def _with_indicators(graph: _Graph, filled: str, X: str, columns: np.ndarray) -> str:
    if not len(columns):
        return filled
    is_nan = graph.node("IsNaN", graph.node("Gather", X, columns, axis=1))
    return graph.node("Concat", filled, graph.cast(is_nan, np.float64), axis=1)


def _imputed(graph: _Graph, step: SimpleImputer, X: str) -> str:
    """Columns with statistics in place of NaN, and indicators of NaN."""
    fill = step.statistics_.astype(np.float64)
    filled = graph.node("Where", graph.node("IsNaN", X), fill, X)
    if np.isnan(fill).any():  # columns without values, which are left out
        filled = graph.node("Gather", filled, np.flatnonzero(~np.isnan(fill)), axis=1)
    marked = () if step.indicator_ is None else step.indicator_.features_
    return _with_indicators(graph, filled, X, np.asarray(marked, dtype=np.int64))


def _grouped(graph: _Graph, ranker: GroupedRanker) -> str:
    """The sum of the scores of `init` and of the rounds that predictions use."""
    parts = []
    if ranker.init_factor_:
        start = _scores(graph, ranker.init_)
        parts.append(graph.node("Mul", start, float(ranker.init_factor_)))
    if ranker.best_iteration_ != 0 or not parts:
        parts.append(_trees(graph, ranker.estimator_, ranker.best_iteration_))
    return _sum(graph, parts)


def _trees(graph: _Graph, estimator: Estimator, n_rounds: int | None) -> str:
    found = next((_TREES[name] for name in class_names(estimator) if name in _TREES), None)
    if found is None:
        raise TypeError(
            f"save_onnx cannot convert {type(estimator).__name__}: it takes an LGBMRanker, "
            "XGBRanker or CatBoostRanker in a GroupedRanker."
        )
    convert, dtype = found
    attributes = convert(estimator, n_rounds)
    X = _INPUT if dtype is np.float64 else graph.cast(_INPUT, dtype)
    scores = graph.node("TreeEnsembleRegressor", X, domain="ai.onnx.ml", n_targets=1, **attributes)
    return graph.cast(scores, np.float64)


def _sum(graph: _Graph, parts: list[str]) -> str:
    if not parts:
        raise ValueError(
            "all rankers of the RankerMean have constant scores, so that there is nothing to save."
        )
    return parts[0] if len(parts) == 1 else graph.node("Sum", *parts)


# trees, as attributes of TreeEnsembleRegressor ---------------------------------------------------


class _Node(NamedTuple):
    """A node of a tree. The default is a leaf, with its score as `value`."""

    tree: int
    number: int
    value: float  # of an inner node: the threshold
    mode: str = "LEAF"
    feature: int = 0
    if_true: int = 0  # number of the next node if the comparison is true
    if_false: int = 0
    missing_is_true: bool = False


def _attributes(nodes: Sequence[_Node], dtype: type, base: float = 0.0) -> Options:
    """Attributes of TreeEnsembleRegressor with numbers of a dtype.

    Double precision needs attributes that are tensors; other numbers are single precision.
    """
    from onnx import numpy_helper

    nodes = nodes or [_Node(0, 0, 0.0)]  # no tree: a leaf that adds nothing
    trees, numbers, values, modes, features, if_true, if_false, missing = zip(*nodes, strict=True)
    leaves = [one for one in nodes if one.mode == "LEAF"]
    found: Options = {
        "nodes_treeids": trees,
        "nodes_nodeids": numbers,
        "nodes_modes": modes,
        "nodes_featureids": features,
        "nodes_truenodeids": if_true,
        "nodes_falsenodeids": if_false,
        "nodes_missing_value_tracks_true": list(map(int, missing)),
        "target_treeids": [one.tree for one in leaves],
        "target_nodeids": [one.number for one in leaves],
        "target_ids": [0] * len(leaves),
    }
    decimals = {
        "nodes_values": np.where(np.equal(modes, "LEAF"), 0.0, values).tolist(),
        "target_weights": [one.value for one in leaves],
        "base_values": [base],
    }
    if dtype is np.float32:
        return found | decimals
    return found | {
        f"{name}_as_tensor": numpy_helper.from_array(np.array(values, np.float64), name)
        for name, values in decimals.items()
    }


# objectives of LightGBM whose predictions are a function of the sum of the trees
_LINKED = ("poisson", "gamma", "tweedie", "binary", "cross_entropy", "cross_entropy_lambda")


def _lightgbm_trees(estimator: Estimator, n_rounds: int | None) -> Options:
    """Trees of LightGBM, which compares in double precision."""
    model = estimator.booster_.dump_model(num_iteration=n_rounds)
    if model["average_output"]:
        raise _refused("the random forest of LightGBM, whose trees are averaged", "boost instead")
    name, *options = str(model.get("objective", "none")).split()
    if name in _LINKED or "sqrt" in options:
        link = f"objective={model['objective']!r} of LightGBM, which has a link"
        raise _refused(link, "train on a ranking objective")
    nodes: list[_Node] = []
    for number, tree in enumerate(model["tree_info"]):
        nodes += _lightgbm_nodes(number, tree["tree_structure"])
    return _attributes(nodes, np.float64)


def _lightgbm_nodes(tree: int, root: Options) -> Iterator[_Node]:
    """Nodes of a tree of `dump_model`; the root is 0, and a visited parent numbers its children."""
    stack, n_nodes = [(0, root)], 1
    while stack:
        number, node = stack.pop()
        if "split_feature" not in node:
            if "leaf_coeff" in node:
                raise _refused("linear_tree=True of LightGBM", "train with constant leaves")
            yield _Node(tree, number, node["leaf_value"])
            continue
        missing, threshold = node["missing_type"], node["threshold"]
        if node["decision_type"] != "<=":
            raise _refused("categorical features of LightGBM", "encode categories as numbers")
        if missing == "Zero":
            raise _refused("zero_as_missing=True of LightGBM", "train with NaN for missing values")
        children = (n_nodes, n_nodes + 1)
        n_nodes += 2
        # LightGBM replaces NaN by 0 if the feature had no NaN in training
        missing_is_true = node["default_left"] if missing == "NaN" else threshold >= 0
        feature = node["split_feature"]
        yield _Node(tree, number, threshold, "BRANCH_LEQ", feature, *children, missing_is_true)
        stack += zip(children, (node["left_child"], node["right_child"]), strict=True)


def _xgboost_trees(estimator: Estimator, n_rounds: int | None) -> Options:
    """Trees of XGBoost, which compares in single precision."""
    learner = json.loads(estimator.get_booster().save_raw("json"))["learner"]
    gradient_booster = learner["gradient_booster"]
    if gradient_booster["name"] != "gbtree":
        raise _refused(f"booster={gradient_booster['name']!r} of XGBoost", 'train "gbtree"')
    if estimator.missing is not None and not math.isnan(estimator.missing):
        raise _refused(f"missing={estimator.missing!r} of XGBoost", "use NaN for missing values")
    model, nodes = gradient_booster["model"], []
    n_trees = len(model["trees"])
    if n_rounds is not None:
        n_trees = model["iteration_indptr"][n_rounds]
    for number, tree in enumerate(model["trees"][:n_trees]):
        if any(tree["split_type"]):
            raise _refused("categorical features of XGBoost", "encode categories as numbers")
        for node, (left, right) in enumerate(
            zip(tree["left_children"], tree["right_children"], strict=True)
        ):
            value = tree["split_conditions"][node]  # threshold, or the value of a leaf
            if left < 0:
                nodes.append(_Node(number, node, value))
            else:
                feature, default_left = tree["split_indices"][node], tree["default_left"][node]
                split = "BRANCH_LT", feature, left, right, default_left
                nodes.append(_Node(number, node, value, *split))
    base = np.ravel(json.loads(learner["learner_model_param"]["base_score"]))
    return _attributes(nodes, np.float32, float(base[0]))


def _catboost_trees(estimator: Estimator, n_rounds: int | None) -> Options:
    """Trees of CatBoost, which compares in single precision, from CatBoost's ONNX export.

    CatBoost keeps no trees after the best round, so that `n_rounds` is the number of its trees.
    """
    import onnx

    if estimator.get_cat_feature_indices():
        raise _refused("categorical features of CatBoost", "encode categories as numbers")
    if estimator.get_all_params().get("nan_mode") == "Max":
        raise _refused('nan_mode="Max" of CatBoost', 'train with "Min"')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trees.onnx")
        try:
            estimator.save_model(str(path), format="onnx")
        except import_booster("catboost").CatBoostError as error:
            remedy = 'train with grow_policy="SymmetricTree", and leave scale and bias as they are'
            raise _refused(f"this model of CatBoost ({error})", remedy) from error
        (node,) = onnx.load(path).graph.node
    attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    del attributes["n_targets"]  # the caller adds this attribute
    return attributes


def _refused(what: str, remedy: str) -> ValueError:
    return ValueError(f"save_onnx cannot convert {what}: {remedy}, or serve a pickle.")


# Converter of the trees, and the dtype of features when the booster compares them with thresholds.
_TREES: dict[tuple[str, str], tuple[Callable[[Estimator, int | None], Options], type]] = {
    ("lightgbm", "LGBMRanker"): (_lightgbm_trees, np.float64),
    ("xgboost", "XGBRanker"): (_xgboost_trees, np.float32),
    ("catboost", "CatBoostRanker"): (_catboost_trees, np.float32),
}
