"""A stranger's paper: its own folders, ``_toc.yml`` and the bibliography are all that it needs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import jupytext
import notebooks
import toy_paper
from notebooks import ROOT

from fairpca.published import VERDICTS

FOLDERS = ("fairpca", "data", "chapters", "scripts", "tests", "report", ".ci", "_ext", "_static")
# The tests that run in the copy have a toy of their own, and no file may name a paper that is there.
ADDED = toy_paper.NAME.replace("2030", "2031")
# Every test of these names loops over papers or over the book.
RULES = (
    "declaration_agrees",
    "claim_and_erratum_is_complete",
    "unique_keys_and_printed_digits",
    "tolerances_say_why",
    "is_stored_is_declared",
    "own_folders_names_it",
    "papers_in_their_order",
    "claim_is_answered",
    "difference_has_a_reason",
    "verdicts_are_pinned",
    "erratum_stands_in_one_list",
    "readme_has_the_tables",
    "toc_and_folders_agree",
    "order_of_the_design",
    "documents_name_only",
    "every_figure_and_table_has_one",
    "metadata_of_the_replication",
    "crate_is_current",
    "every_stated_setting_is_compared",
    "there_is_no_circle",
)
# And of these those cases that name the toy.
CASES = (
    "page_keeps_the_rules",
    "notebook_keeps_the_rules",
    "labels_carry_the_part",
    "asks_answers_and_says_what_follows",
    "reference_can_be_reached",
    "another_number_in_the_statement",
    "stored_comparisons_are_current",
)
FILES = (
    *(f"tests/published/test_{name}.py" for name in ("declarations", "board", "pages", "settings")),
    "tests/chapters/test_rules.py",
    "tests/scripts/test_report.py",
    "tests/test_scholarship.py",
    "tests/test_layers.py",
)


class Checkout:
    """A copy of the sources in which commands run as in any other checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        ignored = shutil.ignore_patterns("__pycache__", "*.ipynb")
        for name in FOLDERS:
            shutil.copytree(ROOT / name, root / name, ignore=ignored)
        for path in ROOT.iterdir():
            if path.is_file() and path.name != ".git":
                shutil.copy(path, root / path.name)

    def run(self, *arguments: str, **environment: str) -> str:
        variables = {
            **os.environ,
            "PYTHONPATH": str(self.root),
            "FAIRPCA_STORE": str(self.root / "_build/cells.sqlite"),
        }
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=variables | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def commit(self) -> None:
        """Results are saved with the commit whose code computed them."""
        git = ["git", "-C", str(self.root), "-c", "user.name=toy", "-c", "user.email=toy@example.org"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "toy"]):
            subprocess.run([*git, *words], check=True)

    def fairpca(self, *arguments: str, **environment: str) -> str:
        if "--save" in arguments:
            self.commit()
        return self.run("-m", "fairpca", *arguments, **environment)


def outputs(source: Path, root: Path) -> str:
    """Execute a chapter and return all that its cells show."""
    done = jupytext.read(notebooks.execute(source, root=root).path)
    return str([cell.get("outputs") for cell in done.cells])


def run_everything(fairpca, paper: str) -> None:
    """Run and save the toy's experiments; its claims read what its coins saved."""
    assert f"{paper}/coins" in fairpca("list")
    fairpca("run", paper, "--profile", "paper", "--save", "--quiet")


def test_a_paper_is_added_by_its_own_folders(tmp_path):
    checkout = Checkout(tmp_path / "checkout")
    toy_paper.add_to(checkout.root, ADDED)

    # Without results it is there, loudly.
    assert "5 published rows have no answer yet" in checkout.fairpca("scoreboard", "--paper", ADDED)
    run_everything(checkout.fairpca, ADDED)
    shown = checkout.fairpca("scoreboard", "--paper", ADDED, "--verdict", "not yet")
    assert "1 published rows have no answer yet" in shown and "Nobody has the notes." in shown
    line = next(line for line in shown.splitlines() if line.split()[:2] == [ADDED, "number"])
    *numbers, total = map(int, line.split()[2:])  # a column a verdict, equal and close first
    assert numbers[:3] == [1, 1, 0] and sum(numbers) == total == 3
    line = next(line for line in shown.splitlines() if line.split()[:2] == [ADDED, "claim"])
    *numbers, total = map(int, line.split()[2:])
    assert numbers[VERDICTS.index("holds")] == sum(numbers) == total == 1
    line = next(line for line in shown.splitlines() if line.split()[:2] == [ADDED, "setting"])
    assert line.split()[-1] == "1"

    # What is written for it is written by commands.
    checkout.run("scripts/readme.py")
    checkout.run("scripts/pin_verdicts.py")
    checkout.run("scripts/crate.py")
    assert "| Toy et al., *Coins*, Nowhere 2030 | the coins |" in (checkout.root / "README.md").read_text()

    # The book runs its chapter and has it in its lists.
    notebooks._hash_of_inputs.cache_clear()
    assert "20.0" in outputs(checkout.root / f"chapters/{ADDED}/coins.md", checkout.root)
    errata = outputs(checkout.root / "chapters/beyond/errata.md", checkout.root)
    assert "Toy et al., Nowhere 2030" in errata and "Look at the coin" in errata
    page = outputs(checkout.root / "chapters/appendix/scoreboard.md", checkout.root)
    assert "Coins are more than 15" in page and "Nobody has the notes." in page and "small change" in page

    # And every rule that loops over papers holds with it.
    chosen = f"{' or '.join(RULES)} or {ADDED} and ({' or '.join(CASES)})"
    told = checkout.run("-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-rA", *FILES, "-k", chosen)
    passed = [line for line in told.splitlines() if line.startswith("PASSED")]
    for rule in RULES:
        assert any(rule in line for line in passed), rule
    for case in CASES:
        assert any(case in line and ADDED in line for line in passed), case


def test_a_paper_may_stay_in_a_checkout_of_its_own(tmp_path):
    toy_paper.write(tmp_path)
    variables = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "FAIRPCA_PAPERS": str(tmp_path),
        "FAIRPCA_STORE": str(tmp_path / "cells.sqlite"),
    }

    def fairpca(*arguments: str) -> str:
        command = [sys.executable, "-m", "fairpca", *arguments]
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout

    run_everything(fairpca, "toy2030")
    assert sorted(path.name for path in (tmp_path / "data/results/toy2030").glob("*.csv")) == [
        "claims.csv",
        "coins.csv",
        "settings.csv",
    ]
    assert not (ROOT / "data" / "results" / "toy2030").exists()
    assert "current" in fairpca("status", "toy2030")
    assert "Nobody has the notes." in fairpca("scoreboard", "--paper", "toy2030", "--verdict", "not yet")


def test_what_ran_but_is_not_declared_is_reported(tmp_path):
    folder = toy_paper.write(tmp_path)
    (tmp_path / "data/results/toy2030").mkdir(parents=True)
    (tmp_path / "data/results/toy2030/coins.csv").write_text("metric,value\n")
    (folder / "paper.json").unlink()
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "FAIRPCA_PAPERS": str(tmp_path)}
    command = [sys.executable, "-m", "fairpca", "scoreboard"]
    shown = subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout
    assert "toy2030 has results, but no data/published/toy2030/paper.json declares it" in shown
