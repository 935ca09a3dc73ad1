# SPDX-License-Identifier: Apache-2.0
# Two commands matter: `make paper` and `make test`. Both set everything up first.

PROFILE ?= quick
SEED ?=
EXPERIMENTS ?=
REV ?=
BENCH ?= all
LAB_ARGS ?=
AUDIT_SERVICE ?= pypi

# Kernels and tests start many Pythons; without byte code each would compile pandas and the rest again.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv/bin
# keys for the connections between JupyterLab and its kernels, which are TCP ports of this machine
# setup/jupyter has its settings: nothing is asked of other servers, neither news nor newer releases
LAB = JUPYTER_CONFIG_PATH="$(CURDIR)/setup/jupyter:$$JUPYTER_CONFIG_PATH" \
	$(VENV)/jupyter lab --KernelManager.transport_encryption=auto $(if $(filter 0,$(shell id -u)),--allow-root)
# asked for only by rules that use it
FIND_PYTHON = PYTHON="$(PYTHON)" sh setup/find_python.sh
SETUP = python=$$($(FIND_PYTHON)) || { echo "Python >= 3.11 is required to run anything here; install it with: apt-get install -y python3 (Debian 12 or newer), or conda env create --file environment.yml" >&2; exit 2; }; \
	PYTHONDONTWRITEBYTECODE=1 "$$python" -m setup
# fails for a package that the service does not know, and where it cannot be reached
AUDIT = .tools/audit/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off \
	--vulnerability-service $(AUDIT_SERVICE) $(foreach lock,requirements.lock setup/pins/build.txt setup/pins/uv.txt,-r $(lock))
PARAMETERS = -p profile $(PROFILE) $(if $(SEED),-p seed $(SEED)) $(if $(EXPERIMENTS),-p experiments "$(EXPERIMENTS)") $(if $(filter command,$(origin HOST)),-p host "$(HOST)")

.DEFAULT_GOAL := help
.PHONY: help setup generators toolchains paper site test test-fast test-all test-kubernetes bench lab workshop workshop-check workshop-notebooks slides check clean kick-tires arxiv diff data-package audit

help:  ## print this table
	@echo "make paper     set up, measure, execute the notebooks, build paper/main.pdf and paper/supplement.pdf"
	@echo "make site      the results page results/site/index.html; from the bundled data where nothing was published"
	@echo "make test      set up and run the tests"
	@echo "make test-fast only those that start no service"
	@echo "make test-all  all tests, simulations at full size"
	@echo "make bench     benchmarks of the harness; BENCH=\"NAMES\": only these"
	@echo "make test-kubernetes  tests in the cluster that KUBECONFIG names"
	@echo "make setup     only set up, and print what is here and what is missing"
	@echo "make generators  build more load generators: k6 and vegeta with Go, oha with cargo, wrk2 and metronome with cc"
	@echo "make toolchains  fetch other releases of Go and of the JDK, for the experiments that compare them"
	@echo "make lab       JupyterLab in the environment of this project"
	@echo "make workshop  JupyterLab at the exercise notebooks"
	@echo "make workshop-check  is this computer ready for the workshop? prints a short code, the same on all"
	@echo "make workshop-notebooks  write the students' notebooks of the workshop from the teacher's, docs/workshop"
	@echo "make slides    a page for each unit of the workshop with its figures, results/workshop/slides/*.html"
	@echo "make clean     remove what was built; recorded data, tools and the environment stay"
	@echo "make kick-tires  each part once, in minutes: PASS or FAIL; then ARTIFACT.md"
	@echo "make arxiv     sources of the paper as one archive, built in an empty folder"
	@echo "make diff REV=COMMIT  what changed in the paper's text since a commit"
	@echo "make data-package  bundled sessions with tables, schema, metadata and checksums"
	@echo "make audit     compare the locked packages with known vulnerabilities, by pip-audit"
	@echo "make help      this table"
	@echo
	@echo "PROFILE=smoke|quick|full|sample  how much is measured (now: $(PROFILE)); sample measures nothing"
	@echo "SEED=N                           order of the trials and of every resampling"
	@echo "EXPERIMENTS=a,b                  only these experiments"
	@echo "HOST=name                        host that runs the services: local, or a name of hosts.toml"
	@echo "PYTEST=\"WORDS\"                   words for pytest"
	@echo "LAB_ARGS=\"WORDS\"                 words for JupyterLab, such as --no-browser"
	@echo "WRK2_SOURCE=FOLDER               source of wrk2 for make generators; without it, by git"
	@echo "YES=1                            install missing packages without asking"

setup:
	@$(SETUP)

generators:
	@$(SETUP) --for generators

toolchains:
	@$(SETUP) --for toolchains

