"""A made-up paper that touches its own folders, ``_toc.yml`` and the bibliography: what a stranger would add."""

import json
from pathlib import Path

NAME = "toy2030"

PACKAGE = '''\
"""Experiments of Toy et al. (2030)."""

from fairpca.experiments.toy2030 import coins

__all__ = ["coins"]
'''

EXPERIMENTS = '''\
"""Table 1 of Toy et al. (2030), what the paper claims and what it says about its settings."""

from fairpca import published
from fairpca.experiments import Cell, judge, load_results, register, register_claims, register_settings, tidy


def cells(profile):
    splits = range(4) if profile == "paper" else range(2)
    return [Cell(dataset="coins", split=split, method="pca", d=2) for split in splits]


def run_cell(*, dataset, split, method, d):
    return {"pct_var": 10.0 * d + (0.1 if split % 2 else -0.1)}


def tabulate(frame):
    return tidy(frame, ["pct_var"])


register("toy2030/coins", cells=cells, run_cell=run_cell, tabulate=tabulate, title="Table 1")


def run_claims(*, method):
    stated = float(published.load_claims("toy2030").set_index("id")["value"]["most"])
    ours = float(load_results("toy2030/coins").table["mean"][0])
    return [judge("most", f"{ours:.1f}", ours > stated, reason="It is less.").findings() | {"id": "most"}]


register_claims(
    "toy2030/claims", run_claims, "Verdicts", inputs=("toy2030/coins", "published/toy2030/claims")
)


def _splits(statement, value):
    used = len(cells("paper"))
    return f"{used} splits", used == value, "Another number."


register_settings("toy2030", {"splits": _splits}, "What the paper says about its settings")
'''

HEADER = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

"""

CHAPTER = (
    HEADER
    + """\
# Coins

How much is a coin?
It depends on the split, by 0.1.

This chapter reproduces **Table 1** of {cite:t}`toy2030`.

(toy2030-coins)=
## All coins

```{code-cell} ipython3
:tags: [parameters]

profile = "smoke"
seed = 0
```

```{code-cell} ipython3
from fairpca.experiments import load_results, recompute

recompute("toy2030/coins")
load_results("toy2030/coins").table
```

## So what

Keep the coins.
"""
)

DECLARATION = {
    "short": "Toy et al.",
    "title": "Coins",
    "venue": "Nowhere 2030",
    "cite": "toy2030",
    "order": 9,
    "shares": "the coins",
    "exhibits": {
        "table1": {
            "title": "Table 1",
            "chapters": ["toy2030/coins"],
            "about": "coins",
            "answered_by": [{"result": "toy2030/coins"}],
        },
        "fig1": {"title": "Figure 1", "chapters": ["toy2030/coins"]},
    },
    "open": [{"exhibit": "table1", "dataset": "notes", "reason": "Nobody has the notes."}],
}
# The first number is met, the second lies within the tolerance, the third nobody can answer.
TABLE = """\
dataset,method,d,metric,protocol,mean,sd,decimals,text
coins,pca,2,pct_var,printed,20.00,0.11,2,
notes,pca,2,pct_var,printed,7.00,,2,
"""
FILES = {
    "table1.csv": TABLE,
    "tolerances.csv": (
        "exhibit,dataset,method,metric,statistic,units,grains,noises,why,derived_from\n"
        "table1,*,*,*,sd,1,0,0,small change,\n"
    ),
    "reasons.csv": "exhibit,dataset,method,setting,d,metric,statistic,reason\n",
    "claims.csv": "id,exhibit,statement,value,unit,where\nmost,fig1,Coins are more than 15,15,%,Figure 1\n",
    "settings.csv": "id,exhibit,statement,value,unit,where\nsplits,table1,Coins are split 4 times,4,splits,Section 2\n",
    "places.csv": ("item,chapter,label\nTable 1,toy2030/coins,toy2030-coins\nFigure 1,toy2030/coins,toy2030-coins\n"),
    "errata.csv": "id,kind,where,printed,found,evidence\nhead,print,Figure 1,Heads.,Tails.,Look at the coin\n",
}
BIBLIOGRAPHY = """
@inproceedings{toy2030,
  author = {Toy, Tim and Toy, Tom},
  title = {Coins},
  booktitle = {Nowhere},
  year = {2030},
  doi = {10.5555/coins},
}
"""
PART = f"""\
  - caption: Coins (Toy et al. 2030)
    numbered: true
    chapters:
      - file: chapters/{NAME}/coins
"""


def write(root: Path, paper: str = NAME) -> Path:
    """Write the paper's own folders below `root`; returns the folder of its published numbers."""
    files = {f"data/published/{NAME}/{name}": text for name, text in FILES.items()} | {
        f"data/published/{NAME}/paper.json": json.dumps(DECLARATION),
        f"fairpca/experiments/{NAME}/__init__.py": PACKAGE,
        f"fairpca/experiments/{NAME}/coins.py": EXPERIMENTS,
        f"chapters/{NAME}/coins.md": CHAPTER,
    }
    for name, text in files.items():
        path = root / name.replace(NAME, paper)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(NAME, paper), encoding="utf8")
    return root / "data" / "published" / paper


def add_to(checkout: Path, paper: str) -> None:
    """Add the paper to a checkout: its folders, its part of the book, its entry in the bibliography."""
    write(checkout, paper)
    toc = checkout / "_toc.yml"
    before, beyond, after = toc.read_text(encoding="utf8").partition("  - caption: Beyond the papers")
    toc.write_text(before + PART.replace(NAME, paper) + beyond + after, encoding="utf8")
    with open(checkout / "references.bib", "a", encoding="utf8") as file:
        file.write(BIBLIOGRAPHY.replace(NAME, paper))
