# The whole set-up happens inside `make demo` and `make test`.
SHELL := bash
PYTHON ?= python3
SECONDS ?=
DEMO ?= fraud
BIN := .venv/bin
OPERATORS := src/headrace/_spark/operators.jar
CONNECT := src/headrace/artifacts/connect.jar
ONLY ?=
RECORD ?=

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

demo: ready ## find card fraud as it happens; SECONDS=60 ends it by itself
	$(BIN)/headrace demo $(DEMO) $(if $(SECONDS),--seconds $(SECONDS))

test: ready ## run every test but the long ones; ONLY=joins runs the files named so
	@$(BIN)/python scripts/run_tests.py $(if $(ONLY),--only $(ONLY)) $(if $(RECORD),--record)

quick: ready ## check style and types, run the tests that need neither servers nor Spark
	@$(BIN)/python scripts/run_tests.py --quick

ready: .venv/ready $(OPERATORS) $(CONNECT) ## make the environment and our jars

lint: .venv/ready ## check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: .venv/ready ## format the Python code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

chaos: ready ## kill drivers and brokers at length; SEED=n replays a run
	$(BIN)/pytest -m long
	PYTHONPATH=tests $(BIN)/python -m support.harness.chaos $(if $(SEED),--seed $(SEED))

soak: ready ## hold windows against their model at length; SEED=n replays a run
	PYTHONPATH=tests $(BIN)/python -m support.cases.window_soak --cases 300 $(if $(SEED),--seed $(SEED))

mutants: ready ## break the product in places, and see that tests notice; MUTANTS=name tries one
	$(BIN)/python scripts/mutants.py $(MUTANTS)

bench: ready ## measure throughput beside plain Spark, latency, windows, stores, joins, fraud
	$(BIN)/python bench/delivery.py
	$(BIN)/python bench/latency.py
	$(BIN)/python bench/windows.py
	$(BIN)/python bench/stores.py
	$(BIN)/python bench/joins.py
	$(BIN)/python bench/lookups.py
	$(BIN)/python bench/views.py
	$(BIN)/python bench/fraud.py

wheel: ready ## build the wheel into dist/
	$(BIN)/uv build --wheel --no-build-isolation --python $(BIN)/python

lock: .venv/ready ## resolve the Python and artifact locks anew
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --group dev -o requirements.lock pyproject.toml
	$(BIN)/python scripts/lock_artifacts.py

clean: ## remove the environment and everything built
	rm -rf .venv dist build $(OPERATORS) $(CONNECT) .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/ready: requirements.lock pyproject.toml scripts/ready.sh
	@PYTHON="$(PYTHON)" sh scripts/ready.sh
	@touch $@

$(OPERATORS): $(shell find jvm -type f -not -name "*.pyc") jvm/hatch_build.py requirements.lock | .venv/ready
	$(BIN)/python jvm/hatch_build.py

# Built with the operators, after them.
$(CONNECT): $(OPERATORS)
	@test $@ -nt $< || $(BIN)/python jvm/hatch_build.py

.PHONY: help demo test quick ready lint format mutants chaos soak bench wheel lock clean
