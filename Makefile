# Everything a fresh machine needs is Python and make.
#   make demo    evaluate the bundled model on the bundled benchmark
#   make kinds   the same model on one small file of every kind of benchmark
#   make check   lint, types and the unit tests, about three minutes
#   make test    pass the tests: unit, system, and a tenth of the extended ones, drawn by the commit
#   make test-all       every test there is; goes on where it stopped
#   make test-release   the slow ones that only a release runs
#   make intake     what score says of every kind of file is what a hub says, for every benchmark
#   make paper-rows     what a user types for each row of the papers (docs/papers.md)
#   make test-pinned    pass the tests with the pinned packages of constraints/tests.txt
#   make test-lowest    the tests of the base install with the lowest versions that are allowed
#   make install     Snellen with the extras hf and api into .venv; make install-all: all packages
#   make package wheels and source distributions, checked, installed and used in new environments
#   make supply  licences, a bill of materials, and known vulnerabilities of what is installed
#   make simulate   simulate every statistical procedure (up to two hours) and write docs/statistics.md
#   make taskmap the task map of 36 drawn tasks and that of its control (40 minutes); goes on where it stopped
#   make perf-compare BASE=COMMIT   what HEAD costs beside a commit, as ratios with intervals
#   make gpu MODEL=ORG/NAME the first hour on a GPU: doctor, parity, rates, placement, on one page
#   make small-judge   small language models as MMBench's second step and as judges (docs/evidence.md)
#   make fuzz    changed files for every reader, a minute each; the corpus grows from run to run
#   make differential   other people's scorers judge our replies anew, given their checkouts
#   make bridge  VLMEvalKit's benchmarks over the bridge against VLMEvalKit by itself, given both
#   make schemas    published descriptions and client packages judge every request anew, given both
PYTHON ?= python3
# Installed first, so that no other package pulls in another build of it.
TORCH ?= torch==2.13.0
VENV ?= .venv
BIN := $(VENV)/bin
# The tests start thousands of processes: none compiles the code anew, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
CHROMIUM := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
JAVA := $(shell command -v java)
NGINX := $(shell PATH=$$PATH:/usr/sbin command -v nginx)
CADDY := $(shell command -v caddy)

.PHONY: demo kinds check test test-all announce install install-all test-release intake paper-rows test-pinned test-lowest constraints package supply simulate taskmap fuzz differential bridge gpu schemas small-judge lint types docs format perf perf-peers perf-scale perf-compare browser java proxies clean

demo: $(VENV)/demo.ready
	$(BIN)/snellen run -m snellen/tiny -b eyechart --circular

kinds: $(VENV)/dev.ready
	$(BIN)/python docs/every_kind.py every-kind

# Whole files in turn: what a file sets up once is set up once. Many tests wait for a process, a
# server or a browser: three workers keep two cores busy. Workers with two threads each would wait
# for each other.
WORKERS ?= 3
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

# Unit tests start no process, open no port and import no torch (tests/kinds.py).
check: lint types
	$(PYTEST) -m unit

test: announce $(VENV)/dev.ready browser java
	$(PYTEST) --extended 10%

test-all: announce $(VENV)/dev.ready browser java proxies
	$(PYTEST) --resume build/passed-tests.txt -m "release or not release"

# Before the first long step: what will be installed, and how long it takes.
announce:
ifeq ($(wildcard $(VENV)/dev.ready),)
	@echo "installing PyTorch and the packages of the tests into $(VENV): 4 GB, a few minutes"
endif
ifneq ($(and $(CHROMIUM),$(JAVA)),)
else
	@echo "some tests need Chromium and a Java runtime; as root on Debian they are installed by apt-get now"
endif
	@echo "the tests take about a quarter of an hour on two cores"

test-release: $(VENV)/dev.ready browser java proxies
	$(PYTEST) -m release

intake: $(VENV)/dev.ready
	$(PYTEST) -m "release or not release" packages/hub/tests/test_intake_matrix.py

paper-rows: $(VENV)/dev.ready
	$(PYTEST) -m "row or release" tests/paper_rows

# The same packages to the byte as when the list was written; a release runs it.
test-pinned: browser java
	$(PYTHON) -m venv .venv-pinned
	.venv-pinned/bin/python -m pip --disable-pip-version-check -q install $(TORCH)
	.venv-pinned/bin/python -m pip --disable-pip-version-check -q install --require-hashes -r constraints/tests.txt
	.venv-pinned/bin/python -m pip --disable-pip-version-check -q install --no-deps -e . -e './packages/curate[ocr]' -e ./packages/hub
	OMP_NUM_THREADS=1 .venv-pinned/bin/python -m pytest -n $(WORKERS) --dist loadfile

