"""The methods that are compared, one file each: a file that defines `METHOD` is found by being here."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from fairpca.report.method import Method

__all__ = ["get_method", "known_methods"]


def known_methods() -> dict[str, Method]:
    """Return all methods by name: the baseline first, then by the order that their files give themselves.

    Returns
    -------
    dict of str to Method
        Also those whose packages are not installed.
    """
    found = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    ordered = sorted(found, key=lambda module: (getattr(module, "ORDER", 99), module.__name__))
    table = {module.METHOD.name: module.METHOD for module in ordered}
    if len(table) < len(found):
        names = [module.METHOD.name for module in ordered]
        raise ValueError(f"two files of methods share a name: {sorted({n for n in names if names.count(n) > 1})}.")
    return table


def get_method(name: str) -> Method:
    """Return the method of that name; an unknown one is an error that lists what there is.

    Parameters
    ----------
    name : str
        One of the keys of :func:`known_methods`.

    Returns
    -------
    Method
    """
    table = known_methods()
    if name not in table:
        raise ValueError(f"method={name!r} is not known; choose one of {', '.join(map(repr, table))}.")
    return table[name]
