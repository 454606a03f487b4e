"""Solutions fold into an element of their own, with what was computed inside, and every id stands once."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

PAGE = """\
# Tasks

```{exercise-start} Easy: add <two> numbers
:label: exr-one
```

One and one?

```{exercise-end}
```

```{solution-start} exr-one
:label: sol-one
:class: CLASS
```

Reasoning.

    code at the top level

```{solution-end}
```

```{exercise} Easy: another
:label: exr-two
```
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["dropdown", "tip"])
def test_solution_folds_if_it_says_so(tmp_path: Path, kind: str) -> None:
    (tmp_path / "index.md").write_text(PAGE.replace("CLASS", kind))
    complaints, out = io.StringIO(), str(tmp_path / "out")
    settings = {"extensions": ["myst_parser", "folded_solutions"], "html_theme": "basic"}
    with docutils_namespace():
        Sphinx(str(tmp_path), None, out, out, "html", settings, status=None, warning=complaints).build()
    # Another test of this process may have registered Sphinx's own directives before.
    told = [line for line in complaints.getvalue().splitlines() if "already registered" not in line]
    assert not told
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf8")
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids)) and {"exr-one", "sol-one"} <= set(ids)
    folded = re.search(r'<details class="solution admonition" id="sol-one">(.*?)</details>', page, re.DOTALL)
    assert (folded is not None) == (kind == "dropdown")
    if folded:
        summary = re.search(r"<summary[^>]*>(.*?)</summary>", folded[1])[1]
        # A link inside a button could not be told from the button.
        assert summary == "Solution to Exercise 1 (Easy: add &lt;two&gt; numbers)"
        assert "Reasoning." in folded[1] and "code at the top level" in folded[1]
    else:
        assert "<details" not in page and "code at the top level" in page
