# `make` lists what there is to make. Nothing here takes a fixed port or leaves a process running.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Envoys: the one that is run by default, the oldest that is supported, and those between.
ENVOY ?= 1.40.0
ENVOY_OLDEST := 1.36.4
# The wheel of 1.38.3 was built without V8, so its place is taken by the release before.
ENVOY_BETWEEN := 1.37.0 1.38.2 1.39.3

CARGO := cargo
WASM_TARGET := wasm32-wasip1
RUNNER := wasm-bindgen-test-runner

# End-to-end tests against Envoy $(1).
define e2e
	binary=$$(scripts/envoy $(1)); \
	echo "end to end, Envoy $(1)"; \
	TIDEGATE_ENVOY=$$binary $(CARGO) test -p tidegate-e2e -- --show-output --test-threads $(E2E_THREADS) $(call keep,e2e-$(1))
endef

# These tests wait for Envoys more than they work.
E2E_THREADS ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

# Shows what a run of tests says, and keeps it for the conformance report.
RESULTS := target/test-results
keep = 2>&1 | (mkdir -p $(RESULTS) && tee $(RESULTS)/$(1).log)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: need need-demo
need: ## Name what this machine lacks
	@scripts/need

# Before the build, which takes minutes.
need-demo:
	@scripts/need cargo wasm envoy

.PHONY: demo run
demo: need-demo build ## Show the module at work in a real Envoy
	@$(CARGO) run -q -p tidegate-e2e --bin demo

run: need-demo build ## The same, and keep it up until ctrl-c
	@$(CARGO) run -q -p tidegate-e2e --bin demo -- --keep

.PHONY: build build-test
build: ## Build dist/tidegate.wasm, and dist/tidegate, the tool, with it inside
	@scripts/need cargo wasm
	$(CARGO) build --release --target $(WASM_TARGET) -p tidegate-edge --target-dir target
	@scripts/install-module target tidegate
	TIDEGATE_ENGINE=dist/tidegate.wasm $(CARGO) build --profile tool -p tidegate-cli --target-dir target
	@install -m 755 target/tool/tidegate dist/tidegate.next && mv dist/tidegate.next dist/tidegate

build-test: ## Build dist/tidegate-test.wasm, with the switches that tests need
	@scripts/need cargo wasm
	$(CARGO) build --release --target $(WASM_TARGET) -p tidegate-edge --features test-switches --target-dir target/test-switches
	@scripts/install-module target/test-switches tidegate-test

.PHONY: test test-core test-cli test-wasm test-e2e test-matrix
test: need lint test-core test-wasm build build-test test-cli test-peers policies rules ## Run every test: lint, core, wasm, command line, policies, and end to end on the newest and oldest Envoy
	@$(MAKE) test-e2e
	@$(MAKE) test-e2e ENVOY=$(ENVOY_OLDEST)

test-core: ## Test the core natively
	@scripts/need cargo
	$(CARGO) test -p tidegate-core --all-features $(call keep,core)
	$(CARGO) test -p tidegate-properties -p tidegate-hostile -p tidegate-incidents -p tidegate-clients

test-cli: build ## Test the command line as a process
	@scripts/need cargo
	$(CARGO) test -p tidegate-cli $(call keep,cli)

.PHONY: policies
policies: build ## Lint and test every policy in policies/, and pack them into dist/policies/
	@dist/tidegate lint policies/*/
	@dist/tidegate test policies
	@mkdir -p dist/policies
	@for policy in policies/*/; do \
		dist/tidegate pack $$policy -o dist/policies/$$(basename $$policy).wasm; \
	done

test-wasm: ## Run the core's table of decisions as wasm, under node
	@scripts/need cargo wasm node
	@runner=$$(scripts/wasm-bindgen-runner); \
	CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER=$$runner \
	$(CARGO) test -p tidegate-core --target wasm32-unknown-unknown --test table

test-e2e: build build-test ## Test end to end (ENVOY=1.40.0)
	@scripts/need envoy
	@$(call e2e,$(ENVOY))

test-matrix: build build-test ## Test end to end on every Envoy that is supported
	@scripts/need envoy
	@for version in $(ENVOY) $(ENVOY_BETWEEN) $(ENVOY_OLDEST); do \
		$(MAKE) test-e2e ENVOY=$$version; \
	done

.PHONY: conformance conformance-check
conformance: build build-test ## Run the tests of every statement, print which of them hold it, and write docs/conformance.md
	@scripts/need cargo envoy
	@TIDEGATE_ENVOY=$$(scripts/envoy $(ENVOY)) $(CARGO) run -q -p tidegate-conformance

