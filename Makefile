# The two commands of the README, and what they are made of.
.DEFAULT_GOAL := help
.PHONY: help setup xtask demo test check soak fmt clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

setup: ## install what the project needs (apt, cargo, kernels for the lab); safe to repeat
	tools/setup

xtask: # apart, since the alias is quiet
	@cargo build --locked --workspace --bin xtask

demo: setup xtask ## the main job on real input: a table and a picture under out/demo
	cargo xtask demo

test: setup xtask ## every test, and check, with the time per stage
	cargo xtask test

check: setup xtask ## formatting, lints, and the rules of the house (layers.toml)
	cargo xtask check

soak: setup xtask ## the long runs: figures go to out/soak
	cargo xtask soak

fmt: ## format everything
	cargo fmt --all

clean: ## remove what was built
	cargo clean
	rm -rf out
