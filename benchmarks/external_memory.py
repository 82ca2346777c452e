"""Time and memory of training from files, compared with arrays in memory.

Usage: python benchmarks/external_memory.py [ROWS] [--features 50] [--rounds 20] [--folder FOLDER]

Writes ROWS documents (2 million by default), 100 per query, as Parquet files of whole queries in a
temporary folder. Then separate processes train trees on GAP: XGBoost and LightGBM from arrays in
memory, XGBoost from files (`ExtMemQuantileDMatrix`), LightGBM from `lightgbm.Sequence`, and
LightGBM from the binary file that the previous training saves. Prints for each process the seconds
to load the data, the seconds of training, the processor seconds of both, the peak memory beyond the
imports, and GAP on the training data. Needs pyarrow.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

DEPTH, BATCH = 100, 1000  # documents of a query, queries of a row group
SETTINGS = {"max_bin": 63, "learning_rate": 0.1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="?", type=int, default=2_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--folder", help="parent of the temporary folder")
    parser.add_argument("--way", help=argparse.SUPPRESS)  # set in the processes that measure
    options = parser.parse_args()
    if options.way:
        print(json.dumps(measure(options.way, Path(options.folder), options.rounds)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        size = make(Path(folder) / "train.parquet", options.rows // DEPTH, options.features)
        print(f"{options.rows} rows x {options.features} features, {size:.2f} GB of Parquet\n")
        print("| training | data, s | training, s | processor, s | memory, GB | GAP |")
        print("|---|---|---|---|---|---|")
        for way in WAYS:
            command = [sys.executable, __file__, "--way", way, "--folder", folder]
            done = subprocess.run(
                [*command, "--rounds", str(options.rounds)],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            found = json.loads(done.stdout.splitlines()[-1])
            print(f"| {way} | " + " | ".join(found) + " |", flush=True)


def make(path: Path, n_queries: int, n_features: int) -> float:
    """Write a row group for each batch of queries. Returns the size in gigabytes."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    weights = rng.normal(size=n_features) / np.sqrt(n_features)
    schema = pa.schema(
        [(f"f{column}", pa.float32()) for column in range(n_features)]
        + [("qid", pa.int32()), ("label", pa.int8())]
    )
    with parquet.ParquetWriter(path, schema, use_dictionary=["qid", "label"]) as writer:
        for first in range(0, n_queries, BATCH):
            ids = np.repeat(np.arange(first, min(first + BATCH, n_queries)), DEPTH)
            X = rng.normal(size=(len(ids), n_features)).astype(np.float32)
            labels = np.clip(np.floor(X @ weights + rng.normal(size=len(ids))), 0, 4)
            columns = [pa.array(column) for column in X.T]
            columns += [pa.array(ids, pa.int32()), pa.array(labels.astype(np.int8))]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=len(ids))
    return path.stat().st_size / 1e9


def measure(way: str, folder: Path, rounds: int) -> list[str]:
    """Cells of a table row: seconds, memory and GAP of a training."""
    import lightgbm
    import xgboost  # noqa: F401

    import skrank.lightgbm
    from skrank.datasets import make_ranking

    small = make_ranking(10, random_state=0)  # imports and compiled loops are not measured
    trees = lightgbm.LGBMRanker(n_estimators=1, verbosity=-1)
    ranker = skrank.GroupedRanker(
        trees, objective="gap", eval_metric="gap", validation_fraction=0.2
    )
    ranker.fit(small.X, small.relevance, small.qid)

    before, start, busy = peak(), time.perf_counter(), time.process_time()
    data = WAYS[way](folder)
    ready = time.perf_counter()
    log: dict[str, Any] = {}
    if way.startswith("XGBoost"):
        train_xgboost(data, rounds, log)
    else:
        train_lightgbm(data, rounds, log)
    end = time.perf_counter()
    (values,) = log.values()
    return [
        f"{ready - start:.0f}", f"{end - ready:.0f}", f"{time.process_time() - busy:.0f}",
        f"{peak() - before:.2f}", f"{values['gap'][-1]:.4f}",
    ]  # fmt: skip


