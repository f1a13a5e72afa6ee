# Entry points for people and CI. `make demo` and `make test` need Python 3.11 or newer, and nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ENGINE ?= simulator
ARGS ?=

.PHONY: help venv demo hud screenshots test test-engine engine bfcl check check-full lint types layers spelling format lock locks golden clean
help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

# Two steps, because older pip cannot resolve extras in hash-checking mode: pip itself comes first, pinned as well.
$(STAMP): lockfiles/dev.txt lockfiles/pip.txt lockfiles/build-constraints.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Gauntlet needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r lockfiles/pip.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --build-constraint lockfiles/build-constraints.txt -r lockfiles/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --editable .
	touch $@

venv: $(STAMP) ## Make .venv from the pinned lock

demo: $(STAMP) ## Decide, measure, keep, judge, gate and show, once (ENGINE=vllm for the real engine)
	@# Exit code 6 is an answer of the demo (NOT QUALIFIED), not a failure of it.
	$(BIN)/gauntlet demo --engine $(ENGINE) $(ARGS) || test $$? -eq 6

hud: $(STAMP) ## Open the pages over what was measured
	$(BIN)/gauntlet hud $(ARGS)

test: $(STAMP) ## The whole test suite
	@# Two at once, as most tests wait for processes; those that measure time have the machine to themselves. 5: none of them.
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not alone" $(ARGS) || test $$? -eq 5
	$(BIN)/python -m pytest -m alone $(ARGS) || test $$? -eq 5

engine: $(STAMP) ## Real vLLM for the CPU and a tiny model (3.8 GB, once)
	$(BIN)/python tools/engine.py $(ARGS)

bfcl: $(STAMP) ## bfcl-eval in .venv-bfcl, where its pins are in nobody's way (570 MB, once)
	$(BIN)/python tools/bfcl.py $(ARGS)

test-engine: $(STAMP) ## The demo against real vLLM (after `make engine`)
	GAUNTLET_ENGINE=1 $(BIN)/python -m pytest tests/integration/test_real_vllm.py $(ARGS)

lint: $(STAMP) ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## Types, strict
	$(BIN)/mypy

layers: $(STAMP) ## Who may import whom
	$(BIN)/lint-imports

spelling: $(STAMP) ## Spelling of code and docs
	$(BIN)/codespell

locks: $(STAMP) ## Are the locks fresh, whole, installable? Without any network
	$(BIN)/gauntlet locks check $(ARGS)

check: lint types layers spelling locks test ## What CI runs

check-full: ## The same with every iteration of the slow tests
	GAUNTLET_SLOW=full $(MAKE) check

format: $(STAMP) ## Fix what can be fixed by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(STAMP) ## Compile lockfiles/ again from their inputs
	$(BIN)/gauntlet locks compile $(ARGS)

screenshots: $(STAMP) ## Refresh the pictures in docs/images (needs Chromium)
	$(BIN)/python tools/screenshots.py $(ARGS)

golden: $(STAMP) ## Accept the present output as the golden one
	$(BIN)/python -m pytest -q tests/golden --update-golden

clean: ## Remove caches and builds; keeps .venv and the warehouse
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
