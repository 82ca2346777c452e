"""Write the page of names that other tools give to metrics, from the tables that read them.

python docs/peer_names.py
"""

from __future__ import annotations

from pathlib import Path

import skrank
from skrank._engine.peer_names import PEERS
from skrank._engine.peer_tables import RANX_TIES, Alias, Refused

PAGE = Path(__file__).parent / "reference" / "names.md"
HEAD = """# Names of other tools

Made from the tables that read them by `python docs/build.py`.

`skrank.metric` and everything that takes names of metrics reads those of trec_eval, ir_measures,
ranx, LightGBM, XGBoost, CatBoost, scikit-learn and NTCIREVAL with their meaning: gains, lowest
relevant label, ties, and the value of queries without relevant documents.

* A prefix says whose a name is: `trec_eval:ndcg`, `ir_measures:nDCG@10`, `ranx:ndcg_burges@10`,
  `lightgbm:ndcg@5`, `xgboost:ndcg@5-`, `catboost:NDCG:top=10;type=Base`,
  `sklearn:ndcg_score(k=10)`, `ntcireval:MSnDCG@10`.
* Without a prefix, a spelling that only another tool has is that tool's: `ndcg_cut_10`, `P_5`,
  `recip_rank`, `SetP`, `hit_rate@5`, `MAP:top=5`. A name of skrank is skrank's: `map` and `ndcg@10`
  leave queries without a relevant document out of the mean (`empty="skip"`), and `ndcg` has the
  gain 2^label - 1. Names of the boosters, of scikit-learn and of NTCIREVAL need their prefix.
* `trec_eval:` is version 9, which pytrec_eval and ir_measures run; `trec_eval10:` differs in
  `iprec_at_recall` and `11pt_avg`, which round the number of relevant documents that reach a level.
* A name with several parameters, such as `P.5,10`, one without its parameter, such as
  `trec_eval:P`, and the nicknames `official`, `set` and `all_trec` stand for several metrics:
  `skrank.trec.evaluate` takes them.
* Names of NTCIREVAL take its options in brackets: `ntcireval:Q(g=1:3:7,beta=2)@10` has the gains 1,
  3 and 7 of the grades 1, 2 and 3, as `-g 1:3:7 -beta 2`; likewise `rbp` and `logb`. Without `g` a
  grade is its gain, and the highest grade is that of the collection. For the option -j, pass
  `condensed=True`.

The values are those of the tool on the same order of documents. `skrank.trec` breaks ties as
trec_eval does, by the names of documents; on arrays, ties count with their mean unless `ties=` is
given. LightGBM and XGBoost rank ties in the order of rows, CatBoost in the worst order: so do the
names of skrank in the tables.
NTCIREVAL has no ties, as its runs have no scores.

The tests compare with trec_eval, ir_measures, LightGBM 4, XGBoost 3, CatBoost 1.2 and scikit-learn
themselves, with the formulas of NTCIREVAL's documentation, and with values that ranx has printed.
"""


def shown(peer: str, name: str, alias: Alias) -> tuple[str, str]:
    """A name with its parameter, and its name in skrank."""
    text = alias.example or name
    if alias.usual and not alias.all_at_once and name != "set_F":
        text = f"{name}_{alias.usual[0]}"
    return text, str(skrank.metric(f"{peer}:{text}"))


def table(peer: str, names: dict[str, Alias | Refused]) -> str:
    """The names of a tool: those read, and those refused."""
    lines = [f"\n## {peer}\n\n| name | name in skrank | where values differ |\n|---|---|---|\n"]
    refused: dict[Refused, list[str]] = {}
    for name, alias in names.items():
        if isinstance(alias, Refused):
            refused.setdefault(alias, []).append(f"`{name}`")
        else:
            text, ours = shown(peer, name, alias)
            note = alias.note or (RANX_TIES if peer == "ranx" else "")
            lines.append(f"| `{text}` | `{ours}` | {note} |\n")
    lines.append("\nNot read:\n\n| names | why | nearest |\n|---|---|---|\n")
    for alias, those in refused.items():
        near = f"`{alias.nearest}`" if alias.nearest else ""
        lines.append(f"| {', '.join(those)} | {alias.reason} | {near} |\n")
    return "".join(lines)


def page() -> str:
    """The text of the page."""
    tools = {peer: one.names for peer, one in PEERS.items() if peer == one.name}
    return HEAD + "".join(table(peer, names) for peer, names in tools.items())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
