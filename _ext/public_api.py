"""Fill the API page from the package: every public name, grouped by module, none forgotten."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from types import ModuleType
from typing import Any

from sphinx.util.nodes import make_refnode

PAGE = "chapters/use/api"
MARKER = "<!-- public names -->"
METHODS = ("fit", "transform", "inverse_transform")


def _entry(module: str, name: str, thing: Any) -> str:
    if inspect.isclass(thing):
        if hasattr(thing, "fit") and hasattr(thing, "transform"):
            # What scikit-learn adds to every estimator is in its own documentation.
            methods = "".join(f"\n   .. automethod:: {m}\n" for m in METHODS if hasattr(thing, m))
            return f".. autoclass:: {module}.{name}\n{methods}"
        return f".. autoclass:: {module}.{name}\n   :members:\n"
    if callable(thing):
        return f".. autofunction:: {module}.{name}\n"
    # A value of several lines, or one that names this machine's folders, is no documentation.
    return f".. autodata:: {module}.{name}\n   :no-value:\n"


def _section(heading: str, module: ModuleType, names: list[str]) -> str:
    text = f"## {heading}\n\n"
    first_line = (module.__doc__ or "").strip().splitlines()
    if first_line and module.__name__ != "fairpca":
        text += f"{first_line[0]}\n\n"
    entries = "\n".join(_entry(module.__name__, name, getattr(module, name)) for name in sorted(names, key=str.lower))
    return text + f"```{{eval-rst}}\n{entries}```\n\n"


def public_modules() -> list[ModuleType]:
    """Return the modules of the package that declare public names, except the benchmarks."""
    import fairpca

    names = [info.name for info in pkgutil.walk_packages(fairpca.__path__, "fairpca.")]
    public = [n for n in names if not any(part.startswith("_") for part in n.split(".")) and ".bench" not in n]
    return [module for module in map(importlib.import_module, public) if getattr(module, "__all__", [])]


def api_text() -> str:
    """Return the generated part of the page."""
    import fairpca

    names = [name for name in fairpca.__all__ if name != "__version__"]
    shown = {id(getattr(fairpca, name)) for name in names}
    estimators = [name for name in names if hasattr(getattr(fairpca, name), "fit")]
    text = _section("Estimators", fairpca, estimators)
    others = [name for name in names if name not in estimators]
    if others:
        text += _section("Moments and results", fairpca, others)
    for module in public_modules():
        own = []
        for name in module.__all__:
            thing = getattr(module, name)
            if id(thing) in shown or inspect.ismodule(thing):
                continue  # shown already, or a module with a heading of its own
            if inspect.isclass(thing) or callable(thing):
                shown.add(id(thing))
            own.append(name)
        if own:
            text += _section(f"`{module.__name__}`", module, own)
    return text


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


def _exists(target: str) -> bool:
    """Return whether a dotted name is a module of this package or something in one."""
    parts = target.split(".")
    if parts[0] != "fairpca":
        return False
    for split in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for part in parts[split:]:
            if not hasattr(thing, part):
                return False
            thing = getattr(thing, part)
        return True
    return False


def _resolve(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Link a docstring's reference to the place where the name is shown; what exists but is not public stays text."""
    module = node.get("py:module") or "fairpca"
    if node.get("refdomain") != "py" or not module.startswith("fairpca"):
        return None
    target = node.get("reftarget", "")
    if not any(map(_exists, (target, f"{module}.{target}"))):
        return None
    objects = env.domains["py"].objects
    shown = [name for name in objects if name.split(".")[-1] == target.split(".")[-1]]
    if len(shown) != 1:
        return contnode
    place = objects[shown[0]]
    return make_refnode(app.builder, node["refdoc"], place.docname, place.node_id, contnode, shown[0])


def _insert(app: Any, docname: str, source: list[str]) -> None:
    if docname == PAGE:
        source[0] = source[0].replace(MARKER, api_text())


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", _insert)
    app.connect("missing-reference", _resolve)
    app.connect("autodoc-process-docstring", _escape_bars, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
