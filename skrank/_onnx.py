"""save_onnx: convert a fitted ranker to one ONNX graph, which runs without Python and booster.

onnxmltools is not used, since its converters depend on the objective of the booster: they convert
an XGBRanker to a classifier, and raise an error for LightGBM with a callable objective. This module
reads the trees from the models of the boosters, and keeps the precision of thresholds.
"""

from __future__ import annotations

import json
import math
import tempfile
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from skrank._boosters.adapters import import_booster
from skrank._files import write_atomically
from skrank._fitted import is_instance
from skrank._typing import Estimator, Options
from skrank.preprocessing import RidgeImputer
from skrank.preprocessing._ridge_imputer import FARTHEST
from skrank.preprocessing._signed_log import signed_log
from skrank.rankers import GroupedRanker, LinearRanker, RankerMean

# versions that onnxruntime 1.18 and newer support; opset 17 came with `ir_version` 8
_OPSETS = {"": 17, "ai.onnx.ml": 3}
# objectives of LightGBM whose predictions are a function of the sum of the trees
_LINKED = ("poisson", "gamma", "tweedie", "binary", "cross_entropy", "cross_entropy_lambda")


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
        with other steps in `features` than ColumnTransformer, Pipeline, RidgeImputer, SimpleImputer
        and the logarithms of LinearRanker.

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
        graph = _Graph()
    except ImportError:
        raise ImportError("skrank.save_onnx needs onnx: pip install skrank[onnx]") from None
    check_is_fitted(ranker)
    suffix = Path(path).suffix
    if suffix.lower() not in ("", ".onnx"):
        raise ValueError(f"path={fspath(path)!r}: ONNX models have the suffix .onnx, not {suffix}.")
    model = graph.model(_scores(graph, ranker), int(ranker.n_features_in_))
    write_atomically(path, model.SerializeToString())


