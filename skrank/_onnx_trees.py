"""Trees of boosters as attributes of ONNX's TreeEnsembleRegressor.

onnxmltools is not used, since its converters depend on the objective of the booster: they convert
an XGBRanker to a classifier, and raise an error for LightGBM with a callable objective. This module
reads the trees from the models of the boosters, and keeps the precision of thresholds.
"""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from skrank._typing import Estimator, Options

Node = dict[str, Any]  # of `dump_model` of LightGBM


class _Nodes:
    """Nodes of trees, as lists with an entry per node for TreeEnsembleRegressor."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {
            name: []
            for name in (
                "treeids", "nodeids", "modes", "featureids", "values", "truenodeids",
                "falsenodeids", "missing_value_tracks_true",
            )
        }  # fmt: skip
        self.leaves: list[tuple[int, int, float]] = []  # tree, node, value

    def split(
        self, tree: int, node: int, mode: str, feature: int, threshold: float,
        children: tuple[int, int], missing_is_true: bool,
    ) -> None:  # fmt: skip
        """Add an inner node; `children` are the nodes if the comparison is true, and if false."""
        row = (tree, node, mode, feature, threshold, *children, int(missing_is_true))
        for column, value in zip(self.columns.values(), row, strict=True):
            column.append(value)

    def leaf(self, tree: int, node: int, value: float) -> None:
        """Add a leaf."""
        self.split(tree, node, "LEAF", 0, 0.0, (0, 0), False)
        self.leaves.append((tree, node, value))

    def attributes(self, dtype: type, base: float = 0.0) -> Options | None:
        """Attributes of TreeEnsembleRegressor with numbers of a dtype; None if there is no tree."""
        from onnx import numpy_helper

        if not self.leaves:
            return None
        trees, nodes, weights = zip(*self.leaves, strict=True)
        found: Options = {f"nodes_{name}": column for name, column in self.columns.items()}
        found |= {"target_treeids": trees, "target_nodeids": nodes, "target_ids": [0] * len(nodes)}
        numbers = {
            "nodes_values": found.pop("nodes_values"), "target_weights": weights,
            "base_values": [base],
        }  # fmt: skip
        if dtype is np.float32:
            return found | numbers
        return found | {
            f"{name}_as_tensor": numpy_helper.from_array(np.array(values, np.float64), name)
            for name, values in numbers.items()
        }


def lightgbm_trees(estimator: Estimator, n_rounds: int | None) -> Options | None:
    """Trees of LightGBM, which compares in double precision."""
    model = estimator.booster_.dump_model(num_iteration=n_rounds)
    if model["average_output"]:
        raise _refused("the random forest of LightGBM, whose trees are averaged", "boost instead")
    nodes = _Nodes()
    for number, tree in enumerate(model["tree_info"]):
        _add_lightgbm_tree(nodes, number, tree["tree_structure"])
    return nodes.attributes(np.float64)


def _add_lightgbm_tree(nodes: _Nodes, tree: int, root: Node) -> None:
    """Add a tree; nodes are numbered from 0, the root, when their parent is added."""
    stack, n_nodes = [(0, root)], 1
    while stack:
        number, node = stack.pop()
        if "split_feature" not in node:
            if "leaf_coeff" in node:
                raise _refused("linear_tree=True of LightGBM", "train with constant leaves")
            nodes.leaf(tree, number, node["leaf_value"])
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
        nodes.split(
            tree, number, "BRANCH_LEQ", node["split_feature"], threshold, children, missing_is_true
        )
        stack += zip(children, (node["left_child"], node["right_child"]), strict=True)


def xgboost_trees(estimator: Estimator, n_rounds: int | None) -> Options | None:
    """Trees of XGBoost, which compares in single precision."""
    learner = json.loads(estimator.get_booster().save_raw("json"))["learner"]
    gradient_booster = learner["gradient_booster"]
    if gradient_booster["name"] != "gbtree":
        raise _refused(f"booster={gradient_booster['name']!r} of XGBoost", 'train "gbtree"')
    if estimator.missing is not None and not math.isnan(estimator.missing):
        raise _refused(f"missing={estimator.missing!r} of XGBoost", "use NaN for missing values")
    model, nodes = gradient_booster["model"], _Nodes()
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
                nodes.leaf(number, node, value)
            else:
                feature, default_left = tree["split_indices"][node], tree["default_left"][node]
                nodes.split(number, node, "BRANCH_LT", feature, value, (left, right), default_left)
    base = np.ravel(json.loads(learner["learner_model_param"]["base_score"]))
    return nodes.attributes(np.float32, float(base[0]))


def catboost_trees(estimator: Estimator, n_rounds: int | None) -> Options | None:
    """Trees of CatBoost, which compares in single precision, from CatBoost's ONNX export."""
    import onnx

    if estimator.get_cat_feature_indices():
        raise _refused("categorical features of CatBoost", "encode categories as numbers")
    if estimator.get_all_params().get("nan_mode") == "Max":
        raise _refused('nan_mode="Max" of CatBoost', 'train with "Min"')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trees.onnx")
        estimator.save_model(str(path), format="onnx")
        (node,) = onnx.load(path).graph.node
    attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    del attributes["n_targets"]  # the caller adds this attribute
    return attributes


def _refused(what: str, remedy: str) -> ValueError:
    return ValueError(f"save_onnx cannot convert {what}: {remedy}, or serve a pickle.")
