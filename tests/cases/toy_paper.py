"""A made-up paper that touches its own folders, ``_toc.yml`` and the bibliography: what a stranger would add."""

import json
from pathlib import Path

NAME = "toy2030"

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


def write(root: Path, paper: str = NAME) -> Path:
    """Write the paper's own folders below `root`; returns the folder of its published numbers."""
    files = {f"data/published/{NAME}/{name}": text for name, text in FILES.items()} | {
        f"data/published/{NAME}/paper.json": json.dumps(DECLARATION),
    }
    for name, text in files.items():
        path = root / name.replace(NAME, paper)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(NAME, paper), encoding="utf8")
    (root / "data" / "results").mkdir(exist_ok=True)
    return root / "data" / "published" / paper
