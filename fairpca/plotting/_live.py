"""Data for the live figures of the book, put into the page beside the static picture."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.display import HTML

__all__ = ["live_data"]


def live_data(name: str, data: Any) -> HTML:
    """Return an invisible part of the page that a live figure reads.

    Parameters
    ----------
    name : str
        What the figure's directive calls its ``source``; letters, digits and hyphens.
    data : object
        Anything that JSON can say; arrays are turned into lists. NaN is written as null.

    Returns
    -------
    IPython.display.HTML
        To be displayed by the last line of a cell.

    Examples
    --------
    >>> from fairpca.plotting import live_data
    >>> type(live_data('errors', {'d': [1, 2], 'error': [4.0, float('nan')]})).__name__
    'HTML'
    """
    from IPython.display import HTML

    if not name or not all(sign.isalnum() or sign == "-" for sign in name):
        raise ValueError(f"name={name!r}: use letters, digits and hyphens only.")
    text = json.dumps(_plain(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # "</" would end the element in which the text stands.
    text = text.replace("</", "<\\/")
    return HTML(f'<script type="application/json" id="{name}">{text}</script>')


def _plain(data: Any) -> Any:
    if hasattr(data, "tolist"):
        data = data.tolist()
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    if isinstance(data, float) and data != data:
        return None
    return data
