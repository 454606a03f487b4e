# `make book` and `make test` do all set-up by themselves; they need Python 3.11 or later, git and make.
# Inside an environment that already has everything (conda, say): make book VENV=none
PROFILE ?= smoke
JOBS    ?= 2
VENV    ?= .venv
# The first interpreter that is new enough.
PY      ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
             $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

ifeq ($(VENV),none)
BIN    =
READY  =
TESTED =
else
BIN    = $(VENV)/bin/
READY  = $(VENV)/.ready
TESTED = $(VENV)/.tested
endif
PYTHON = $(BIN)python

# The addresses of the published book and of the repository; empty as long as there is none. The first makes a sitemap,
# the second fills buttons, badges and metadata (make address).
BOOK_URL       ?=
REPOSITORY_URL ?=

# A folder with the data that are not bundled; set but empty, nothing beside the checkout is looked at.
FAIRPCA_MIRROR ?= $(abspath $(wildcard ../shared/data))

export PYTHONUNBUFFERED = 1
export BOOK_URL REPOSITORY_URL FAIRPCA_MIRROR

.PHONY: help setup setup-test address notebooks results book site pdf report check-site check-external check-tag publish test test-mirror test-package test-lowest test-newest test-engines lint lock dist clean

help:
	@echo "Targets, each with the variables that it takes:"
	@echo "  make book         execute the chapters, build the site in _build/html      PROFILE JOBS BOOK_URL REPOSITORY_URL"
	@echo "  make test         run all tests, chapters included                         JOBS"
	@echo "  make test-mirror  the tests of data that are not bundled                   FAIRPCA_MIRROR JOBS"
	@echo "  make notebooks    execute the chapters that have changed                   PROFILE JOBS"
	@echo "  make results      compute all stored results anew by the chapters (profile=paper)   JOBS"
	@echo "  make report       the replication report from the stored results, as HTML and PDF, in _build/report"
	@echo "  make check-site   open every page of the built site in Chromium            JOBS"
	@echo "  make pdf          the built book as one PDF, printed by Chromium"
	@echo "  make lint         ruff and mypy"
	@echo "  make test-package the package's tests alone                                JOBS"
	@echo "  make test-lowest  the same with the lowest versions that pyproject.toml allows (test-newest: the newest)   JOBS"
	@echo "  make test-engines the recipes for Spark and Ray, with both installed"
	@echo "  make setup        create .venv with what the book needs"
	@echo "  make setup-test   add what the tests need"
	@echo "  make lock         resolve both locks anew                                  UPGRADE=--upgrade takes newer versions"
	@echo "  make address      write the repository's address into README and metadata  REPOSITORY_URL"
	@echo "  make dist         wheel and source archive in dist                         REPOSITORY_URL"
	@echo "  make clean        remove what was built; .venv stays"
	@echo "Variables, for instance make book JOBS=4:"
	@echo "  PROFILE=smoke     smoke computes a slice of every exhibit, paper computes all of it"
	@echo "  JOBS=2            processes at the same time"
	@echo "  VENV=.venv        where the environment is; VENV=none uses the one that is active"
	@echo "  PY=python3        the interpreter, 3.11 or later, that makes the environment"

setup: $(READY)

setup-test: $(TESTED)

# pip shows a line for each package that it fetches; the environment lies inside the checkout.
PIP = $(VENV)/bin/python -m pip install --disable-pip-version-check --no-input

$(VENV)/.ready: pyproject.toml requirements.lock
	@test -n "$(PY)" || { echo "Python 3.11 or later is needed; name it with PY=/path/to/python3"; exit 1; }
	@echo "Setting up $(VENV) with the packages that the book needs (about 1.2 GB, some minutes, once)"
	$(VENV)/bin/python -m pip --version > /dev/null 2>&1 || $(PY) -m venv --clear $(VENV)
	$(PIP) --require-hashes --requirement requirements.lock
	$(PIP) --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.tested: $(VENV)/.ready requirements-test.lock
	@echo "Adding the packages that the tests need (about 0.7 GB, once)"
	$(PIP) --require-hashes --requirement requirements-test.lock
	@touch $@

notebooks: setup
	$(PYTHON) scripts/run_notebooks.py --jobs $(JOBS) --profile $(PROFILE)

# Continues where it was stopped; what needs data that are not here is left as it is.
results: setup
	$(PYTHON) scripts/run_notebooks.py --jobs $(JOBS) --profile paper

book: notebooks
	@$(MAKE) --no-print-directory site