def peak() -> float:
    """Peak resident size of this process, in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


# data ---------------------------------------------------------------------------------------------


def arrays(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and queries, read by row groups into preallocated arrays."""
    from pyarrow import parquet

    file = parquet.ParquetFile(folder / "train.parquet")
    names = features(file)
    X = np.empty((file.metadata.num_rows, len(names)), np.float32)
    first = 0
    for number in range(file.num_row_groups):
        part = file.read_row_group(number, names).to_pandas().to_numpy()
        X[first : first + len(part)] = part
        first += len(part)
    known = file.read(["label", "qid"]).to_pandas()
    return X, known["label"].to_numpy(), known["qid"].to_numpy()


def features(file: Any) -> list[str]:
    return [name for name in file.schema_arrow.names if name.startswith("f")]


def xgboost_memory(folder: Path) -> Any:
    import xgboost

    X, labels, qid = arrays(folder)
    return xgboost.QuantileDMatrix(X, labels, qid=qid, max_bin=SETTINGS["max_bin"])


def xgboost_files(folder: Path) -> Any:
    import xgboost
    from pyarrow import parquet

    class RowGroups(xgboost.DataIter):
        def __init__(self) -> None:
            self.file, self.number = parquet.ParquetFile(folder / "train.parquet"), 0
            super().__init__(cache_prefix=str(folder / "bins"))

        def reset(self) -> None:
            self.number = 0

        def next(self, input_data: Any) -> bool:
            if self.number == self.file.num_row_groups:
                return False
            part = self.file.read_row_group(self.number).to_pandas()
            input_data(data=part[features(self.file)], label=part["label"], qid=part["qid"])
            self.number += 1
            return True

    return xgboost.ExtMemQuantileDMatrix(RowGroups(), max_bin=SETTINGS["max_bin"])


def lightgbm_memory(folder: Path) -> Any:
    X, labels, qid = arrays(folder)
    return dataset(X, labels, qid)


def lightgbm_sequence(folder: Path) -> Any:
    import lightgbm
    from pyarrow import parquet

    file = parquet.ParquetFile(folder / "train.parquet")

    @lru_cache(maxsize=1)
    def values(number: int) -> np.ndarray:
        return file.read_row_group(number, features(file)).to_pandas().to_numpy("float64")

    class RowGroup(lightgbm.Sequence):
        def __init__(self, number: int) -> None:
            self.number, self.batch_size = number, file.metadata.row_group(number).num_rows

        def __len__(self) -> int:
            return self.batch_size

        def __getitem__(self, rows: Any) -> np.ndarray:
            return values(self.number)[rows]

    known = file.read(["label", "qid"]).to_pandas()
    groups = [RowGroup(number) for number in range(file.num_row_groups)]
    found = dataset(groups, known["label"].to_numpy(), known["qid"].to_numpy())
    found.save_binary(folder / "train.bin")
    return found


def lightgbm_binary(folder: Path) -> Any:
    import lightgbm

    return lightgbm.Dataset(folder / "train.bin", params=SETTINGS | {"verbosity": -1}).construct()


def dataset(data: Any, labels: np.ndarray, qid: np.ndarray) -> Any:
    import lightgbm

    sizes = np.unique(qid, return_counts=True)[1]
    params = SETTINGS | {"verbosity": -1}
    return lightgbm.Dataset(data, labels, group=sizes, params=params).construct()


WAYS = {
    "XGBoost, memory": xgboost_memory,
    "XGBoost, files": xgboost_files,
    "LightGBM, memory": lightgbm_memory,
    "LightGBM, Sequence": lightgbm_sequence,
    "LightGBM, binary file": lightgbm_binary,
}


# training -----------------------------------------------------------------------------------------


def train_xgboost(data: Any, rounds: int, log: dict[str, Any]) -> None:
    import xgboost

    import skrank.xgboost

    xgboost.train(
        SETTINGS | {"max_depth": 6, "disable_default_eval_metric": 1}, data, rounds,
        obj=skrank.xgboost.objective("gap"), custom_metric=skrank.xgboost.eval_metric("gap"),
        evals=[(data, "train")], evals_result=log, verbose_eval=False,
    )  # fmt: skip


def train_lightgbm(data: Any, rounds: int, log: dict[str, Any]) -> None:
    import lightgbm

    import skrank.lightgbm

    objective = skrank.lightgbm.objective("gap")
    lightgbm.train(
        SETTINGS | {"objective": objective, "metric": "None", "num_leaves": 63, "verbosity": -1},
        data, rounds, [data], feval=skrank.lightgbm.eval_metric("gap"),
        callbacks=[lightgbm.record_evaluation(log)],
    )  # fmt: skip


if __name__ == "__main__":
    main()
