# `make book` and `make test` do all set-up by themselves; they need Python 3.11 or later, git and make.
# Inside an environment that already has everything (conda, say): make book VENV=none
PROFILE ?= smoke
JOBS    ?= 2
VENV    ?= .venv
# The first interpreter that is new enough.
PY      ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
             $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

ifeq ($(VENV),none)
BIN   =
READY =
else
BIN   = $(VENV)/bin/
READY = $(VENV)/.ready
endif
PYTHON = $(BIN)python

# The address of the published book, for a sitemap and for links from elsewhere; empty if it has none.
BOOK_URL ?=

export PYTHONUNBUFFERED = 1
export BOOK_URL

.PHONY: help setup notebooks results book site pdf report neurolibre check-site test test-lowest lint lock dist clean

help:
	@echo "make book       execute the chapters and build the site in _build/html"
	@echo "make test       run all tests, chapters included"
	@echo "make check-site open every page of the site in Chromium: axe, console, widths, live figures"
	@echo "make pdf        the built book as one PDF, printed by Chromium"
	@echo "make report     the replication report from the stored results, as HTML and PDF, in _build/report"
	@echo "make notebooks  execute the chapters that have changed"
	@echo "make results    compute all stored results anew by the chapters, with profile=paper, and list what took long"
	@echo "make test-lowest the package's tests with the lowest versions that pyproject.toml allows"
	@echo "make lint       ruff and mypy"
	@echo "make setup      create .venv with the locked versions"
	@echo "make lock       resolve requirements.lock anew"
	@echo "make dist       wheel and source archive in dist"
	@echo "make clean      remove what was built; .venv stays"
	@echo "JOBS=2 is the number of processes that compute at the same time."

setup: $(READY)

$(VENV)/.ready: pyproject.toml requirements.lock
	@test -n "$(PY)" || { echo "Python 3.11 or later is needed; name it with PY=/path/to/python3"; exit 1; }
	$(VENV)/bin/python -m pip --version > /dev/null 2>&1 || $(PY) -m venv --clear $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

notebooks: setup
	$(PYTHON) scripts/run_notebooks.py --jobs $(JOBS) --profile $(PROFILE)

# Continues where it was stopped; what needs data that are not here is left as it is.
results: setup
	$(PYTHON) scripts/run_notebooks.py --jobs $(JOBS) --profile paper

book: notebooks
	@$(PYTHON) scripts/alone.py _build/book.lock $(MAKE) --no-print-directory site

site:
	@rm -rf _build/html
	$(PYTHON) scripts/fill_cache.py --profile $(PROFILE)
	BOOK_NO_EXECUTE=1 BOOK_PROFILE=$(PROFILE) $(BIN)jupyter-book build . --all -W --keep-going \
	  > _build/book.log 2>&1 || { cat _build/book.log; exit 1; }
	$(PYTHON) scripts/portable.py _build/html --profile $(PROFILE)
	$(PYTHON) scripts/check_links.py _build/html
	@echo "The book is in _build/html/index.html"

pdf: setup
	$(PYTHON) scripts/pdf.py _build/html _build/fair-pca.pdf

report: setup
	$(PYTHON) scripts/report.py _build/report

neurolibre: setup
	$(PYTHON) scripts/neurolibre.py _build/neurolibre

check-site: setup
	$(PYTHON) scripts/check_site.py _build/html --jobs $(JOBS)

# Many tests wait for processes of their own, so there is one more of them than processors.
test: setup
	$(PYTHON) -m pytest --numprocesses $$(($(JOBS) + 1)) --dist worksteal

# An environment of its own; tests of chapters, site and stored results belong to the locked versions.
test-lowest:
	@test -n "$(PY)" || { echo "Python 3.11 is needed; name it with PY=/path/to/python3"; exit 1; }
	test -x _build/lowest/bin/python || $(PY) -m venv _build/lowest
	$(PY) scripts/lowest.py > _build/lowest.txt
	_build/lowest/bin/python -m pip install --quiet --disable-pip-version-check --requirement _build/lowest.txt
	_build/lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	_build/lowest/bin/python -m pytest --numprocesses $(JOBS) --dist worksteal tests/metrics tests/solvers tests/plotting \
	  tests/test_sklearn_contract.py tests/test_minmax.py tests/test_rfpca.py tests/test_synthetic.py

lint: setup
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy

# UPGRADE=--upgrade takes the newest versions that pyproject.toml allows; without it, what may stay stays.
lock: setup
	test -x _build/uv/bin/uv || { $(PY) -m venv _build/uv && _build/uv/bin/python -m pip install --quiet uv; }
	$(PYTHON) scripts/lock.py _build/uv/bin/uv $(UPGRADE)

dist: setup
	rm -rf dist
	$(PYTHON) -m hatchling build

clean:
	rm -rf _build _executed dist
