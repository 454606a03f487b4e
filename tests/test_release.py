"""Workflows, environments, metadata: valid by their schemas, of one mind with pyproject.toml and the Makefile."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import fairpca

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))
TABLE_ROW = re.compile(r"^\| (?!---|package)(.*) \|$", re.MULTILINE)
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def check(schema: str, *files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def steps() -> list[tuple[str, dict]]:
    found = []
    for file in WORKFLOWS:
        for job in yaml.safe_load(file.read_text(encoding="utf8"))["jobs"].values():
            found += [(file.name, step) for step in job["steps"]]
    return found


def test_workflows_fit_their_schema_and_end(tmp_path: Path) -> None:
    assert {file.stem for file in WORKFLOWS} >= {"checks", "pages", "release"}
    for schema in ("vendor.github-workflows", "custom.github-workflows-require-timeout"):
        result = check(schema, *WORKFLOWS)
        assert result.returncode == 0, result.stdout
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("name: x\non: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: 3}]}}\n")
    assert check("vendor.github-workflows", wrong).returncode == 1, "the schema must be able to complain"


def test_citation_fits_its_schema() -> None:
    result = check("vendor.citation-file-format", ROOT / "CITATION.cff")
    assert result.returncode == 0, result.stdout


def test_what_workflows_run_can_be_run_here() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf8"), re.MULTILINE))
    commands = [step["run"] for _, step in steps() if "run" in step]
    assert {"make lint", "make book", "make check-site", "make test-lowest", "make dist"} <= set(commands)
    for command in commands:
        match = re.fullmatch(r"make ([a-z-]+)(?: PY=python| VENV=none)?", command)
        assert match, f"{command!r}: what CI does is a target of the Makefile, so that it can be done here"
        assert match[1] in targets


def test_actions_are_pinned_by_digest_and_keep_no_credentials() -> None:
    for file, step in steps():
        if "uses" in step:
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]), (file, step)
            if step["uses"].startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, file


def test_pythons_of_the_workflows_are_those_of_the_package() -> None:
    checks = yaml.safe_load((ROOT / ".github/workflows/checks.yml").read_text(encoding="utf8"))
    tested = checks["jobs"]["tests"]["strategy"]["matrix"]["python-version"]
    first = PYPROJECT["project"]["requires-python"].removeprefix(">=")
    assert tested[0] == first
    named = [line for line in PYPROJECT["project"]["classifiers"] if ":: 3." in line]
    assert named == [f"Programming Language :: Python :: {version}" for version in tested]


def test_other_environments_come_from_the_lock() -> None:
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf8"))
    assert container["postCreateCommand"] == "make setup"
    assert (ROOT / "binder/requirements.txt").read_text(encoding="utf8").strip() == "-r ../requirements.lock"
    runtime = (ROOT / "binder/runtime.txt").read_text(encoding="utf8").strip().removeprefix("python-")
    assert container["image"].endswith(f":{runtime}")
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf8"))["repos"][0]["hooks"]
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf8"), re.MULTILINE)[1]
    done = {re.sub(r" --force-exclude| \.$", "", hook["entry"]).replace(".venv/bin/python", "") for hook in hooks}
    assert done == {re.sub(r" \.$", "", line).replace("\t$(PYTHON)", "") for line in recipe.splitlines()}


@pytest.mark.parametrize("file", ["CITATION.cff", "codemeta.json"])
def test_metadata_have_the_version_of_the_package(file: str) -> None:
    data = yaml.safe_load((ROOT / file).read_text(encoding="utf8"))
    assert data["version"] == fairpca.__version__ == PYPROJECT["project"]["version"]
    if file == "CITATION.cff":
        assert data["preferred-citation"]["version"] == fairpca.__version__


def test_codemeta_needs_what_the_package_needs() -> None:
    data = json.loads((ROOT / "codemeta.json").read_text(encoding="utf8"))
    names = [Requirement(text).name for text in PYPROJECT["project"]["dependencies"]]
    assert data["softwareRequirements"] == names
    assert data["description"] == PYPROJECT["project"]["description"]
    assert data["keywords"] == PYPROJECT["project"]["keywords"]


def test_every_dependency_has_a_lowest_version() -> None:
    for text in PYPROJECT["project"]["dependencies"]:
        assert re.fullmatch(r"[\w-]+>=[\d.]+", text), f"{text}: write name>=version"


def test_every_dependency_has_its_line() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")
    section = text.partition("## Dependencies")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in row.split("|")] for row in TABLE_ROW.findall(section)]
    assert all(len(row) == 4 and all(row) for row in rows)
    listed = {name.strip() for row in rows for name in row[0].split(",")}
    declared = [*PYPROJECT["project"]["dependencies"], *chain(*PYPROJECT["project"]["optional-dependencies"].values())]
    assert listed == {Requirement(text).name for text in declared} - {"fairpca"}
