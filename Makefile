# The commands people need. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
HEDGEROW := target/release/hedgerow
BENCH_ENV := bench/.venv

.PHONY: help
help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

.PHONY: build
build: ## build the hedgerow program into target/release
	cargo build --release --package hedgerow-cli

.PHONY: run
run: build ## learn the handwritten digits that ship with the project, online, and write a report
	$(HEDGEROW) demo --dir out

.PHONY: test
test: ## run every check and test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features --quiet -- --deny warnings
	cargo test --workspace --all-features --quiet
	cargo check --quiet --package hedgerow-io --no-default-features
	cargo check --quiet --package hedgerow --no-default-features
	RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --quiet
	python3 -m compileall -q bench/*.py bench/peers
	@if [ -z "$$HEDGEROW_DATA" ]; then echo "note: HEDGEROW_DATA is not set, so tests on the larger data sets were skipped"; fi

.PHONY: bench
bench: build ## compare with other systems side by side (HEDGEROW_DATA has the data; see bench/README.md)
	@test -x $(BENCH_ENV)/bin/python || python3 -m venv $(BENCH_ENV)
	@$(BENCH_ENV)/bin/pip install --quiet --requirement bench/requirements.txt
	$(BENCH_ENV)/bin/python bench/run.py $(BENCH_ARGS)

.PHONY: docs
docs: ## write the generated pages and build the API documentation
	cargo xtask docs
	cargo doc --workspace --no-deps
