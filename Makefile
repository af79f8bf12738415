# Carryover: `make demo` runs the study, `make test` the tests. Nothing here asks for sudo.
SCALE ?= laptop
PYTHON ?= python3.11
VENV ?= .venv
POOL_TYPE ?= process
BIN := $(VENV)/bin
TEMPLATE := $(addprefix --base-job-template ,$(wildcard deployments/work_pool_$(POOL_TYPE).json))
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

export DO_NOT_TRACK := 1
export GX_ANALYTICS_ENABLED := false
# Tests start hundreds of interpreters: they share compiled modules, whatever the caller's environment says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo install sandbox viewer browser test test-all test-study test-runtime test-soak test-benchmarks test-versions up down deploy lint clean clean-data

help:  ## List the commands
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24
	@echo "  SCALE=smoke|laptop|laptop_full|laptop_injected|pretrained|paper chooses the plan of make demo"

demo: install sandbox  ## Run the whole study and print its result (SCALE=laptop)
	@$(BIN)/carryover run --scale $(SCALE) $(ARGS)

install: $(VENV)/.installed  ## Create the virtual environment with exact versions

sandbox:  ## Install Debian's bubblewrap where that needs no sudo, or say how to get it
	@sh deployments/install_package.sh bwrap bubblewrap "the sandbox of agent code" \
		"agent code runs at a lower sandbox level, which every trace names"

viewer:  ## Build the viewer's front end anew (needs Node 20.19 or newer; its built files are part of the checkout)
	@cd tasks/viewer/web && npm ci --no-audit --no-fund && npm run build

browser:  ## Install Chromium, echarts and axe-core for the tests marked browser, or say how to get them
	@sh deployments/install_package.sh chromium chromium "the tests that look at pages, 250 MB" \
		"the tests marked browser are left out"
	@sh deployments/install_npm_packages.sh

# The runtime's tests flood processors and processes on purpose: no other tests run beside them.
test: $(VENV)/.installed-dev sandbox  ## Install and run the unmarked tests
	@$(BIN)/python -m pytest -n 2 --dist loadfile --ignore tests/tasks/runtime
	@$(BIN)/python -m pytest -n 2 --dist loadfile tests/tasks/runtime

test-all: test-study test-runtime test-soak test-benchmarks  ## Run every test that the machine can run, in four parts (hours)

test-study: $(VENV)/.installed-dev sandbox browser  ## The first part of test-all: all but the runtime's, with 40 kills and full disks
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not benchmark" \
		--ignore tests/tasks/runtime --ignore tests/tasks/test_soak.py

test-runtime: $(VENV)/.installed-dev sandbox  ## The second: attacks, floods, Jupyter kernels
	@$(BIN)/python -m pytest -m "not benchmark" tests/tasks/runtime

# It keeps both cores of a small machine busy for an hour: what runs beside it takes three times as long.
test-soak: $(VENV)/.installed-dev sandbox  ## The third: an hour of episodes with faults
	@$(BIN)/python -m pytest -m long -s tests/tasks/test_soak.py

test-benchmarks: $(VENV)/.installed-dev sandbox  ## The fourth: what the README and tests/benchmarks claim
	@$(BIN)/python -m pytest -m benchmark -s

test-versions: sandbox  ## Run the unmarked tests, or TESTS, with the lowest and newest versions, the core's on other Pythons
	@PYTHON=$(PYTHON) .ci/versions.sh $(TESTS)

up: $(VENV)/.installed sandbox  ## Start a Prefect server and workers in the background, and declare the deployments
	@BIN=$(abspath $(BIN)) DEPLOY="make --no-print-directory deploy" sh deployments/machine.sh up

down:  ## Stop what make up has started
	@sh deployments/machine.sh down

deploy: $(VENV)/.installed  ## Declare work pools, deployments and automations on the server of PREFECT_API_URL
	@$(BIN)/python -m carryover.flows.cli.machine.prefect_server
	@for pool in cpu gpu; do $(BIN)/prefect work-pool create $$pool --type $(POOL_TYPE) --overwrite $(TEMPLATE); done
	@CARRYOVER_LANDING="$${CARRYOVER_LANDING:-}" CARRYOVER_VERSION="$$(git describe --always --dirty 2>/dev/null)" \
		$(BIN)/prefect --no-prompt deploy --prefect-file deployments/prefect.yaml --all
	@$(BIN)/python -m carryover.flows.cli.machine.automations deployments/automations.yaml

# The type checker follows files, not the installed finder: links lay the folders out as the package that they make up.
lint: $(VENV)/.installed-dev  ## Check style and types
	@mkdir -p build/links/carryover
	@ln -sfn ../../../flows/api/__init__.py build/links/carryover/__init__.py
	@for room in flows tasks storage sql; do ln -sfn ../../../$$room build/links/carryover/$$room; done
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright
	@$(BIN)/sqlfluff lint sql

clean:  ## Remove the virtual environment
	rm -rf $(VENV)

clean-data:  ## Remove the folder data: the warehouse, trained models, and replies that were paid for
	rm -rf data

# pip comes last: an environment without it is half made, and is made again.
$(VENV)/bin/pip:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: 'sudo apt-get install python3.11 python3.11-venv', or name another Python 3.11 with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "$(PYTHON) makes no virtual environments yet: 'sudo apt-get install python3.11-venv', then make again" >&2; exit 1; }
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# torch first: where pip finds a CPU build (README), the rest resolves to it. PyPI's build for Linux brings CUDA.
$(VENV)/.installed: pyproject.toml deployments/constraints.txt | $(VENV)/bin/pip
	@echo "installing the exact versions of deployments/constraints.txt (some minutes, 2.5 GB; several more where torch brings CUDA)"
	@$(PIP) --constraint deployments/constraints.txt torch==2.13.0
	@$(PIP) --constraint deployments/constraints.txt --editable '.[study,train]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@$(PIP) --constraint deployments/constraints.txt --editable '.[study,train,dev]'
	@touch $@