class _Graph:
    """Nodes and constants of an ONNX graph under construction; its input is "X"."""

    def __init__(self) -> None:
        import onnx

        self.onnx = onnx
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def node(
        self, op: str, *inputs: str | np.ndarray | float, domain: str = "", **attributes: object
    ) -> str:
        """Add a node with one output; returns the name of the output.

        Inputs are names of outputs, or values, which become constants.
        """
        names = []
        for value in inputs:
            if isinstance(value, str):
                names.append(value)
                continue
            names.append(f"c{len(self.constants)}")
            constant = self.onnx.numpy_helper.from_array(np.asarray(value), names[-1])
            self.constants.append(constant)
        out = f"n{len(self.nodes)}"
        proto = self.onnx.helper.make_node(op, names, [out], domain=domain, **attributes)
        self.nodes.append(proto)
        return out

    def cast(self, name: str, dtype: type) -> str:
        """Add a conversion to a NumPy type."""
        to = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.node("Cast", name, to=to)

    def model(self, scores: str, n_features: int) -> Any:
        """The checked model of all nodes; its output has the shape (n_rows,)."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        out = self.node("Reshape", scores, np.array([-1], np.int64))
        self.nodes[-1].output[0] = out = "score"
        features = helper.make_tensor_value_info("X", double, ["rows", n_features])
        score = helper.make_tensor_value_info(out, double, ["rows"])
        graph = helper.make_graph(self.nodes, "skrank", [features], [score], self.constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="skrank")
        self.onnx.checker.check_model(model)
        return model


def _refused(what: str) -> ValueError:
    return ValueError(f"save_onnx cannot convert {what}: train without it, or serve a pickle.")


# Each function adds nodes to the graph and returns the name of the last output. Scores are float64
# of shape (n_rows, 1).


def _scores(graph: _Graph, ranker: Estimator) -> str:
    parts: list[str] = []
    if isinstance(ranker, LinearRanker):
        features = _features(graph, ranker.feature_map_, "X")
        return graph.node("MatMul", features, ranker.coef_.astype(np.float64)[:, np.newaxis])
    if isinstance(ranker, GroupedRanker):
        if ranker.init_factor_:
            start = _scores(graph, ranker.init_)
            parts.append(graph.node("Mul", start, float(ranker.init_factor_)))
        if ranker.best_iteration_ != 0 or not parts:  # XGBoost may train 0 rounds
            parts.append(_trees(graph, ranker.estimator_, ranker.best_iteration_))
    elif isinstance(ranker, RankerMean):
        for member, factor in zip(ranker.estimators_, ranker.factors_, strict=True):
            if factor:
                parts.append(graph.node("Mul", _scores(graph, member), float(factor)))
    else:
        raise TypeError(
            f"save_onnx cannot convert {type(ranker).__name__}: it takes a LinearRanker, a "
            "GroupedRanker around a ranker of LightGBM, XGBoost or CatBoost, or a RankerMean."
        )
    if not parts:
        raise _refused("a RankerMean whose rankers all have constant scores")
    return graph.node("Sum", *parts)


def _features(graph: _Graph, step: Any, X: str) -> str:
    """The output of a fitted transformer of features."""
    if isinstance(step, Pipeline):
        for _, inner in step.steps:
            X = _features(graph, inner, X)
        return X
    if isinstance(step, ColumnTransformer):
        names = list(getattr(step, "feature_names_in_", ()))
        parts = []
        for _, inner, columns in step.transformers_:
            if isinstance(inner, str):  # "drop"
                continue
            if not isinstance(columns, slice):
                columns = [names.index(name) if isinstance(name, str) else name for name in columns]
            taken = graph.node("Gather", X, np.arange(step.n_features_in_)[columns], axis=1)
            parts.append(_features(graph, inner, taken))
        return graph.node("Concat", *parts, axis=1)
    if isinstance(step, FunctionTransformer) and step.func is signed_log:
        return _signed_log(graph, X, **step.kw_args)
    if isinstance(step, RidgeImputer):
        return _estimated(graph, step, X)
    if isinstance(step, SimpleImputer) and step.statistics_.dtype != object:  # else of texts
        fill = step.statistics_.astype(np.float64)
        known = np.flatnonzero(~np.isnan(fill))  # columns without values are left out
        filled = graph.node("Where", graph.node("IsNaN", X), fill, X)
        marked = [] if step.indicator_ is None else step.indicator_.features_
        return _with_marks(graph, graph.node("Gather", filled, known, axis=1), X, marked)
    raise _refused(f"{type(step).__name__} in the features of a linear ranker")


def _signed_log(graph: _Graph, X: str, center: np.ndarray, scale: np.ndarray) -> str:
    """Columns, or their signed logarithms where the scale is finite; NaN stays NaN."""
    logs = np.isfinite(scale)
    center, scale = np.where(logs, center, 0.0), np.where(logs, scale, 1.0)
    away = graph.node("Div", graph.node("Sub", X, center), scale)
    size = graph.node("Add", graph.node("Abs", away), 1.0)
    signed = graph.node("Mul", graph.node("Sign", away), graph.node("Log", size))
    of_zero = np.copysign(np.log1p(np.abs(center / scale)), -center)
    return graph.node("Where", logs, graph.node("Sub", signed, of_zero), X)


def _estimated(graph: _Graph, step: RidgeImputer, X: str) -> str:
    """Columns with estimates, or medians, in place of NaN, and indicators of NaN."""
    is_nan = graph.node("IsNaN", X)
    estimates: str | np.ndarray = step.fill_.astype(np.float64)  # may be float32, as training rows
    if step.weights_ is not None and step.deviation_ is not None and step.mean_ is not None:
        standard = graph.node("Div", graph.node("Sub", X, step.mean_), step.deviation_)
        standard = graph.node("Where", is_nan, 0.0, standard)
        estimate = graph.node("MatMul", standard, step.weights_.T)
        estimate = graph.node("Max", graph.node("Min", estimate, FARTHEST), -FARTHEST)
        spread = np.where(np.isfinite(step.deviation_), step.deviation_, 0.0)
        estimates = graph.node("Add", graph.node("Mul", estimate, spread), step.mean_)
    return _with_marks(graph, graph.node("Where", is_nan, estimates, X), X, step.missing_)


def _with_marks(graph: _Graph, filled: str, X: str, columns: Any) -> str:
    """Columns, and indicators of NaN in some columns of X."""
    if not len(columns):
        return filled
    is_nan = graph.node("IsNaN", graph.node("Gather", X, np.asarray(columns, np.int64), axis=1))
    return graph.node("Concat", filled, graph.cast(is_nan, np.float64), axis=1)


def _trees(graph: _Graph, estimator: Estimator, n_rounds: int | None) -> str:
    """The sum of trees; the boosters compare features in the precision of `dtype`."""
    dtype: type = np.float32
    if is_instance(estimator, "lightgbm", "LGBMRanker"):
        dtype, attributes = np.float64, _lightgbm_trees(estimator, n_rounds)
    elif is_instance(estimator, "xgboost", "XGBRanker"):
        attributes = _xgboost_trees(estimator, n_rounds)
    elif is_instance(estimator, "catboost", "CatBoostRanker"):
        attributes = _catboost_trees(estimator)
    else:
        raise TypeError(
            f"save_onnx cannot convert {type(estimator).__name__}: it takes an LGBMRanker, "
            "XGBRanker or CatBoostRanker in a GroupedRanker."
        )
    X = graph.cast("X", dtype)
    scores = graph.node("TreeEnsembleRegressor", X, domain="ai.onnx.ml", n_targets=1, **attributes)
    return graph.cast(scores, np.float64)


def _attributes(nodes: list[tuple[Any, ...]], mode: str, base: float = 0.0) -> Options:
    """Attributes of TreeEnsembleRegressor.

    A node is (tree, number, value, feature, number if true, number if false, whether NaN is true);
    the numbers of its children are -1 for a leaf, whose value is its score.
    """
    names = (
        "treeids", "nodeids", "values", "featureids", "truenodeids", "falsenodeids",
        "missing_value_tracks_true",
    )  # fmt: skip
    table = pd.DataFrame(nodes or [(0, 0, 0.0, 0, -1, -1, False)], columns=names)  # no tree: 0
    leaf = table["truenodeids"] < 0
    leaves = table[leaf]
    table.loc[leaf, ["values", "truenodeids", "falsenodeids"]] = 0
    counts = dict.fromkeys(table.columns.drop("values"), int)
    attributes = table.astype(counts).add_prefix("nodes_").to_dict("list")
    return attributes | {
        "nodes_modes": np.where(leaf, "LEAF", mode).tolist(),
        "target_treeids": leaves["treeids"].tolist(),
        "target_nodeids": leaves["nodeids"].tolist(),
        "target_ids": [0] * len(leaves),
        "target_weights": leaves["values"].tolist(),
        "base_values": [base],
    }


def _lightgbm_trees(estimator: Estimator, n_rounds: int | None) -> Options:
    """Trees of LightGBM, with numbers as tensors, since these are in double precision."""
    from onnx import numpy_helper

    model = estimator.booster_.dump_model(num_iteration=n_rounds)
    name, *options = str(model.get("objective", "none")).split()
    if model["average_output"] or name in _LINKED or "sqrt" in options:
        raise _refused(f"a random forest or link of LightGBM, objective={model['objective']!r}")
    nodes: list[tuple[Any, ...]] = []
    for number, tree in enumerate(model["tree_info"]):
        stack, n_nodes = [(0, tree["tree_structure"])], 1
        while stack:
            at, node = stack.pop()
            if "split_feature" not in node:
                if "leaf_coeff" in node:
                    raise _refused("linear_tree=True of LightGBM")
                nodes.append((number, at, node["leaf_value"], 0, -1, -1, False))
                continue
            missing, threshold = node["missing_type"], node["threshold"]
            if node["decision_type"] != "<=":
                raise _refused("categorical features of LightGBM")
            if missing == "Zero":
                raise _refused("zero_as_missing=True of LightGBM")
            # LightGBM replaces NaN by 0 if the feature had no NaN in training
            to_left = node["default_left"] if missing == "NaN" else threshold >= 0
            children = n_nodes, n_nodes + 1
            nodes.append((number, at, threshold, node["split_feature"], *children, to_left))
            stack += zip(children, (node["left_child"], node["right_child"]), strict=True)
            n_nodes += 2
    attributes = _attributes(nodes, "BRANCH_LEQ")
    for name in ("nodes_values", "target_weights", "base_values"):
        values = np.array(attributes.pop(name), np.float64)
        attributes[f"{name}_as_tensor"] = numpy_helper.from_array(values, name)
    return attributes


def _xgboost_trees(estimator: Estimator, n_rounds: int | None) -> Options:
    learner = json.loads(estimator.get_booster().save_raw("json"))["learner"]
    booster = learner["gradient_booster"]
    if booster["name"] != "gbtree":
        raise _refused(f"booster={booster['name']!r} of XGBoost")
    if estimator.missing is not None and not math.isnan(estimator.missing):
        raise _refused(f"missing={estimator.missing!r} of XGBoost")
    model, nodes = booster["model"], []
    n_trees = None if n_rounds is None else model["iteration_indptr"][n_rounds]
    names = ("split_conditions", "split_indices", "left_children", "right_children", "default_left")
    for number, tree in enumerate(model["trees"][:n_trees]):
        if any(tree["split_type"]):
            raise _refused("categorical features of XGBoost")
        columns = zip(*(tree[name] for name in names), strict=True)
        nodes += [(number, at, *node) for at, node in enumerate(columns)]
    base = np.ravel(json.loads(learner["learner_model_param"]["base_score"]))
    return _attributes(nodes, "BRANCH_LT", float(base[0]))


def _catboost_trees(estimator: Estimator) -> Options:
    """Trees of CatBoost from its ONNX export; it keeps no trees after the best round."""
    import onnx

    if estimator.get_cat_feature_indices():
        raise _refused("categorical features of CatBoost")
    if estimator.get_all_params().get("nan_mode") == "Max":
        raise _refused('nan_mode="Max" of CatBoost')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trees.onnx")
        try:
            estimator.save_model(str(path), format="onnx")
        except import_booster("catboost").CatBoostError as error:
            what = "a model of CatBoost that is not of symmetric trees, or has a scale or bias"
            raise _refused(f"{what} ({error})") from error
        (node,) = onnx.load(path).graph.node
    attributes = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
    del attributes["n_targets"]  # the caller adds this attribute
    return attributes
