# Needs git, make and Python 3.11 or newer; every target makes the environment it runs in.
PYTHON ?= python3
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: repro test check format bench clean

repro: .venv/installed
	dvc repro
	@echo "The report is in $(CURDIR)/reports/index.html"

test: .venv/installed
	pytest

check: .venv/installed
	ruff check .
	ruff format --check .
	codespell
	pyright
	lint-imports
	python -m pipeline check

format: .venv/installed
	ruff check --fix .
	ruff format .

bench: .venv/installed
	python -m bench

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv cache data/prepared
