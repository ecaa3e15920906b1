# The commands of this repository. `make` alone lists them.
# Each verb installs what it needs into .venv; a warm run finds everything in place.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
EXTENSION := python/pennon/_native.abi3.so
SYSTEM := $(shell uname -s)

# Build products stay outside the clone, so that several clones share what they compile.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/pennon/target
export CARGO_TERM_COLOR ?= auto
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The extension uses Python's stable ABI: it is built without asking or linking any interpreter.
export PYO3_NO_PYTHON := 1
export PYO3_BUILD_EXTENSION_MODULE := 1
# Spark's workers run the interpreter that has the package.
export PYSPARK_PYTHON := $(CURDIR)/$(PY)
export PYSPARK_DRIVER_PYTHON := $(CURDIR)/$(PY)

# rustup looks for its toolchains in HOME; with another HOME they are beside the cargo in PATH.
CARGO_BIN := $(dir $(shell command -v cargo 2>/dev/null))
ifneq ($(CARGO_BIN),)
ifeq ($(RUSTUP_HOME)$(wildcard $(HOME)/.rustup),)
ifneq ($(wildcard $(CARGO_BIN)../../.rustup),)
export RUSTUP_HOME := $(abspath $(CARGO_BIN)../../.rustup)
endif
endif
endif

ifeq ($(SYSTEM),Darwin)
LIBRARY := lib_native.dylib
# An extension finds Python's symbols in the interpreter that loads it.
export CARGO_TARGET_AARCH64_APPLE_DARWIN_RUSTFLAGS ?= -Clink-arg=-undefined -Clink-arg=dynamic_lookup
export CARGO_TARGET_X86_64_APPLE_DARWIN_RUSTFLAGS ?= -Clink-arg=-undefined -Clink-arg=dynamic_lookup
else
LIBRARY := lib_native.so
endif

# Cargo tells by the times of files whether a crate is up to date, and knows the crates of a workspace
# by their path within it. Clones that share a build directory would take each other's crates for
# their own, so a clone that follows another one there makes its sources look new.
CLAIM_TARGET = mkdir -p "$$CARGO_TARGET_DIR"; owner="$$CARGO_TARGET_DIR/.pennon-clone"; \
	[ "$$(cat "$$owner" 2>/dev/null)" = '$(CURDIR)' ] || { \
		find rust protos -name '*.rs' -exec touch {} + -o -name '*.proto' -exec touch {} +; \
		echo '$(CURDIR)' > "$$owner"; }

.PHONY: help demo test lint fmt bench docs wheel clean rust extension release-extension clippy

help: ## Show the commands.
	@echo 'make VERB, with VERB one of:'
	@sed -nE 's/^([a-z]+): .*## (.*)/  \1 \2/p' $(firstword $(MAKEFILE_LIST)) | \
		while read -r verb text; do printf '  %-6s %s\n' "$$verb" "$$text"; done

demo: extension ## Take real flight data through Spark, and compare every value with pylance.
	JAVA_HOME="$$(.ci/java-home $(PY))" $(PY) docs/examples/flights.py

test: $(READY) rust ## Run every check: format, lints, types, Rust and Python tests.
	cargo fmt --all --check
	$(PY) -m ruff format --check
	$(PY) -m ruff check
	$(MAKE) clippy
	cargo build --locked --workspace --all-targets
	cargo test --locked --workspace
	$(MAKE) extension
	$(PY) -m mypy
	JAVA_HOME="$$(.ci/java-home $(PY))" $(PY) -m pytest

lint: $(READY) rust ## Run the checks that run no test: format, lints, types.
	cargo fmt --all --check
	$(PY) -m ruff format --check
	$(PY) -m ruff check
	$(MAKE) clippy
	$(PY) -m mypy

fmt: $(READY) rust ## Format Rust and Python, and mend what the linter can mend.
	cargo fmt --all
	$(PY) -m ruff check --fix-only --quiet
	$(PY) -m ruff format

bench: release-extension ## Measure pennon beside pylance and Parquet (ARGS="--quick" or "--sf 0.1").
	$(PY) benches/python/bench.py $(ARGS)

docs: $(READY) rust ## Build the API documentation and collect the pages in docs/_build.
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --exclude pennon-python
	rm -rf docs/_build && mkdir -p docs/_build
	cp -R "$$CARGO_TARGET_DIR/doc" docs/_build/rust
	mkdir docs/_build/docs && cp -R docs/*.md docs/examples docs/_build/docs/
	cp README.md CHANGELOG.md CONTRIBUTING.md LICENSE docs/_build/
	@echo 'docs/_build/README.md is the first page, docs/_build/rust/pennon/index.html the Rust API'

wheel: $(READY) rust ## Build a release wheel in dist/.
	env -u PYO3_NO_PYTHON -u PYO3_BUILD_EXTENSION_MODULE \
		$(VENV)/bin/maturin build --release --locked --out dist
	@ls -l dist

clean: ## Remove what was built or installed here; the shared build directory stays.
	rm -rf $(VENV) dist docs/_build $(EXTENSION) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find python tests benches docs -name __pycache__ -type d -prune -exec rm -rf {} +

# The linter drives the compiler itself here instead of through `cargo clippy`: that one would
# check all dependencies a second time, while this shares what the tests have compiled.
clippy: rust
	CLIPPY_ARGS='-D__CLIPPY_HACKERY__warnings' RUSTC_WORKSPACE_WRAPPER=clippy-driver \
		cargo build --locked --workspace --all-targets

# The extension of the tests: dependencies and profile are those of `cargo test`.
extension: $(READY) rust
	cargo build --locked --package pennon-python
	@cmp -s "$$CARGO_TARGET_DIR/debug/$(LIBRARY)" $(EXTENSION) || \
		install -m 755 "$$CARGO_TARGET_DIR/debug/$(LIBRARY)" $(EXTENSION)

release-extension: $(READY) rust
	cargo build --locked --release --package pennon-python
	@install -m 755 "$$CARGO_TARGET_DIR/release/$(LIBRARY)" $(EXTENSION)

rust:
	@cargo --version >/dev/null 2>&1 || { \
		echo 'Rust is missing: install it from https://rustup.rs and run this again.' >&2; exit 1; }
	@$(CLAIM_TARGET)

# The environment: all development dependencies, and the package itself by its source folder.
$(READY): pyproject.toml .ci/requirements
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
		echo 'Python 3.10 or newer is needed; name one with PYTHON=/path/to/python3' >&2; exit 1; }
	@[ -x $(PY) ] || $(PYTHON) -m venv $(VENV) || { \
		echo 'Python cannot make environments; on Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }
	$(PY) .ci/requirements dev | $(PY) -m pip install --quiet --requirement /dev/stdin
	@$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' | \
		{ read -r site; echo '$(CURDIR)/python' > "$$site/pennon-source.pth"; }
	@touch $@
