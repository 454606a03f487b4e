"""Solutions of exercises fold without a script: a `dropdown` solution becomes `<details>` with its title as summary.

Browsers open it by mouse and keyboard, find text inside it, and `book.css` opens it on paper. The contents of exercises
and solutions come as sections that all carry one and the same id; an id names one thing, so these are taken away.
"""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from sphinx_exercise.nodes import depart_solution_node, is_extension_node, solution_node, visit_solution_node


def _visit(self: Any, node: nodes.Element) -> None:
    if "dropdown" not in node["classes"]:
        visit_solution_node(self, node)
        return
    # The title would hold a link to the exercise; in a summary, which is a button itself, it is words only.
    title = node.pop(0).astext()
    node["classes"].remove("dropdown")
    self.body.append(self.starttag(node, "details", CLASS="admonition"))
    self.body.append(f'<summary class="admonition-title">{escape(title)}</summary>\n')
    node["folded"] = True


def _depart(self: Any, node: nodes.Element) -> None:
    if node.get("folded"):
        self.body.append("</details>\n")
    else:
        depart_solution_node(self, node)


def _drop_shared_ids(app: Any, doctree: nodes.document, docname: str) -> None:
    for node in doctree.findall(is_extension_node):
        for section in node.children:
            if isinstance(section, nodes.section):
                section["ids"] = [name for name in section["ids"] if not name.endswith("-content")]


def setup(app: Any) -> dict[str, bool]:
    app.setup_extension("sphinx_exercise")
    app.add_node(solution_node, override=True, html=(_visit, _depart))
    app.connect("doctree-resolved", _drop_shared_ids)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
