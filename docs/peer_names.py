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

`python docs/build.py` makes this page.

skrank reads the metric names of trec_eval, ir_measures, ranx, LightGBM, XGBoost, CatBoost,
scikit-learn and NTCIREVAL, wherever it takes names of metrics. Gains, lowest relevant label, ties
and the value of queries without relevant documents are those of the tool.

* A prefix names the tool: `trec_eval:ndcg`, `ir_measures:nDCG@10`, `ranx:ndcg_burges@10`,
  `lightgbm:ndcg@5`, `xgboost:ndcg@5-`, `catboost:NDCG:top=10;type=Base`,
  `sklearn:ndcg_score(k=10)`, `ntcireval:MSnDCG@10`.
* Without a prefix, a name that only one other tool uses belongs to this tool: `ndcg_cut_10`, `P_5`,
  `recip_rank`, `SetP`, `hit_rate@5`, `MAP:top=5`. Names of skrank keep their meaning: `map` and
  `ndcg@10` leave queries without a relevant document out of the mean (`empty="skip"`), and `ndcg`
  has the gain 2^label - 1. Names of the boosters, of scikit-learn and of NTCIREVAL need their
  prefix.
* `trec_eval:` is version 9, which pytrec_eval and ir_measures run. `trec_eval10:` differs in
  `iprec_at_recall` and `11pt_avg`, which round the number of relevant documents that reach a level.
* `skrank.trec.evaluate` takes names that stand for several metrics: with several parameters, such
  as `P.5,10`, without the parameter, such as `trec_eval:P`, and the nicknames `official`, `set` and
  `all_trec`.
* Names of NTCIREVAL have its options in brackets. `ntcireval:Q(g=1:3:7,beta=2)@10` has the gains 1,
  3 and 7 for the grades 1, 2 and 3, as `-g 1:3:7 -beta 2`. Other options are `rbp` and `logb`.
  Without `g`, a grade is its own gain, and the highest grade is that of the collection. For the
  option -j, pass `condensed=True`.

The values equal those of the tool if documents have the same order. `skrank.trec` orders documents
with tied scores by name, as trec_eval does. On arrays, tied documents count with the mean over
their orders, unless `ties=` is given. Names of LightGBM and XGBoost order tied documents by row,
names of CatBoost use the worst order. NTCIREVAL has no ties, because its runs have no scores.

The tests compare with trec_eval, ir_measures, LightGBM 4, XGBoost 3, CatBoost 1.2 and scikit-learn,
with the formulas in NTCIREVAL's documentation, and with values that ranx printed.
"""


def shown(peer: str, name: str, alias: Alias) -> tuple[str, str]:
    """A name with its parameter, and its name in skrank."""
    text = alias.example or name
    if alias.usual and not alias.all_at_once and name != "set_F":
        text = f"{name}_{alias.usual[0]}"
    return text, str(skrank.metric(f"{peer}:{text}"))


def table(peer: str, names: dict[str, Alias | Refused]) -> str:
    """The names of a tool: those read, and those refused."""
    lines = [f"\n## {peer}\n\n| name | skrank | where values differ |\n|---|---|---|\n"]
    refused: dict[Refused, list[str]] = {}
    for name, alias in names.items():
        if isinstance(alias, Refused):
            refused.setdefault(alias, []).append(f"`{name}`")
        else:
            text, ours = shown(peer, name, alias)
            note = alias.note or (RANX_TIES if peer == "ranx" else "")
            lines.append(f"| `{text}` | `{ours}` | {note} |\n")
    lines.append("\nNot supported:\n\n| names | why | nearest |\n|---|---|---|\n")
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
