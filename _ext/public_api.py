"""Fill the API page from the package: every public name, grouped by module, none forgotten."""

from __future__ import annotations

import importlib
import inspect
import pydoc
import re
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, Literal, Union, get_origin

from docutils import nodes
from sklearn.base import BaseEstimator
from sphinx.util.nodes import make_refnode

MARKER = re.compile(r"<!-- public names: ([\w.]+) -->")
FOLDER = "chapters/use/api/"
# Where other packages document the types that docstrings name. The build needs no network, so no inventory is fetched.
ELSEWHERE = {
    "numpy": "https://numpy.org/doc/stable/reference/generated/{0}.html#{0}",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{0}.html#{0}",
    "pandas": "https://pandas.pydata.org/docs/reference/api/{0}.html#{0}",
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{0}.html#{0}",
}

TYPES = {
    "ColumnTransformer": "sklearn.compose.ColumnTransformer",
    "DataFrame": "pandas.DataFrame",
    "Series": "pandas.Series",
    "ndarray": "numpy.ndarray",
}
TYPE = re.compile(rf"(?<![`.\w])({'|'.join(TYPES)})\b")
TYPED = re.compile(rf"\s*([\w, *]+ : |({'|'.join(TYPES)})\b[^.]*$)")  # a parameter with its type, or a returned type


def _methods(thing: type) -> list[str]:
    """Methods that the package wrote; what scikit-learn adds to a class of its kind is in its own documentation."""
    found = []
    for name in dir(thing):
        method = inspect.getattr_static(thing, name)
        function = getattr(method, "__func__", method)
        if not name.startswith("_") and getattr(function, "__module__", "").startswith("fairpca"):
            found.append(name)
    return sorted(found, key=lambda name: (name != "fit", name))


def _entry(name: str, thing: Any) -> str:
    if inspect.isclass(thing):
        if issubclass(thing, BaseEstimator):  # into which scikit-learn writes methods of its own
            methods = "".join(f"\n   .. automethod:: {method}\n" for method in _methods(thing))
            return f".. autoclass:: {name}\n{methods}"
        return f".. autoclass:: {name}\n   :members:\n"
    if get_origin(thing) in (Literal, Union, UnionType):  # the type of a parameter: its words are what there is to say
        module, _, own = name.rpartition(".")
        words = str(thing).replace("typing.", "")
        return f".. py:data:: {own}\n   :module: {module}\n\n   ``{words}``\n"
    if callable(thing):
        return f".. autofunction:: {name}\n"
    # A value of several lines, or one that names this machine's folders, is no documentation.
    return f".. autodata:: {name}\n   :no-value:\n"


def _wrapped(entries: list[str]) -> str:
    return "```{eval-rst}\n" + "\n".join(entries) + "```\n"


def _section(module: ModuleType) -> str:
    """Return a module's public names; what the package itself shows is not shown again."""
    import fairpca

    elsewhere = {id(getattr(fairpca, name)) for name in fairpca.__all__}
    entries = []
    for name in sorted(module.__all__, key=str.lower):
        thing = getattr(module, name)
        if not name.startswith("_") and not inspect.ismodule(thing) and id(thing) not in elsewhere:
            entries.append(_entry(f"{module.__name__}.{name}", thing))
    first_line = (module.__doc__ or "").strip().splitlines()[0]
    text = f"## `{module.__name__}`\n\n{first_line}\n\n" + (_wrapped(entries) if entries else "") + "\n"
    return text


def reference(name: str) -> str:
    """Return the documentation of a public name, or of all public names of a module."""
    try:
        return _section(importlib.import_module(name))
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        thing = getattr(importlib.import_module(module), attribute)
        entries = [_entry(name, thing)]
        options = getattr(thing, "_options_class", None)
        if options is not None and options.__name__ != "Options" and options is not thing:
            entries.append(_entry(f"{options.__module__}.{options.__name__}", options))
        return _wrapped(entries)


def _escape_bars(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings write |x| for absolute values, which reStructuredText would take for a substitution."""
    block = None  # indentation of the line that opened a literal block or a formula
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent <= block:
            block = None
        if block is None and not line.lstrip().startswith((">>>", "...", "+-")):
            pieces = re.split(r"(``.*?``|:\w+:`[^`]*`|`[^`]*`)", line)
            pieces[::2] = [re.sub(r"(?<!\\)\|", r"\\|", piece) for piece in pieces[::2]]
            lines[number] = "".join(pieces)
        if block is None and (line.rstrip().endswith("::") or line.lstrip().startswith(".. math::")):
            block = indent


def _link_types(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn types of other packages into references, which `_resolve` links."""
    for number, line in enumerate(lines):
        if TYPED.match(line):
            lines[number] = TYPE.sub(lambda found: f":class:`{found[1]} <{TYPES[found[1]]}>`", line)


def _resolve(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Link a docstring's reference to where the name is documented; what exists but is not public stays text."""
    module, target = node.get("py:module") or "fairpca", node.get("reftarget", "")
    if node.get("refdomain") != "py" or not module.startswith("fairpca"):
        return None
    if target.partition(".")[0] in ELSEWHERE:
        address = ELSEWHERE[target.partition(".")[0]].format(target)
        return nodes.reference("", "", contnode, internal=False, refuri=address, reftitle=target)
    if all(pydoc.locate(name) is None for name in (f"{module}.{target}", target) if name.startswith("fairpca")):
        return None
    objects = env.domains["py"].objects
    shown = [name for name in objects if name.split(".")[-1] == target.split(".")[-1]]
    if len(shown) != 1:
        return contnode
    place = objects[shown[0]]
    return make_refnode(app.builder, node["refdoc"], place.docname, place.node_id, contnode, shown[0])


def contents(folder: Path) -> str:
    """Return a table of the pages of a folder: each with its first sentence."""
    rows = ["| page | what is there |", "| --- | --- |"]
    for page in sorted(folder.glob("*.md")):
        text = page.read_text(encoding="utf8")
        first = re.search(r"^# .+\n+(.+)$", text, re.MULTILINE)
        if first is None:
            raise ValueError(f"{page} has no title with a sentence below it.")
        # The sentence stands one folder higher here.
        rows.append(f"| {{doc}}`{folder.name}/{page.stem}` | {first[1].replace('../../', '../')} |")
    return "\n".join(rows) + "\n"


def _insert(app: Any, docname: str, source: list[str]) -> None:
    if docname == FOLDER.rstrip("/"):
        source[0] = source[0].replace("<!-- pages of this folder -->", contents(Path(app.srcdir) / FOLDER))
    if docname.startswith(FOLDER):
        source[0] = MARKER.sub(lambda found: reference(found[1]), source[0])


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", _insert)
    app.connect("missing-reference", _resolve)
    app.connect("autodoc-process-docstring", _link_types, priority=400)  # before numpydoc
    app.connect("autodoc-process-docstring", _escape_bars, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
