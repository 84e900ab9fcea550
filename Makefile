# The commands people need. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
TARGET := $(or $(CARGO_TARGET_DIR),target)
HEDGEROW := $(TARGET)/release/hedgerow
BENCH_ENV := bench/.venv
PYTHON_ENV := python/.venv
PYTHON := $(PYTHON_ENV)/bin/python
# The native half of the Python package, as Cargo builds it for the tests and as Python finds it.
NATIVE := $(TARGET)/debug/lib_hedgerow.$(if $(filter Darwin,$(shell uname)),dylib,so)
# The engine is built with the same features for every test: nothing is built twice.
CARGO_ALL := --workspace --all-features

.PHONY: help
help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

.PHONY: build
build: ## build the hedgerow program into target/release
	cargo build --release --package hedgerow-cli

.PHONY: run
run: build ## learn the handwritten digits that ship with the project, online, and write a report
	$(HEDGEROW) demo --dir out

.PHONY: test
test: ## run every check and test
	cargo fmt --all --check
	cargo clippy $(CARGO_ALL) --all-targets --quiet -- --deny warnings
	cargo test $(CARGO_ALL) --quiet
	cargo check --quiet --package hedgerow-io --no-default-features
	for kind in forest gp rvm hybrid neighbors "gp outliers" "gp active" "forest synth"; do cargo check --quiet --package hedgerow --no-default-features --features "$$kind" || exit 1; done
	RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --quiet
	python3 -m compileall -q bench/*.py bench/peers
	cd bench && python3 -m unittest --quiet test_page
	$(MAKE) --no-print-directory test-python
	@if [ -z "$$HEDGEROW_DATA" ]; then echo "note: HEDGEROW_DATA is not set, so tests on the larger data sets were skipped"; fi

.PHONY: test-python
test-python: $(PYTHON_ENV)/ready native ## run the tests of the Python package only
	cargo xtask stubs $(NATIVE) --check
	cd python && .venv/bin/mypy && .venv/bin/mypy tests/typed_usage.py
	cd python && PYTHONPATH=$$PWD .venv/bin/python -m pytest

# Builds the native module and puts it where the package looks for it.
.PHONY: native
native:
	cargo build $(CARGO_ALL) --lib --quiet
	cp $(NATIVE) python/hedgerow/_hedgerow.abi3.so

# What the Python tests need, in an environment of its own; made again when the list changes.
$(PYTHON_ENV)/ready: python/requirements-test.txt
	python3 -m venv --clear $(PYTHON_ENV)
	$(PYTHON_ENV)/bin/pip install --quiet --disable-pip-version-check --requirement python/requirements-test.txt
	touch $@

.PHONY: wheel
wheel: $(PYTHON_ENV)/ready ## build the Python wheel into target/wheels and test it in a fresh environment
	rm -rf target/wheels target/wheel-test
	rm -f python/hedgerow/_hedgerow.abi3.so
	$(PYTHON_ENV)/bin/maturin build --release --manifest-path python/Cargo.toml --out target/wheels
	python3 -m venv target/wheel-test
	target/wheel-test/bin/pip install --quiet --disable-pip-version-check target/wheels/*.whl
	cp -r python/tests/smoke.py target/wheel-test
	cd target/wheel-test && bin/python smoke.py && bin/hedgerow --version
	target/wheel-test/bin/pip install --quiet --disable-pip-version-check --requirement python/requirements-test.txt
	cp -r python/tests python/pyproject.toml target/wheel-test
	cd target/wheel-test && bin/python -m pytest tests

.PHONY: bench
bench: build ## compare with other systems side by side (HEDGEROW_DATA has the data; see bench/README.md)
	cargo build --release --package hedgerow --example latency
	@test -x $(BENCH_ENV)/bin/python || python3 -m venv $(BENCH_ENV)
	@$(BENCH_ENV)/bin/pip install --quiet --requirement bench/requirements.txt
	$(BENCH_ENV)/bin/python bench/run.py $(BENCH_ARGS)

.PHONY: docs
docs: ## write the generated pages and build the API documentation
	cargo xtask docs
	cargo doc --workspace --no-deps
