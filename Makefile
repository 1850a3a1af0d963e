# Needs python3 (3.11 or later), make and git; uses uv where it is installed, for speed.

PYTHON ?= python3
WORKERS ?= auto

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXTRAS := cli,local,dev
UV := $(shell command -v uv 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help setup demo dev test bench emulator lint types layers format clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv with everything installed, hourhand in .venv/bin
	@:

# The stamp makes setup free until a dependency could have changed.
$(STAMP): pyproject.toml constraints.txt
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "setup: no '$(PYTHON)' here. Install Python 3.11 or later, or name yours: make setup PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "setup: Python 3.11 or later is needed, '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1). Name another: make setup PYTHON=python3.12" >&2; exit 1; }
ifneq ($(UV),)
	@echo "setup: installing into $(VENV), a few seconds with uv"
	uv venv --quiet --allow-existing --python "$$(command -v "$(PYTHON)")" $(VENV)
	uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[$(EXTRAS)]'
else
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "setup: '$(PYTHON)' lacks its venv module. Install it (Debian, Ubuntu: apt install python3-venv), or install uv" >&2; exit 1; }
	@echo "setup: installing into $(VENV), about a minute"
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
endif
	@touch $(STAMP)

demo: setup ## Run a realistic mix of jobs on the local cloud, with live progress and a report
	$(BIN)/hourhand demo

dev: setup ## Serve the local cloud's API on http://127.0.0.1:8787 until Ctrl-C
	$(BIN)/hourhand dev --port 8787 --handlers examples.quickstart

# The branches of what decides (domain) and acts (services) are all tested; the rest is reported.
test: setup ## Run all tests, with coverage
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term
	$(BIN)/coverage report --include='src/common/hourhand/domain/*,src/common/hourhand/services/*' --fail-under=100

bench: setup emulator ## Run the benchmarks; results go to bench/results/
	$(BIN)/python -m bench

# The emulator and our tools ask for different versions of the same packages: it gets its own place.
emulator: .venv-emulator/.installed
	@:

.venv-emulator/.installed: constraints-emulator.txt
	@echo "emulator: installing into .venv-emulator"
ifneq ($(UV),)
	uv venv --quiet --allow-existing --python "$$(command -v "$(PYTHON)")" .venv-emulator
	uv pip install --quiet --python .venv-emulator/bin/python -r constraints-emulator.txt
else
	"$(PYTHON)" -m venv .venv-emulator
	.venv-emulator/bin/python -m pip install -qq --disable-pip-version-check -r constraints-emulator.txt
endif
	@touch $@

lint: setup layers ## Check style, format and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup ## Check types (mypy, strict)
	$(BIN)/mypy

layers: setup ## Check that imports only point down
	$(BIN)/lint-imports

format: setup ## Format the code and sort its imports
	$(BIN)/ruff check --fix --select I .
	$(BIN)/ruff format .

clean: ## Remove .venv, caches and reports
	rm -rf $(VENV) .venv-emulator build dist htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
