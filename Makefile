PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Beside 18, which all tests use: 16 comes with the same wheel, 15 with Debian 12 (postgresql-15).
POSTGRES_OTHERS ?= 15 16

.PHONY: help demo test torture bench check fix lock audit golden catalogs screens clean

help: ## print the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile

$(BIN)/pbem: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable .
	touch $(BIN)/pbem

$(VENV)/tests: $(BIN)/pbem
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $(VENV)/tests

demo: $(BIN)/pbem ## play Biscuit from a mailbox on this machine
	@$(BIN)/pbem demo

test: $(VENV)/tests ## run all tests
	$(BIN)/pytest -n auto --dist worksteal

torture: $(VENV)/tests ## the long runs: processes killed, disks full, moves at once; 200 games over 60 days, 2,000 letters after an outage, 10,000 sign-ins; an hour
	PYTHONPATH=. $(BIN)/python -m torture all
	PYTHONPATH=. $(BIN)/python torture/sixty_days.py
	RELAY_QUEUE=2000 $(BIN)/pytest -q tests/faults/test_real_relay.py -k outage
	REALLY_EMPTY=1 $(BIN)/pytest -q tests/server/test_packages.py
	ATTEMPTS=10000 $(BIN)/pytest -q tests/server/test_limits.py -k ten_thousand
	for version in $(POSTGRES_OTHERS); do \
		POSTGRES=$$version $(BIN)/pytest -q -n auto --dist worksteal -k postgresql tests/server tests/faults || exit 1; \
		POSTGRES=$$version PYTHONPATH=. $(BIN)/python -m torture kill-postgres || exit 1; \
	done

$(VENV)/bench: $(VENV)/tests
	$(BIN)/pip install --quiet --editable '.[test,bench]'
	touch $(VENV)/bench

bench: $(VENV)/bench ## measure the engine, moves, letters, pictures, pages and how replies are taken, beside bars
	PYTHONPATH=. $(BIN)/python -m bench all --rounds 3 --seconds 1

check: $(VENV)/tests ## format, lint, types, layers, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict engine pbem bench torture
	PYTHONPATH=. $(BIN)/lint-imports
	$(BIN)/pytest -n auto --dist worksteal

fix: $(VENV)/tests ## format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(BIN)/pbem ## pin what a host installs, with hashes, in requirements.lock
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
		--upgrade --no-header --no-annotate --no-emit-index-url --output-file requirements.lock

audit: $(BIN)/pbem ## ask a service about known weaknesses of what the lock file pins
	$(BIN)/pip install --quiet pip-audit
	$(BIN)/pip-audit --require-hashes --disable-pip -r requirements.lock

golden: $(VENV)/tests ## write the playthroughs anew; read their diff before you commit it
	PYTHONPATH=.:tests $(BIN)/python tests/playthrough.py

catalogs: $(VENV)/tests ## collect the words for people and compile their translations
	$(BIN)/pybabel -q extract -F babel.cfg -k N_ -k say -k 'count:2,3' --no-location --sort-output --project=pbem -o pbem/translations/messages.pot .
	$(BIN)/pybabel -q update --no-fuzzy-matching --ignore-obsolete --no-wrap -i pbem/translations/messages.pot -d pbem/translations
	sed -i -e '/^"\(PO-Revision-Date\|Last-Translator\|Report-Msgid-Bugs-To\)/d' -e 's/^"POT-Creation-Date:.*/"POT-Creation-Date: 2026-12-01 00:00+0000\\n"/' pbem/translations/messages.pot pbem/translations/*/LC_MESSAGES/messages.po
	$(BIN)/pybabel -q compile -d pbem/translations

screens: $(VENV)/tests ## take pictures of the pages into .screens/, to be looked at
	PYTHONPATH=.:tests $(BIN)/python tests/browser/screens.py

clean: ## remove what was installed and made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
