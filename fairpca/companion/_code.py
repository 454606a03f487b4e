"""What the result of a function depends on: its code, what it uses of its page, and the package modules behind it."""

from __future__ import annotations

import ast
import dis
import functools
import hashlib
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any

import joblib

from fairpca.companion._frames import canonical_json
from fairpca.datasets import digest, names

PACKAGE = "fairpca"
# Modules that run, show or file results. A change in them does not change a number.
ASIDE = ("cli", "plotting", "scale")


class Code:
    """The code behind a function of a page.

    Comments, docstrings and layout do not count. Functions and constants of the page and of ``companion/<paper>.py``
    are followed one by one; of the rest of the package, all modules count that the used objects import.

    Parameters
    ----------
    function : callable
        Defined on the page.
    settings : sequence of dict
        The arguments with which it is called.

    Attributes
    ----------
    digest : str
        Changes with the code, and with the value of each constant that it uses.
    data : dict
        SHA-256 by name of each data set that the code or an argument names.
    """

    def __init__(self, function: Callable[..., Any], settings: Sequence[Mapping[str, Any]] = ()) -> None:
        texts: list[str] = []
        constants: list[str] = []
        modules: set[str] = set()
        seen: dict[int, Any] = {}  # keeps the objects, so that no other one gets their address
        pending: list[tuple[str, Any]] = [(getattr(function, "__name__", "cell"), function)]
        while pending:
            name, item = pending.pop()
            if id(item) in seen:
                continue
            seen[id(item)] = item
            home = item.__name__ if inspect.ismodule(item) else getattr(item, "__module__", None) or ""
            shared = home.startswith(f"{PACKAGE}.companion.") and _counts(home) and not inspect.ismodule(item)
            on_page = shared or home in (getattr(function, "__module__", ""), "__main__")
            if shared:
                item = inspect.unwrap(item) if callable(item) else item
            elif home.partition(".")[0] == PACKAGE:
                modules.add(home)
            elif hasattr(item, "cache_info"):
                raise TypeError(
                    f"{name} has a cache, which worker processes cannot load. Remove the decorator, or move the "
                    "function to fairpca/companion."
                )
            if isinstance(item, functools.partial):
                pending.append((f"{name}.func", item.func))
                pending.append((f"{name}.args", (item.args, item.keywords)))
            elif inspect.isfunction(item) and on_page:
                texts.append(_text(item))
                uses = list(_uses(item.__code__))
                modules |= {used for kind, used in uses if kind == "IMPORT_NAME" and used.partition(".")[0] == PACKAGE}
                pending += [(used, item.__globals__[used]) for _, used in uses if used in item.__globals__]
                pending += [(f"{name}.cell", cell.cell_contents) for cell in item.__closure__ or ()]
                pending.append((f"{name}.defaults", (item.__defaults__, item.__kwdefaults__)))
            elif inspect.isclass(item) and on_page:
                pending += [(f"{name}.{key}", value) for key, value in vars(item).items() if key[:2] != "__"]
                pending += [(base.__name__, base) for base in item.__bases__]
            elif not callable(item) and not inspect.ismodule(item):
                texts.append(f"{name} = {joblib.hash(item)}")
                constants.append(repr(item))
        closure = sorted(_closure(frozenset(modules)))
        texts = sorted(texts) + [f"{module} {_module_digest(module)}" for module in closure]
        self.digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
        shared = [_skeleton(_tree(module)) for module in closure if module.startswith(f"{PACKAGE}.companion.")]
        named = "\n".join([*texts, *constants, *shared])
        self._always = {name for name in names() if f"'{name}'" in named}
        given = {value for setting in settings for value in setting.values() if isinstance(value, str)}
        self.data = {name: digest(name) for name in names() if name in self._always | given}

    def key(self, setting: Mapping[str, Any]) -> str:
        """Return what identifies the result of one cell: its code, its arguments and its data."""
        used = [value for name, value in self.data.items() if name in self._always or name in setting.values()]
        return str(joblib.hash((self.digest, canonical_json(setting), used)))


def _text(function: Callable[..., Any]) -> str:
    try:
        return _skeleton(ast.parse(textwrap.dedent(inspect.getsource(function))))
    except (OSError, SyntaxError):  # made by exec, or a lambda inside a longer expression
        code = function.__code__
        return f"{code.co_code.hex()} {code.co_names} {[c for c in code.co_consts if not isinstance(c, CodeType)]}"


def _skeleton(node: Any) -> str:
    """Write a syntax tree without docstrings, positions and empty fields, which differ between versions of Python."""
    if isinstance(node, list):
        return f"[{','.join(map(_skeleton, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        fields["body"] = fields["body"][1:]
    inside = (f"{name}={_skeleton(value)}" for name, value in fields.items() if value is not None and value != [])
    return f"{type(node).__name__}({','.join(inside)})"


def _uses(code: CodeType) -> Iterator[tuple[str, str]]:
    """Yield the global names and the modules that a function uses, also inside nested functions."""
    kinds = ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME")
    yield from ((step.opname, step.argval) for step in dis.get_instructions(code) if step.opname in kinds)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _uses(inner)


def _counts(module: str) -> bool:
    """Return whether a module can change a number."""
    unit, _, rest = module.removeprefix(f"{PACKAGE}.").partition(".")
    runner = unit == "companion" and (rest in ("", "published") or rest.startswith(("_", "published.")))
    return module.partition(".")[0] == PACKAGE and not (unit in ASIDE or unit.startswith("_cli") or runner)


@cache
def _closure(modules: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    pending = list(modules)
    while pending:
        name = pending.pop()
        if name not in found and _counts(name):
            found.add(name)
            pending += _imports(name)
    return frozenset(found)


@cache
def _imports(module: str) -> list[str]:
    nodes = list(ast.walk(_tree(module)))
    found = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    parents = [(str(node.module), node.names) for node in nodes if isinstance(node, ast.ImportFrom)]
    return found + [_home(parent, alias.name) for parent, aliases in parents if _counts(parent) for alias in aliases]


def _home(module: str, name: str) -> str:
    """Return the module that an imported name comes from, also where the package gives it away on first use."""
    value = getattr(importlib.import_module(module), name, None)
    if inspect.ismodule(value) or (value is None and find_spec(f"{module}.{name}")):
        return f"{module}.{name}"
    return getattr(value, "__module__", None) or module


@cache
def _tree(module: str) -> ast.Module:
    spec = find_spec(module)
    return ast.parse(Path(spec.origin).read_text(encoding="utf8") if spec and spec.origin else "")


@cache
def _module_digest(module: str) -> str:
    return hashlib.sha256(_skeleton(_tree(module)).encode()).hexdigest()
