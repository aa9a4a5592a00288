# Everything happens in .venv; PYTHON names the interpreter that makes it (3.11 or newer).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test check typecheck docs train-reader clean

demo: $(VENV)/installed
	$(BIN)/preflight demo

# In several processes, so that each stays small (tests/conftest.py says how small); all run, whichever fails.
EVALUATION := tests/evaluation
ROOMS := training server browser+cli+mcp graph library models offline+corg+nodes \
  conversation+routing+faults+prompts+state+text
folders = $(addprefix tests/,$(subst +, ,$(1)))
OTHERS := tests $(addprefix --ignore=,$(EVALUATION) $(foreach room,$(ROOMS),$(call folders,$(room))))

test: $(VENV)/installed-for-tests
	@failed=0; for part in "$(EVALUATION)/datasets $(EVALUATION)/harness" $(EVALUATION)/experiments \
	  "$(EVALUATION) --ignore-glob=$(EVALUATION)/*/*" $(foreach room,$(ROOMS),"$(call folders,$(room))") "$(OTHERS)"; do \
	  echo "pytest $$part"; $(BIN)/python -m pytest $$part || failed=1; \
	done; exit $$failed

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