site:
	@rm -rf _build/html
	$(PYTHON) scripts/fill_cache.py --profile $(PROFILE)
	BOOK_NO_EXECUTE=1 BOOK_PROFILE=$(PROFILE) $(BIN)jupyter-book build . --all -W --keep-going \
	  > _build/book.log 2>&1 || { cat _build/book.log; exit 1; }
	$(PYTHON) -m hatchling build --target wheel --directory _build/html
	$(PYTHON) scripts/portable.py _build/html --profile $(PROFILE)
	$(PYTHON) scripts/check_links.py _build/html
	@echo "The book is in _build/html/index.html"

pdf: setup-test
	$(PYTHON) scripts/pdf.py _build/html _build/fair-pca.pdf

report: setup
	$(PYTHON) scripts/report.py _build/report

check-site: setup-test
	$(PYTHON) scripts/check_site.py _build/html --jobs $(JOBS)

# Many tests wait for processes of their own, so there is one more of them than processors.
test: setup-test
	$(PYTHON) -m pytest --numprocesses $$(($(JOBS) + 1)) --dist worksteal

test-mirror: setup-test
	@if [ -z "$(FAIRPCA_MIRROR)" ]; then echo "Nothing to do: FAIRPCA_MIRROR names no folder with the data."; \
	  else $(PYTHON) -m pytest --numprocesses $(JOBS) --dist worksteal -m mirror; fi

# The tests of the package alone; those of chapters, site and stored results belong to the locked versions.
PACKAGE_TESTS = tests/metrics tests/solvers tests/plotting tests/test_sklearn_contract.py tests/test_minmax.py \
  tests/test_rfpca.py

# Into the environment that is active, on any system: make test-package VENV=none
test-package: setup-test
ifeq ($(VENV),none)
	python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
endif
	$(PYTHON) -m pytest --numprocesses $(JOBS) --dist worksteal $(PACKAGE_TESTS)

UV = _build/uv/bin/uv

$(UV):
	@test -n "$(PY)" || { echo "Python 3.11 or later is needed; name it with PY=/path/to/python3"; exit 1; }
	$(PY) -m venv _build/uv
	_build/uv/bin/python -m pip install --quiet --disable-pip-version-check uv

# Environments of their own.
test-lowest: $(UV)
	test -x _build/lowest/bin/python || $(PY) -m venv _build/lowest
	$(UV) pip compile --quiet pyproject.toml --extra sdp --extra plot --extra data --resolution lowest-direct \
	  --python _build/lowest/bin/python --output-file _build/lowest.txt
	_build/lowest/bin/python -m pip install --quiet --disable-pip-version-check --requirement _build/lowest.txt \
	  pytest pytest-xdist hypothesis fairlearn hatchling editables
	_build/lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	_build/lowest/bin/python -m pytest --numprocesses $(JOBS) --dist worksteal $(PACKAGE_TESTS)

test-newest:
	test -x _build/newest/bin/python || $(PY) -m venv _build/newest
	_build/newest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --editable ".[test]"
	_build/newest/bin/python -m pytest --numprocesses $(JOBS) --dist worksteal $(PACKAGE_TESTS)

# Spark needs Java.
test-engines:
	test -x _build/engines/bin/python || $(PY) -m venv _build/engines
	_build/engines/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[test]" pyspark ray
	_build/engines/bin/python -m pytest tests/scale/test_engines.py

lint: setup-test
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy

# uv resolves for all systems at once. UPGRADE=--upgrade takes the newest versions that pyproject.toml allows.
LOCK = $(UV) pip compile pyproject.toml --quiet --no-config --universal --python-version 3.11 --fork-strategy fewest \
  --generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(UPGRADE)

lock: $(UV)
	$(LOCK) --extra book --output-file requirements.lock
	$(LOCK) --extra book --extra test --constraint requirements.lock --output-file requirements-test.lock

check-external: notebooks
	$(PYTHON) scripts/fill_cache.py --profile $(PROFILE)
	BOOK_NO_EXECUTE=1 BOOK_PROFILE=$(PROFILE) $(BIN)jupyter-book build . --builder linkcheck --path-output _build/external

# The tag of a release is the version of the package, and all its results are current.
check-tag: setup-test
	@test "$$(git describe --exact-match --tags)" = "v$$($(PYTHON) -c 'import fairpca; print(fairpca.__version__)')" \
	  || { echo "The tag of this commit is not v and the version in pyproject.toml"; exit 1; }
	$(PYTHON) -m pytest -m release

publish: $(UV)
	$(UV) publish --trusted-publishing always dist/*

# Fill README.md, CITATION.cff, codemeta.json and ro-crate-metadata.json; without REPOSITORY_URL the address is removed.
address: setup
	$(PYTHON) scripts/address.py

dist: setup
	rm -rf dist
	$(PYTHON) -m hatchling build

clean:
	rm -rf _build _executed dist
