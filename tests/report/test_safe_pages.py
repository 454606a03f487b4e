"""Hostile names in every place of a table and of a command: nothing runs, and nothing is loaded."""

import html
import json
import shutil

import numpy as np
import pandas as pd
import pytest

from fairpca import cli
from fairpca.report import Settings, analyse
from fairpca.report import analysis as analysis_module
from fairpca.report.page import Html, join, page, table_html, tag

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# Each would change the title of the page, or ask another computer, if a browser took it for HTML.
ATTACKS = (
    "<img src=x onerror=document.title=`OWNED`>",
    "<script>document.title=`OWNED`</script>",
    "\"'><svg onload=document.title=`OWNED`>",
    "</style></title><script>document.title=`OWNED`</script>",
    "]]><iframe src=javascript:document.title=`OWNED`>",
    "<a href=javascript:document.title=`OWNED`>x</a>",
    "<link rel=stylesheet href=http://127.0.0.1:9/x>",
    "<details open ontoggle=document.title=`OWNED`>",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table whose file, columns, groups, target and levels are attacks, as all commands show it."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    n = 240
    sex = rng.choice(ATTACKS[:2], n)
    X = rng.normal(size=(n, 2)) + (sex == ATTACKS[0])[:, None]
    table = pd.DataFrame({
        f"a{ATTACKS[1]}": X[:, 0], f"b{ATTACKS[2]}": X[:, 1], f"c{ATTACKS[3]}": rng.choice(ATTACKS[4:], n),
        f"d{ATTACKS[5]}": [f"{ATTACKS[6]}{i}" for i in range(n)], f"e{ATTACKS[7]}": [ATTACKS[0]] * n,
        f"proxy{ATTACKS[7]}": np.where(sex == ATTACKS[0], *ATTACKS[5:7]),
        f"group{ATTACKS[0]}": sex, f"more{ATTACKS[4]}": rng.choice(ATTACKS[2:4], n),
        f"target{ATTACKS[1]}": np.where(X[:, 0] > 0, *ATTACKS[2:4]),
    })  # fmt: skip
    data = folder / "<img src=x onerror=document.title=`OWNED`>.csv"
    table.to_csv(data, index=False)
    before, analysis_module._QUICK = analysis_module._QUICK, Settings(60, 10, 2, 5)
    quoted = [f'"{name.replace(chr(34), 2 * chr(34))}"' for name in table.columns]
    words = [str(data), "--sensitive", f"{quoted[6]},{quoted[7]}", "--target", table.columns[8], "--drop", quoted[4]]
    words += ["--methods", "pca,minmax_loss", "--parts", "2", "--components", "2", "--positive", ATTACKS[2]]
    try:
        assert cli.main(["report", *words, "--out", str(folder / "report.html")]) == 0
    finally:
        analysis_module._QUICK = before
    return folder


def test_attacks_are_in_the_pages_as_text_only(files):
    text = (files / "report.html").read_text()
    for attack in ATTACKS[:4]:
        assert attack not in text and html.escape(attack) in text
    assert "Content-Security-Policy" in text.partition("<title>")[0]
    notebook = json.loads((files / "report.ipynb").read_text())
    shown = [
        "".join(output["data"]["text/html"])
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    assert len(shown) > 10 and not [attack for attack in ATTACKS if attack in "".join(shown)]


@pytest.mark.skipif(BROWSER is None, reason="needs a Chromium")
@pytest.mark.parametrize("without_policy", [False, True])
def test_nothing_runs_in_a_browser(files, without_policy):
    """With the policy switched off, too: escaping and policy each suffice."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        context = chromium.new_context(bypass_csp=without_policy)
        tab, asked, said = context.new_page(), [], []
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("dialog", lambda dialog: said.append(dialog.message))
        tab.goto((files / "report.html").as_uri())
        tab.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        tab.wait_for_timeout(300)
        assert "OWNED" not in tab.title().replace("`OWNED`", ""), tab.title()
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == [] and said == []
        assert tab.locator("script, iframe, svg, link, [onerror], [onload], [ontoggle], a").count() == 0
        assert tab.locator("img:not([src^='data:'])").count() == 0
        shown = tab.locator("main").inner_text()
        assert "<span" not in shown and tab.locator("td span.interval").count() > 5, "our own marks are not text"
        chromium.close()


@pytest.mark.skipif(BROWSER is None, reason="needs a Chromium")
def test_the_policy_alone_forbids_scripts(tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api")
    body = Html(f"<script>document.title='OWNED'</script>{''.join(ATTACKS[:3])}<img src='http://127.0.0.1:9/y.png'>")
    (tmp_path / "p.html").write_text(page("safe", body))
    with sync_api.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        for without_policy, title in ((False, "safe"), (True, "OWNED")):
            tab, asked = chromium.new_context(bypass_csp=without_policy).new_page(), []
            tab.on("requestfinished", lambda request, asked=asked: asked.append(request.url))
            tab.goto((tmp_path / "p.html").as_uri())
            tab.wait_for_timeout(300)
            assert tab.title() == title, "the attack works where neither escaping nor policy is in its way"
        chromium.close()


@pytest.mark.parametrize("attack", ATTACKS)
def test_text_is_escaped_wherever_it_enters(attack):
    frame = pd.DataFrame({attack: [attack], "x": [1.0]})
    for text in (
        tag("p", attack, title=attack),
        join([attack, f"{Html('<b>')}{attack}"]),
        table_html(frame, attack),
        page(attack, join([attack])),
    ):
        assert attack not in text and html.escape(attack) in text


def test_tables_show_what_is_absent_as_a_dash():
    frame = pd.DataFrame({"row": ["x", "y"], "n": [1.5, None], "t": ["a", None]}).astype(object)
    shown = table_html(frame.where(frame.notna(), None), "title")
    assert shown.count('<td class="number">–</td>') == 1 and shown.count(">–</td>") == 2
    assert '<td class="number">1.500</td>' in shown and "None" not in shown


def test_frames_are_reported_too():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3)), columns=list("abc")).assign(g=np.arange(80) % 2)
    study = analyse(frame, ["g"], methods=["pca"], parts=2, components=[1])
    assert study.as_dict()["data"]["rows"] == 80 and "analyse(data='TABLE', sensitive=" in study.command()


@pytest.mark.skipif(BROWSER is None, reason="needs a Chromium")
def test_a_long_group_name_stays_in_its_cell(tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api")
    table = table_html(pd.DataFrame({"group": ["x" * 60, "b"], "rows": [1, 2]}), "Groups")
    (tmp_path / "p.html").write_text(page("long", table))
    with sync_api.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        tab = chromium.new_page()
        tab.goto((tmp_path / "p.html").as_uri())
        widths = tab.locator("tbody th").first.evaluate("cell => [cell.scrollWidth, cell.clientWidth]")
        chromium.close()
    assert widths[0] <= widths[1]
