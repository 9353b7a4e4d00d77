# A fresh machine needs two commands: `make demo` and `make test`. Each sets everything up if that is missing.
.PHONY: setup demo app test test-slow lint format bench docs lock
.DEFAULT_GOAL := help

BIN := .venv/bin
export OPENBLAS_NUM_THREADS ?= 1
export VTK_DEFAULT_OPENGL_WINDOW ?= vtkEGLRenderWindow
export UCX_TLS ?= self,sm,tcp
export WANDB_MODE ?= disabled
export GRADIO_ANALYTICS_ENABLED ?= False
export HF_HUB_OFFLINE ?= 1

help:  ## what there is
	@grep -hE '^[a-z-]+:.*##' Makefile | sed 's/:.*##/\t/'

setup:  ## make .venv from the lock, install Debian packages when root
	@sh assets/setup.sh

demo: setup  ## the main job: from a bearing bracket to a verified, exported design
	@$(BIN)/formgrad run assets/jobs/bracket.yaml --out runs/demo --overwrite

app: setup  ## the web page on http://127.0.0.1:7860
	@$(BIN)/python app.py

test:  ## the tests
	@sh assets/setup.sh chromium
	@$(BIN)/pytest -n 2

test-slow:  ## the long tests too
	@sh assets/setup.sh chromium
	@$(BIN)/pytest -n 2 -m "slow or not slow"

lint: setup  ## style, types, and that imports only go down the house
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports
	@$(BIN)/pyright

format: setup
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format -q .

bench: setup  ## every benchmark against its peer
	@for name in $$($(BIN)/python -m benchmarks --list | cut -d" " -f1); do $(BIN)/python -m benchmarks $$name; done

docs: setup  ## the documentation, in site/
	@$(BIN)/mkdocs build -q --strict

lock:  ## resolve requirements.lock again
	@uv pip compile pyproject.toml --all-extras --group dev --group peers --group docs --python-version 3.12 \
	    --no-emit-index-url --no-header --no-annotate -q -o requirements.lock