# What pyproject.toml allows as the oldest works, without PyTorch and datasets, which the tests left
# out need; the rotated video is made by a newer PyAV than its reader needs.
LOWEST := tests/core tests/data tests/extract tests/scoring tests/stats tests/store tests/remote \
  --ignore tests/scoring/test_meteor.py --ignore tests/data/test_hushed_bars.py --ignore tests/data/test_published_sources.py \
  --ignore tests/data/test_typed_data.py --ignore tests/data/test_lmms_eval_tasks.py \
  --ignore tests/remote/test_ranking_runs.py --ignore tests/remote/test_remote_ranking.py \
  --deselect tests/data/test_video.py::test_a_rotated_video_is_upright
test-lowest: $(VENV)/bin/python
	$(PIP) install uv
	$(BIN)/uv -q venv --clear --python $(BIN)/python .venv-lowest
	$(BIN)/uv -q pip install --python .venv-lowest/bin/python --resolution lowest-direct -e '.[api,maths,video]'
	$(BIN)/uv -q pip install --python .venv-lowest/bin/python pytest pytest-timeout pytest-xdist hypothesis psutil scipy statsmodels num2words
	OMP_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -n $(WORKERS) --dist loadfile $(LOWEST)

constraints: $(VENV)/bin/python
	$(PIP) install uv
	$(BIN)/python constraints/write.py $(TORCH)

# Needs the network: the oldest and the newest dependencies are installed into new environments.
package: $(VENV)/bin/python
	$(PIP) install uv
	$(BIN)/python release/package.py --uv $(BIN)/uv

# Of the environment that the tests use. The list of vulnerabilities comes from the network: where
# it cannot be reached, the last command says so.
supply: $(VENV)/dev.ready
	$(PYTHON) -m venv .venv-supply
	.venv-supply/bin/python -m pip --disable-pip-version-check -q install cyclonedx-bom pip-licenses pip-audit
	mkdir -p build
	.venv-supply/bin/cyclonedx-py environment --of JSON -o build/sbom.json $(BIN)/python
	.venv-supply/bin/pip-licenses --python $(BIN)/python --format=markdown --with-urls --output-file build/licences.md
	@echo "build/sbom.json and build/licences.md are written"
	.venv-supply/bin/pip-audit --path "$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')" --skip-editable --strict \
	  || { echo "pip-audit found something, or could not reach the list of vulnerabilities: see above"; exit 1; }

simulate: $(VENV)/dev.ready
	OMP_NUM_THREADS=1 $(BIN)/python -m simulations --jobs 2; missed=$$?; \
	$(BIN)/python -m simulations --page && exit $$missed

# 144 vectors, each kept as soon as it is trained; with SEEDS=3 three times as many. Over the
# machines of a Ray cluster: make taskmap TASKMAP='--executor ray:replicas=4'
SAMPLES ?= 400
SEEDS ?= 1
CONTROL ?= wrong-image
taskmap: $(VENV)/dev.ready
	mkdir -p taskmap
	$(BIN)/python -m training.drawn_tasks.write --samples $(SAMPLES) --out taskmap/drawn-tasks.tsv
	$(BIN)/snellen taskmap -m snellen/tiny-early -b mmt-bench --data taskmap/drawn-tasks.tsv --tasks halves=yes \
	  --map seeds=$(SEEDS),against=$(CONTROL) --tuning learning_rate=3e-4 --out taskmap $(TASKMAP)
	$(BIN)/python -m training.drawn_tasks.check taskmap/taskmap.json

# With atheris (the extra "fuzz") inputs are led by what they reach, otherwise changed at random.
FUZZ_SECONDS ?= 60
FUZZ_CORPUS ?= fuzz-corpus
fuzz: $(VENV)/dev.ready
	-$(PIP) install -e '.[fuzz]'
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) --corpus $(FUZZ_CORPUS) $(FUZZ)

# Other people's scorers judge the replies of tests/differential anew: SNELLEN_CHECKOUTS names the folder of
# their repositories, each at its commit, SNELLEN_ORACLE_PYTHON a Python with their dependencies. With SEED=7
# other hostile replies are drawn, and both sides judge them; nothing is stored.
differential: $(VENV)/dev.ready
	$(BIN)/python -m tests.differential $(if $(SEED),--seed $(SEED))

# SNELLEN_VLMEVALKIT_CHECKOUT and SNELLEN_VLMEVALKIT_PYTHON name the tool and the Python of its environment; so
# do SNELLEN_LMMS_EVAL_CHECKOUT and _PYTHON, and SNELLEN_INSPECT_PYTHON. TASKS='POPE|MME' tries these alone.
bridge: $(VENV)/dev.ready
	$(BIN)/python -m tests.bridge.proof $(if $(TASKS),'$(TASKS)')
	$(BIN)/python -m tests.bridge.proof_lmms_eval $(if $(TASKS),'$(TASKS)')
	$(BIN)/python -m tests.bridge.proof_inspect $(if $(TASKS),'$(TASKS)')

