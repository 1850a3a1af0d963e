# Needs python3 (3.11 or later), make and git; uses uv for speed if it is on the PATH.

PYTHON ?= python3
WORKERS ?= auto

# Python and pytest compile each file once. Container images often forbid them to keep the result.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
INFRA_STAMP := $(VENV)/.installed-infra
BENCH_STAMP := $(VENV)/.installed-bench
NODE_STAMP := infra/node_modules/.installed
NODE_PEERS_STAMP := bench/limits/node_modules/.installed
# Without Node.js the tests that need it are skipped, and say so.
NODE_IF_THERE := $(if $(shell command -v npm 2>/dev/null),$(NODE_STAMP))
NODE_PEERS_IF_THERE := $(if $(shell command -v npm 2>/dev/null),$(NODE_PEERS_STAMP))
# Not the uv of an activated .venv: `make clean setup` removes it.
UV := $(filter-out $(abspath $(VENV))/%,$(shell command -v uv 2>/dev/null))
# $(call venv,FOLDER) makes a virtual environment, $(call install,FOLDER) ... installs into it, and
# $(call agree,FOLDER) fails if a package lacks what it needs: a list with hashes is installed as it is.
ifneq ($(UV),)
venv = $(UV) venv --quiet --allow-existing --python "$$(command -v "$(PYTHON)")" $(1)
install = $(UV) pip install --quiet --python $(1)/bin/python
agree = $(UV) pip check --quiet --python $(1)/bin/python
else
venv = "$(PYTHON)" -m venv $(1)
install = $(1)/bin/python -m pip install -qq --disable-pip-version-check
agree = $(1)/bin/python -m pip check --disable-pip-version-check >/dev/null
endif

.DEFAULT_GOAL := help
.PHONY: help setup demo dev test check audit prove rehearse spin browser bench emulator peers redis generator boto3 synth bootstrap deploy diff destroy e2e e2e-without e2e-with lint types layers format size clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Create .venv with all dependencies, and the command .venv/bin/hourhand
	@:

# The stamp makes setup free until a dependency could have changed.
$(STAMP): pyproject.toml constraints.txt
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "setup: no '$(PYTHON)' here. Install Python 3.11 or later, or name yours: make setup PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "setup: Python 3.11 or later is needed, '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1). Name another: make setup PYTHON=python3.12" >&2; exit 1; }
	@$(if $(UV),true,"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null) || { \
	  echo "setup: '$(PYTHON)' lacks its venv module. Install it (Debian, Ubuntu: apt install python3-venv), or install uv" >&2; exit 1; }
	@echo "setup: installing into $(VENV), a minute or more"
	$(call venv,$(VENV))
	$(call install,$(VENV)) --require-hashes --no-deps -r constraints.txt
	$(call install,$(VENV)) --no-deps -e .
	@$(call agree,$(VENV))
	@touch $(STAMP)

# What packs, synthesises, deploys and tests the templates: 480 MB that `make setup` leaves out.
$(INFRA_STAMP): $(STAMP) constraints-infra.txt
	@echo "setup: installing the CDK into $(VENV), about half a minute"
	$(call install,$(VENV)) --require-hashes --no-deps -r constraints.txt -r constraints-infra.txt
	@$(call agree,$(VENV))
	@echo "setup: fetching the functions' libraries for Lambda into .hourhand, so that packing needs no network"
	$(BIN)/python -m hourhand_cdk.packing --fetch-only
	@touch $@

$(NODE_STAMP): infra/package.json infra/package-lock.json
	@command -v node >/dev/null && command -v npm >/dev/null || { \
	  echo "setup: no Node.js here, and the CDK's command line needs it. Install Node.js 22 or 24 with npm: nodejs.org" >&2; exit 1; }
	@echo "setup: installing the CDK's command line into infra/node_modules"
	npm ci --prefix infra --no-audit --no-fund --loglevel=error
	@touch $@

demo: setup ## Run real jobs on the local cloud, kill its leader, and report; QUICK=1 takes half a minute
	$(BIN)/hourhand demo $(if $(filter-out 0,$(QUICK)),--quick)

dev: setup ## Run the local cloud, with API and console on http://127.0.0.1:8787, until Ctrl-C
	$(BIN)/hourhand dev --port 8787 --handlers examples.quickstart

# HANDLERS=path (a folder or a .py file), MODULE=name, STAGE=dev|prod, CONTEXT="-c name=value ...".
export HANDLERS MODULE STAGE
CDK := JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=18,20 CDK_DISABLE_CLI_TELEMETRY=1 infra/node_modules/.bin/cdk
# By the shell's variables, so that a path may hold blanks and quotes.
CDK_CONTEXT = $(if $(HANDLERS),-c handlers="$$HANDLERS") $(if $(MODULE),-c handlers_module="$$MODULE") $(if $(STAGE),-c stage="$$STAGE") $(CONTEXT)

synth: $(INFRA_STAMP) $(NODE_STAMP) ## Create the CloudFormation template in cdk.out/, offline
	$(CDK) synth --quiet $(CDK_CONTEXT)

bootstrap: $(INFRA_STAMP) $(NODE_STAMP) ## Prepare your AWS account and Region for the CDK, once
	$(CDK) bootstrap $(CDK_CONTEXT)

deploy: $(INFRA_STAMP) $(NODE_STAMP) ## Deploy to your AWS account, with the handlers in HANDLERS=path
	$(CDK) deploy $(CDK_CONTEXT)

diff: $(INFRA_STAMP) $(NODE_STAMP) ## Show what a deployment would change
	$(CDK) diff $(CDK_CONTEXT)

destroy: $(INFRA_STAMP) $(NODE_STAMP) ## Remove a deployment; in prod its tables and bucket stay
	$(CDK) destroy $(CDK_CONTEXT)

SLOW := browser or exhaustive or node or real_time

# The branches of what decides (domain) and acts (services) are all tested, by these tests alone.
test: setup $(INFRA_STAMP) $(NODE_IF_THERE) ## Run the everyday tests, in 5 to 12 minutes on two cores, with coverage
	$(BIN)/python -m pytest -m "not ($(SLOW))" -n $(WORKERS) --cov --cov-report=
	$(BIN)/coverage report --fail-under=100

# What .ci/run calls. What is exhaustive is shared out as it comes: its tests take a second or a minute.
check: test lint types audit emulator generator boto3 ## Run all tests and checks: test, lint, types, then the slow ones
	$(BIN)/python -m pytest -m "node or browser or real_time" -n $(WORKERS)
	HYPOTHESIS_PROFILE=ci $(BIN)/python -m pytest -m exhaustive -n $(WORKERS) --dist worksteal
	HYPOTHESIS_PROFILE=ci $(BIN)/python -m pytest -m "hypothesis and not ($(SLOW))" -n $(WORKERS) --dist worksteal
	$(MAKE) e2e

# The stock command line deploys the very same app to the emulator; see tests/deployed/.
e2e: $(INFRA_STAMP) $(NODE_STAMP) emulator ## Deploy to an emulator, run jobs, update and destroy it; without IAM and, beside that, with it
	$(MAKE) --jobs 2 e2e-without e2e-with

e2e-without: ROUND := not enforced
e2e-with: ROUND := enforced
e2e-without e2e-with:
	$(BIN)/python -m pytest tests/deployed -k "$(ROUND)" -x -v --tb=short --show-capture=no \
	  -o log_cli=true -o log_cli_level=INFO -o log_cli_format='%(asctime)s %(message)s' -o log_cli_date_format=%H:%M:%S

prove: setup emulator spin boto3 ## Run the whole proof, up to 90 minutes, and write docs/reliability.md; ONLY="wire model" runs some parts
	$(BIN)/python -m proof $(ONLY)

rehearse: setup ## Rehearse a failure of docs/how-to/runbook.md on the local cloud: NAME=...; without it, list them
	@$(BIN)/python -m proof.rehearsals $(NAME)

# The model of the protocol is checked by a program that is made for it.
spin: ## Install Spin and a C compiler, if they are missing (Debian, as root)
	@if ! { command -v spin && command -v gcc; } >/dev/null 2>&1; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "spin: installing Spin and a C compiler"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends spin gcc libc6-dev >/dev/null; \
	  else echo "spin: install Spin and a C compiler first (Debian, Ubuntu: apt-get install spin gcc libc6-dev)" >&2; exit 1; fi; fi

# The console is tested in a real one.
browser: ## Install Chromium, if it is missing (Debian, as root)
	@if ! command -v chromium >/dev/null 2>&1; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "browser: installing Chromium"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	  else echo "browser: install Chromium first (Debian, Ubuntu: apt-get install chromium)" >&2; exit 1; fi; fi

bench: $(BENCH_STAMP) emulator peers redis ## Run the benchmarks, up to 30 minutes, and write docs/performance.md; ONLY="dispatch cost" runs only these
	$(BIN)/python -m bench $(ONLY)

# What draws the plots: 120 MB that nobody else wants.
$(BENCH_STAMP): $(STAMP) constraints-bench.txt
	@echo "setup: installing matplotlib into $(VENV)"
	$(call install,$(VENV)) --require-hashes --no-deps -r constraints.txt -r constraints-bench.txt
	@$(call agree,$(VENV))
	@touch $@

# The emulator, the programs that we are measured beside, the generator of clients and our own tools
# ask for different versions of the same packages: each gets a place of its own.
emulator generator: %: .venv-%/.installed
	@:

# Where the database of PyPI does not answer, each package is listed with that as the reason why it was not audited.
audit: .venv-audit/.installed ## Look up known vulnerabilities in the versions that setup and deploy install
	.venv-audit/bin/pip-audit --disable-pip --require-hashes -r constraints.txt -r constraints-infra.txt

peers: .venv-peers/.installed $(NODE_PEERS_IF_THERE)
	@:

$(NODE_PEERS_STAMP): bench/limits/package.json bench/limits/package-lock.json
	npm ci --prefix bench/limits --no-audit --no-fund --loglevel=error
	@touch $@

# The peers keep their limits in one.
redis: ## Install Redis, if it is missing (Debian, as root); its service is not started
	@if ! command -v redis-server >/dev/null 2>&1; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "redis: installing Redis"; \
	    apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends redis-server >/dev/null; \
	  else echo "redis: install Redis first (Debian, Ubuntu: apt-get install redis-server)" >&2; exit 1; fi; fi

# The functions are started on other versions of boto3 than ours, as Lambda or a layer may have them.
boto3: .venv-boto3-minimum/.installed .venv-boto3-newest/.installed .venv-boto3-old/.installed
	@:

.venv-%/.installed: constraints-%.txt
	@echo "$*: installing into .venv-$*"
	$(call venv,.venv-$*)
	$(call install,.venv-$*) -r constraints-$*.txt
	@touch $@

lint: setup layers ## Check style, format and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup $(INFRA_STAMP) ## Check types (mypy, strict)
	$(BIN)/mypy

layers: setup ## Check that imports only point down
	$(BIN)/lint-imports

format: setup ## Format the code and sort its imports
	$(BIN)/ruff check --fix --select I .
	$(BIN)/ruff format .

size: setup ## Print the lines of code of each package
	@$(BIN)/python -m bench.size

clean: ## Remove .venv, caches and reports
	rm -rf $(VENV) .venv-boto3-minimum .venv-boto3-newest .venv-boto3-old .venv-audit .venv-emulator .venv-generator .venv-peers infra/node_modules bench/limits/node_modules cdk.out build dist htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