conformance-check: ## The same of the runs that `make test` made: no test runs again, and docs/conformance.md has to be as it is
	@scripts/need cargo
	$(CARGO) test -q -p tidegate-conformance
	@$(CARGO) run -q -p tidegate-conformance -- --check --from $(RESULTS)/core.log $(RESULTS)/cli.log $(RESULTS)/e2e-$(ENVOY).log

.PHONY: rules compose-test
rules: ## Check and test the Prometheus rules, and check the Grafana dashboard
	@scripts/need promtool
	@scripts/rules

compose-test: build ## Bring up envoy/docker-compose.yaml, send requests through it, take it down
	@scripts/compose-test

.PHONY: lint
lint: ## Check format and lints
	@scripts/need cargo
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

.PHONY: bench bench-core
bench-core: ## Time one decision natively, beside the governor crate
	@scripts/need cargo
	$(CARGO) bench -p tidegate-core

bench: build ## Compare CPU per request of Envoys with and without the module (BENCH="--rounds 100 --detail")
	@scripts/need envoy
	$(CARGO) build --release -q --target $(WASM_TARGET) -p tidegate-bench-noop -p tidegate-bench-naive --target-dir target
	TIDEGATE_ENVOY=$$(scripts/envoy $(ENVOY)) $(CARGO) run --release -q -p tidegate-e2e --bin bench -- $(BENCH)

.PHONY: incidents
incidents: build build-test ## Replay real outages beside the guards that failed then; target/incidents/index.html (FULL=1, SEED=7)
	@scripts/need cargo envoy
	@TIDEGATE_ENVOY=$$(scripts/envoy $(ENVOY)) $(CARGO) run -q -p tidegate-incidents -- $(if $(FULL),--full) $(if $(SEED),--seed $(SEED))

.PHONY: bench-peers test-peers
bench-peers: build ## Compare with other limiters, and with other middleware for idempotency keys, in one run (PEERS="--quick")
	@scripts/need envoy peers
	$(CARGO) build --release -q -p tidegate-bench-peers
	TIDEGATE_ENVOY=$$(scripts/envoy $(ENVOY)) target/release/bench-peers $(PEERS)

test-peers: build ## Test that each limiter of bench-peers still starts and limits
	@scripts/need envoy
	TIDEGATE_ENVOY=$$(scripts/envoy $(ENVOY)) $(CARGO) test -p tidegate-bench-peers

.PHONY: starts
starts: build ## Measure how long an Envoy takes to start, with modules and without
	@scripts/need envoy
	$(CARGO) build --release -q --target $(WASM_TARGET) -p tidegate-bench-noop -p tidegate-bench-naive --target-dir target
	TIDEGATE_ENVOY=$$(scripts/envoy $(ENVOY)) $(CARGO) run --release -q -p tidegate-e2e --bin bench -- --starts 15

.PHONY: sizes
sizes: build ## Measure what an entry of each kind takes in Envoy's memory, and a worker: docs/operations.md
	@scripts/need envoy
	TIDEGATE_ENVOY=$$(scripts/envoy $(ENVOY)) $(CARGO) test -q -p tidegate-e2e --test sizes -- --include-ignored --nocapture --test-threads 1

# Hostile input: docs/hostile.md.
FUZZ_SECONDS ?= 300
SOAK_SECONDS ?= 60
BREAKS := once scope limits role refuse vm envoy memory counts

.PHONY: fuzz soak soak-broken
fuzz: ## Feed what reads hostile bytes with them (FUZZ_SECONDS=300 for each property)
	@scripts/need cargo fuzz
	@scripts/fuzz $(FUZZ_SECONDS)

soak: build ## Send valid and hostile requests at random to an Envoy with everything on (SOAK_SECONDS=60 SOAK_SEED=...)
	@scripts/need envoy
	TIDEGATE_ENVOY=$$(scripts/envoy $(ENVOY)) $(CARGO) run -q -p tidegate-hostile -- --seconds $(SOAK_SECONDS) $(if $(SOAK_SEED),--seed $(SOAK_SEED))

soak-broken: build build-test ## The same with one thing set wrong at a time: each run has to fail
	@scripts/need envoy
	@$(CARGO) build -q -p tidegate-hostile
	@scripts/soak-broken $$(scripts/envoy $(ENVOY)) $(BREAKS)

.PHONY: clients
clients: build ## Let clients that others wrote meet our refusals (CLIENTS=--update writes docs/clients.md anew)
	@scripts/need envoy clients
	TIDEGATE_ENVOY=$$(scripts/envoy $(ENVOY)) $(CARGO) run -q -p tidegate-clients -- $(CLIENTS)

.PHONY: schema clean
schema: ## Write policies/schema.json anew
	@scripts/need cargo
	UPDATE_SCHEMA=1 $(CARGO) test -q -p tidegate-core --test policy_schema

clean: ## Remove what was built or brought
	rm -rf target dist .envoy
