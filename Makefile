# Everything happens in .venv; PYTHON names the interpreter that makes it (3.11 or newer).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test faults bench check typecheck docs train-reader refit clean

demo: $(VENV)/installed
	$(BIN)/preflight demo

# THREADS=postgres, here and for `faults`: all conversations that tests keep are in PostgreSQL (tests/kept_threads.py).
# In several processes, so that each stays small (tests/conftest.py says how small), JOBS at once; all run, whichever fails.
# The longest come first. A name with + is several folders of tests/; "others" is what no part names.
JOBS ?= 2
PARTS := evaluation faults browser+cli+mcp server graph library evaluation/experiments \
  evaluation/datasets+evaluation/harness offline+corg+nodes models training conversation+routing+prompts+state+text others
folders = $(addprefix tests/,$(subst +, ,$(1)))
of_evaluation := tests/evaluation --ignore-glob=tests/evaluation/*/*
of_others := tests $(addprefix --ignore=,$(foreach part,$(PARTS),$(call folders,$(part))))
in_order := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

test: $(VENV)/installed-for-tests
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) $(in_order) $(addprefix test/,$(PARTS))

test/%: $(VENV)/installed-for-tests
	@echo "pytest $*"
	@$(if $(THREADS),PREFLIGHT_TEST_THREADS=$(THREADS)) $(BIN)/python -m pytest $(or $(of_$*),$(call folders,$*))

# The tests that bring faults about, with the counts of docs/RELIABILITY.md; `make test` brings about fewer of each. File by
# file, JOBS at once, the longest first; all run, whichever fails.
LONGEST := load parsers killed_turns disk injection damage killed_ingests mutated_files writers
FAULTS := $(LONGEST) $(filter-out $(LONGEST),$(patsubst tests/faults/test_%.py,%,$(wildcard tests/faults/test_*.py)))

faults: $(VENV)/installed-for-tests
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) $(in_order) $(addprefix faults/,$(FAULTS))

faults/%: $(VENV)/installed-for-tests
	@echo "faults: $*"
	@PREFLIGHT_FAULTS=full $(if $(THREADS),PREFLIGHT_TEST_THREADS=$(THREADS)) $(BIN)/python -m pytest tests/faults/test_$*.py

# Ratios of processor time and of memory (docs/PERFORMANCE.md): retrieval beside other libraries, which are installed into
# .bench; a turn beside a plain LangGraph RAG; cold processes beside LangGraph's import. All run; it fails where a ratio is not
# met. SHORT=1: retrieval beside LangChain alone, as installed for the tests, at 10,000 passages, and fewer turns and starts.
bench: $(VENV)/installed-for-tests
	@failed=0; \
	$(BIN)/python benchmarks/peers.py $(if $(SHORT),--short) $(if $(SIZES),--sizes $(SIZES)) $(if $(DATA),--data $(DATA)) \
	  || failed=1; echo; \
	$(BIN)/python benchmarks/own_cost.py $(if $(SHORT),--turns 10 --without-server) || failed=1; echo; \
	$(BIN)/python benchmarks/cold_start.py $(if $(SHORT),--short) || failed=1; \
	exit $$failed

check: $(VENV)/installed-for-tests typecheck
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python docs/generate.py --check

typecheck: $(VENV)/installed-for-tests
	$(BIN)/mypy -p preflight_rag -p training

docs: $(VENV)/installed-for-tests
	$(BIN)/python docs/generate.py

# preflight_rag/models/reading/reader.onnx anew, from the data sets in the folder DATA (docs/reader.md names them).
train-reader: $(VENV)/installed-for-tests
	$(if $(DATA),,$(error DATA names no folder of data sets: make train-reader DATA=DIR))
	$(BIN)/python -m training.train_reader --data $(DATA)
	$(BIN)/python -m training.calibrate_reader --data $(DATA) --write
	$(BIN)/python -m training.reader_thresholds --data $(DATA)
	$(BIN)/python tests/models/reading/test_reader_determinism.py

# All that depends on the reader's weights, fitted anew, and a report of what changed (training/README.md). READER=FILE: first
# a new reader takes the place of the shipped one. A refit that was cut off goes on; WORK keeps its state, logs and libraries.
WORK ?= .refit
refit: $(VENV)/installed-for-tests
	$(if $(DATA),,$(error DATA names no folder of data sets: make refit DATA=DIR))
	$(BIN)/python -m training.refit --data $(DATA) --work $(WORK) $(if $(READER),--reader $(READER)) \
	  $(foreach name,$(MEASURE),--measure $(name))

clean:
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all]'
	touch $@

$(VENV)/installed-for-tests: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@ $(VENV)/installed
