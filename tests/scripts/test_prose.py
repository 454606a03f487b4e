"""scripts/prose.py counts what a reader reads, and nothing else."""

from __future__ import annotations

import prose

PAGE = """---
kernelspec: {name: python3}
---

# A title: not counted

First sentence with a colon: counted. For example $x: y$ and {glue:text}`a-b` are not.
See {doc}`the dual <../samadi2018/dual>`; this is no sentence of ours.

```{code-cell} ipython3
---
mystnb:
  figure:
    caption: |
      What to see; in a caption.
---
print("code: not counted")
```

```{prf:proof}
A proof: not counted.
```

:::{note}
There is no colon in Samadi et al. (2018). Suppose that
:::

| a table | not: counted |
| --- | --- |
"""


def test_sentences() -> None:
    found = prose.sentences(PAGE)
    assert found == [
        "First sentence with a colon: counted.",
        "For example X and X are not.",
        "See the dual; this is no sentence of ours.",
        "What to see; in a caption.",
        "There is no colon in Samadi et al (2018).",
        "Suppose that",
    ]
    hits = {
        name: [n for n, sentence in enumerate(found) if pattern.search(sentence)]
        for name, pattern in prose.MEASURES.items()
    }
    assert hits == {"colon": [0, 2, 3], "along": [1, 5], "no": [2]}