paper:
	@$(SETUP) --for paper --profile $(PROFILE) --brief
	@mkdir -p results
	REMATCH_COMMAND="make paper PROFILE=$(PROFILE)" $(VENV)/papermill notebooks/run_all.ipynb results/run_all.ipynb --engine rematch --log-output $(PARAMETERS)
	@test -s paper/main.pdf || { echo "the notebooks ended well but paper/main.pdf is not there; see results/run_all.ipynb" >&2; exit 1; }
	@echo "the paper: $(CURDIR)/paper/main.pdf"

site:
	@$(SETUP) --for lab --brief
	@REMATCH_COMMAND="make site" $(VENV)/rematch site

# two workers that compute, and three that work while those wait for processes, databases and the disk;
# a file at a time, so that what its tests share is made once
RUN_TESTS = env -u PYTHONPATH $(VENV)/python -m pytest -q -rs -n 5 --dist loadfile --no-loadscope-reorder --durations 25 --durations-min 2

test:
	@$(SETUP) --for test --brief
	@$(RUN_TESTS) $(PYTEST)

test-fast:
	@$(SETUP) --for test --brief
	@$(RUN_TESTS) -n 2 $(addprefix harness/tests/,sources/test_python.py $(addprefix analysis/,attribution audit load warmup) audit compare definitions evidence model) $(PYTEST)

test-all:
	@$(SETUP) --for test --brief
	@REMATCH_LONG_TESTS=1 $(RUN_TESTS) $(PYTEST)

test-kubernetes:
	@test -r "$(KUBECONFIG)" || { echo "make test-kubernetes runs in a cluster of which this machine is the node: set KUBECONFIG to its kubeconfig (docs/kubernetes.md)" >&2; exit 2; }
	@$(SETUP) --for test --brief
	@REMATCH_KUBERNETES_TESTS=1 $(VENV)/python -m pytest -n 0 harness/tests/launchers/test_kubernetes.py $(PYTEST)

bench:
	@$(SETUP) --for test --brief
	@$(VENV)/python -m harness.tests.benchmarks $(BENCH)

lab:
	@$(SETUP) --for lab --brief
	$(LAB) --LabApp.default_url=/lab/tree/notebooks $(LAB_ARGS)

workshop:
	@$(SETUP) --for workshop --brief
	$(LAB) --LabApp.default_url=/lab/tree/notebooks/workshop $(LAB_ARGS)

workshop-check:
	@$(SETUP) --for workshop --brief
	@$(VENV)/python -m harness.questions.workshop

workshop-notebooks:
	@$(SETUP) --for workshop --brief
	@$(VENV)/jupyter nbconvert --to notebook --output-dir notebooks/workshop --ClearOutputPreprocessor.enabled=True \
		--TagRemovePreprocessor.enabled=True \
		$(foreach tag,solution teacher slide,--TagRemovePreprocessor.remove_cell_tags=$(tag)) \
		--log-level WARN docs/workshop/*.ipynb

slides:
	@$(SETUP) --for workshop --brief
	@$(VENV)/jupyter nbconvert --execute --to html --embed-images --no-prompt --output-dir results/workshop/slides \
		$(foreach script,mathjax require_js jquery,--HTMLExporter.$(script)_url=data:text/javascript,) \
		--TagRemovePreprocessor.enabled=True \
		$(foreach tag,solution teacher checkpoint,--TagRemovePreprocessor.remove_cell_tags=$(tag)) \
		$(foreach tag,parameters setup,--TagRemovePreprocessor.remove_input_tags=$(tag)) \
		--ExecutePreprocessor.timeout=900 --log-level WARN docs/workshop/*.ipynb

kick-tires:
	@$(SETUP) --for kick-tires --brief
	@sh setup/kick_tires.sh

arxiv:
	@$(SETUP) --for paper --profile sample --brief
	@test -s paper/generated/values.tex || $(MAKE) --no-print-directory paper PROFILE=sample
	@$(VENV)/rematch paper
	@mkdir -p results
	@sh setup/arxiv.sh paper results/arxiv.tar.gz

diff:
	@test -n "$(REV)" || { echo "make diff: name the commit to compare with: make diff REV=COMMIT" >&2; exit 2; }
	@git --no-pager diff --word-diff=plain "$(REV)" -- paper

data-package:
	@$(SETUP) --for lab --brief
	@$(VENV)/rematch dataset

# pip-audit in an environment of its own, each file by its hash
.tools/audit/bin/pip-audit: setup/pins/audit.txt
	@python=$$($(FIND_PYTHON)) && "$$python" -m venv --clear .tools/audit
	@.tools/audit/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r $<

audit: .tools/audit/bin/pip-audit
	@$(AUDIT)

# for one release
sbom:
	@echo "make sbom is gone; the same by: pip install cyclonedx-bom && cyclonedx-py requirements requirements.lock" >&2; exit 2

check: setup
	@$(VENV)/rematch check

clean:
	rm -rf results paper/generated paper/main.pdf paper/supplement.pdf data/processed
	rm -rf .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	rm -f $(foreach end,aux bbl blg fdb_latexmk fls log out toc,paper/main.$(end) paper/supplement.$(end))
	rm -rf services/*/*/target