# Every body of a request, by the descriptions and the client packages of the providers (tests/schemas):
# SNELLEN_CHECKOUTS names the folder of their repositories, SNELLEN_ORACLE_PYTHON a Python with the packages
# of tests/schemas/packages.txt. SCHEMAS=--write stores the verdicts, and merges the evidence of the providers.
schemas: $(VENV)/dev.ready
	$(BIN)/python -m tests.schemas $(SCHEMAS)
	$(if $(findstring --write,$(SCHEMAS)),$(BIN)/python docs/provider_evidence.py)

# A compiler and CMake are needed: llama.cpp is built once. GOLDEN is the folder of recorded replies; figures of
# sets that it does not have are kept.
GOLDEN ?= $(or $(SNELLEN_GOLDEN),tests/golden)
small-judge: $(VENV)/dev.ready
	$(BIN)/python docs/small_models.py $(GOLDEN)
	$(BIN)/python docs/generate.py

lint: $(VENV)/dev.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.ready
	$(BIN)/mypy

docs: $(VENV)/dev.ready
	$(BIN)/python docs/generate.py --check
	$(BIN)/mkdocs build --strict

format: $(VENV)/dev.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

perf: $(VENV)/dev.ready
	$(BIN)/python -m benchmarks.perf --json benchmarks/perf/results.json; missed=$$?; \
	$(BIN)/python -m benchmarks.perf --page && exit $$missed

# A lab's year beside DuckDB: 12,000 runs with 30 million samples, about 22 GB; SIZE=small is a sixth of the runs.
# And stores of replies of 0.2 and 1 GB; STORE=full: of 1, 5 and 20 GB.
SIZE ?= full
STORE ?= small
perf-scale: $(VENV)/dev.ready
	$(PIP) install --quiet duckdb
	$(BIN)/python -m benchmarks.perf year --size $(SIZE) --json benchmarks/perf/results.json; missed=$$?; \
	$(BIN)/python -m benchmarks.perf store-size --size $(STORE) --json benchmarks/perf/results.json || missed=$$?; \
	$(BIN)/python -m benchmarks.perf --page && exit $$missed

# make perf-compare BASE=COMMIT: each figure of a commit and of HEAD, in environments of their own. Six
# rounds are the fewest that have an interval; with ROUNDS=1 the counts, which are exact, in two minutes.
BASE ?= main
ROUNDS ?= 6
perf-compare: $(VENV)/bin/python
	$(BIN)/python -c 'import snellen, aiohttp' 2>/dev/null || $(PIP) install -e '.[api]'
	$(BIN)/python -m benchmarks.perf.commits $(BASE) --rounds $(ROUNDS)

# The first hour on a GPU, in one go; goes on where it stopped. make gpu MODEL=Qwen/Qwen2.5-VL-3B-Instruct
# Without a GPU the same steps at small size on the processor, in about two minutes.
MODEL ?=
gpu: $(VENV)/dev.ready
	$(BIN)/python -m benchmarks.gpu $(if $(MODEL),--model $(MODEL)) --out $(or $(OUT),gpu-report)

perf-peers: $(VENV)/dev.ready
	$(BIN)/python -m benchmarks.perf.peers

# The browser tests skip without a browser; as root on Debian one is a command away.
browser:
ifeq ($(CHROMIUM),)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq >/dev/null && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
	else echo "no chromium: the browser tests will be skipped"; fi
endif

# METEOR is computed by a Java program: without a runtime its tests fail.
java:
ifeq ($(JAVA),)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq >/dev/null && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq default-jre-headless >/dev/null; \
	else echo "no java: install a Java runtime, the tests of METEOR need it"; fi
endif

# Of examples/hub, for a release.
proxies:
ifneq ($(and $(NGINX),$(CADDY)),)
else
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq >/dev/null && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nginx caddy >/dev/null; \
	else echo "no nginx or no caddy: install both, a release tests them"; fi
endif

# pip compiles one file after the other; here all cores do. Some packages ship templates that are no
# Python: those stay as they are, as with pip.
COMPILE = @$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.ready: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --no-compile $(TORCH)
	$(PIP) install --no-compile -e '.[hf]'
	$(COMPILE)
	touch $@

$(VENV)/dev.ready: pyproject.toml packages/curate/pyproject.toml packages/hub/pyproject.toml | $(VENV)/bin/python
	$(PIP) install --no-compile $(TORCH)
	$(PIP) install --no-compile -e '.[all,dev]' -e './packages/curate[ocr]' -e './packages/hub[s3]'
	$(COMPILE)
	touch $@

# What docs/installing.md says; TORCH= leaves the choice of its build to pip.
install: $(VENV)/bin/python
	$(PIP) install $(TORCH)
	$(PIP) install -e '.[hf,api]'

install-all: $(VENV)/bin/python
	$(PIP) install $(TORCH)
	$(PIP) install -e '.[all]' -e './packages/curate[ocr]' -e './packages/hub[s3]'

clean:
	rm -rf $(VENV) .venv-pinned .venv-lowest .venv-supply build site .pytest_cache .mypy_cache .ruff_cache
