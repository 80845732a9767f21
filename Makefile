# dumptool. "make" lists the targets; Go, git and make are all they need, except
# where a target says otherwise. After "make setup" everything works offline.

GO ?= go
GOFMT ?= $(shell $(GO) env GOROOT)/bin/gofmt

# All that is built is built in one way, which is that of releases: what one target has
# compiled the next one finds in the cache, also where another folder has the same source.
export CGO_ENABLED = 0
export GOFLAGS := $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath

# Tests make and remove their files in memory if that has room.
test race fuzz cover purego same arm64: export TMPDIR := $(shell sh scripts/tmpdir.sh)

# The version is the newest heading of CHANGELOG.md and the commit; VERSION=v1.2.3 is another one.
VERSION ?=
COMMIT := $(shell git describe --always --abbrev=12 --exclude '*' --dirty=.dirty 2>/dev/null)
SET_VERSION = $(if $(VERSION),-X main.version=$(VERSION)) $(if $(COMMIT),-X main.commit=$(COMMIT))
LDFLAGS = -s -w $(SET_VERSION)

TESTFLAGS ?=
FUZZTIME ?= 10s
BENCH ?= .
BENCHFLAGS ?=
NETS ?= -seeds 5000-5005

DIST ?= dist
RELEASED = linux/amd64 linux/arm64 windows/amd64 darwin/arm64
DIST_TARGETS = $(RELEASED)

LINT = .tools/golangci-lint
LINT_VERSION = v2.15.0

PROTO = internal/dumpfmt/dumppb/dump_data.proto

.DEFAULT_GOAL := help
.PHONY: fused arm64-binary bench-page help build page demo test toolstest test-slurm test-s3 browsertest fmt-check race lint fmt lint-tool fuzz cover golden proto lines \
	bench same benchtools purego arm64 microbench dist dist-check setup clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/dumptool, a static binary
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/dumptool ./cmd/dumptool

# The picture is of another network, a larger one, which the test makes.
page: build ## write bin/page/report.html to look at, and docs/page.png and docs/check.png, the pictures of the docs
	@mkdir -p bin/page
	@bin/dumptool compare --cpu testdata/network/cpu --npu testdata/network/npu \
		-out bin/page --format html --exit-zero -q >/dev/null
	@echo 'look at bin/page/report.html'
	@if [ -n '$(BROWSER)' ]; then \
		(cd tools && $(GO) test ./browsertest -run Screenshot -count=1 -update) && ls -l docs/page.png docs/check.png; \
	else echo 'NOTE: docs/page.png and docs/check.png are as they were: new ones need chromium and pdftotext'; fi

demo: ## build, then show what dumptool does on the sample data
	@echo 'demo: building bin/dumptool; the first time that takes a minute or two'
	@$(MAKE) --no-print-directory build
	@sh scripts/demo.sh bin/dumptool

# The tests of users' own converters run real ones. They have the build tag
# numpy, which is set where some python3 of PATH has that package.
NUMPY_TAG = $(shell IFS=:; for dir in $$PATH; do \
	if "$$dir/python3" -c 'import numpy' >/dev/null 2>&1; then echo -tags=numpy; break; fi; done)

# Chromium, where the tests of report.html can be run: it and pdftotext are there.
BROWSER ?= $(shell command -v pdftotext >/dev/null && command -v "$${CHROMIUM:-chromium}")

# Of a package's tests: those of cmd/dumptool take 3 minutes on two quiet cores,
# and several times that on a busy machine or with the race detector.
TIMEOUT = -timeout 30m

test: fmt-check ## gofmt, go vet and all tests
	$(GO) vet -tags=numpy ./...
	cd tools && $(GO) vet ./...
	@tag='$(NUMPY_TAG)'; \
	echo "$(GO) test -vet=off $$tag $(TIMEOUT) $(TESTFLAGS) ./..."; $(GO) test -vet=off $$tag $(TIMEOUT) $(TESTFLAGS) ./... || exit 1; \
	if [ -z "$$tag" ]; then \
		echo 'NOTE: the tests of custom converters were LEFT OUT: they need a python3 with numpy'; \
	fi
	$(MAKE) --no-print-directory toolstest
	@if [ -n '$(BROWSER)' ]; then $(MAKE) --no-print-directory browsertest; else \
		echo 'NOTE: the tests of report.html in a browser were LEFT OUT: they need chromium and pdftotext'; \
	fi

toolstest: ## what measures the program, and the manifests of deploy by the types of Kubernetes
	cd tools && $(GO) test -vet=off $(TIMEOUT) $(TESTFLAGS) ./bench/... ./nets ./statcsv ./deploytest

nets: build ## what the verdict says of simulated networks, healthy and with faults (NETS: flags)
	cd tools && $(GO) run ./nets -dumptool ../bin/dumptool $(NETS)

test-slurm: ## shards on a real Slurm of one node (needs root, slurm-wlm and munge)
	bash scripts/slurm.sh

browsertest: ## report.html in a real browser (needs chromium and pdftotext; with npm, axe-core looks too)
	@if command -v npm >/dev/null; then npm ci --ignore-scripts --no-audit --no-fund --prefix tools/browsertest || [ "$$CI" != true ]; fi
	cd tools && $(GO) test -vet=off $(TIMEOUT) $(TESTFLAGS) ./browsertest

fmt-check:
	@bad=$$($(GOFMT) -s -l .) || exit 1; \
	if [ -n "$$bad" ]; then \
		echo 'not formatted, run gofmt -s -w on:'; printf '%s\n' "$$bad"; exit 1; \
	fi

# Another server: minio, which is never linked or shipped. Build
# github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c, then
#   MINIO_ROOT_USER=a MINIO_ROOT_PASSWORD=of-the-tests minio server --address 127.0.0.1:17020 DIR
# with a folder DIR/dumptool-test, and run the tests below with TEST_S3_ENDPOINT=http://127.0.0.1:17020,
# AWS_ACCESS_KEY_ID=a and AWS_SECRET_ACCESS_KEY=of-the-tests.
test-s3: ## object storage with a real server, versitygw (built first, 2 minutes)
	GO='$(GO)' sh scripts/s3.sh $(GO) test $(TESTFLAGS) -run 'TestConformance|TestObjectStorage' ./internal/store ./cmd/dumptool

# Packages that start goroutines say so by what they import, and those with caches that
# several share are few. Races are found by running code side by side, not by many cases of
# a property, which take ten times as long here: "make test" has those. Of the commands and
# of the metrics the tests run that work side by side, of each way of working once; check,
# which is five minutes of arithmetic here, runs as a command. Of the other packages those
# tests are left out that take long here and run nothing side by side that no other runs.
RACE_PACKAGES = $(shell $(GO) list -f '{{$$path := .ImportPath}}{{range .Imports}}\
	{{if or (eq . "dumptool/internal/batch") (eq . "dumptool/internal/guard")}}{{$$path}} {{end}}{{end}}' ./...) \
	$(addprefix dumptool/internal/,batch bundle cluster guard dumpdir safefile store tensorfile ui)
RACE_PARTS = dumptool/cmd/dumptool dumptool/internal/compare/metrics dumptool/internal/check
RACE_SCRIPTS = archives|check|cluster|compare|compare_determinism|compare_interrupted|compare_runs|convert|convert_containers|inspect_runs|overflow_analyze|overflow_scan|overflow_watch
RACE_SKIP := TestFaultyNets|TestAnySplit|TestLocateGolden|TestInfer|TestRenumber|TestLess|TestManyItems|TestTextWidth|TestStatusWidths|TestConfigExplanationWidths
RACE_SKIP := $(RACE_SKIP)|TestConfigTextWidths|TestLongAnswers|TestSlowly|TestEveryName|TestFindingsAreBounded|TestManyRows|TestDocuments|TestFactsOfPairs|TestDeepNet|TestFaultInLayer140
RACE_CHECKS = 5
RACE = CGO_ENABLED=1 RAPID_CHECKS=$(RACE_CHECKS) $(GO) test -race -vet=off $(NUMPY_TAG) $(TIMEOUT) $(TESTFLAGS)
race: ## the tests of what goroutines share, with the race detector (needs a C compiler)
	@cc=$$($(GO) env CC); command -v "$${cc%% *}" >/dev/null || \
		{ echo "make race: the race detector needs a C compiler, and there is no $$cc"; exit 1; }
	$(RACE) -skip '^($(RACE_SKIP))$$' $(filter-out $(RACE_PARTS),$(sort $(RACE_PACKAGES)))
	$(RACE) -run 'TestReadSizesAndWorkers|TestPool' ./internal/compare/metrics
	$(RACE) -run 'TestScripts/^($(RACE_SCRIPTS))$$' ./cmd/dumptool

lint: lint-tool fused ## run golangci-lint, which also holds the direction of imports
	$(LINT) run ./...
	cd tools && ../$(LINT) run --config ../.golangci.yml ./...

fmt: lint-tool ## format the code the way lint wants it
	$(LINT) fmt ./...

# Builds the pinned linter unless it is there; takes minutes the first time.
lint-tool:
	@have=$$($(LINT) version --short 2>/dev/null || :); \
	if [ "v$${have#v}" != $(LINT_VERSION) ]; then \
		echo "installing golangci-lint $(LINT_VERSION) into .tools"; \
		CGO_ENABLED=0 GOFLAGS=-trimpath GOBIN='$(CURDIR)/.tools' \
			$(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION); \
	fi

fuzz: ## run each fuzz target for FUZZTIME (10s)
	GO='$(GO)' sh scripts/fuzz.sh $(FUZZTIME)

cover: ## test coverage: the total, and coverage.html line by line
	$(GO) test -coverpkg=./... -coverprofile=coverage.out $(TESTFLAGS) ./...
	@grep -Ev '\.pb\.go:|/internal/dumptest/' coverage.out >coverage.out.tmp && mv coverage.out.tmp coverage.out
	@$(GO) tool cover -html=coverage.out -o coverage.html
	@$(GO) tool cover -func=coverage.out | tail -n 1

golden: ## make the sample and golden data again from their generators
	cd tools && $(GO) generate ./...

proto: ## generate the Go code of the .proto file again
	cd tools && $(GO) run ./protogen -I .. -out .. $(PROTO)

lines: ## lines of code by package, without tests
	@sh scripts/lines.sh

# Built and not run by go, so that paths in their flags begin here.
benchtools:
	cd tools && $(GO) build -o ../bin/ ./bench ./bench/same

bench: benchtools ## compare speed and memory with the targets (BENCHFLAGS)
	bin/bench $(BENCHFLAGS)

bench-page: ## time until the page is there, of many tensors and of many ranks (needs chromium)
	cd tools && CI=true $(GO) test -vet=off -run '^$$' -bench Load -benchtime 7x ./browsertest

# For changes that shall not change results. SAMEFLAGS: -trees 20, -only compare,
# -files (not what is printed), folders of dumps of your own.
same: build benchtools ## compare what this build and OLD=path print and write (SAMEFLAGS)
	bin/same -old '$(OLD)' -new bin/dumptool $(SAMEFLAGS)

# Reports are the same bytes on amd64 and arm64: nothing in the arithmetic may be
# fused to a multiply-add, but by internal/exact on purpose, and both builds have
# to write the same. QEMU runs programs for linux/arm64 on other hosts.
QEMU ?= qemu-aarch64
ARM64_TESTS = ./internal/exact ./internal/layout ./internal/tensor ./internal/compare/metrics/... ./internal/compare/record
# An emulator takes ten times as long for each case of a property. What is used again, and how
# many work, is the same Go everywhere: the tests of it compute nothing that others do not.
# Short tests of all types decode and convert each of them, not each beside each.
ARM64_CHECKS = 10
ARM64_SKIP = TestReset|TestManyGroups|TestPool|TestReadSizesAndWorkers
# The package whose loops are in assembly, which its tests compare with plain ones; it is
# tested without assembly too.
KERNEL = ./internal/compare/metrics/kernel
ARM64_BINARY = bin/dumptool-linux-arm64
arm64-binary:
	GOARCH=arm64 $(GO) build -ldflags '$(SET_VERSION)' -o $(ARM64_BINARY) ./cmd/dumptool

fused: arm64-binary ## check that no multiply-add of arm64 is fused
	@fused=$$($(GO) tool objdump -s '^dumptool/' $(ARM64_BINARY) | \
		grep -E 'FN?M(ADD|SUB)[SD]|FML[AS]' | grep -v '^ *exact\.go:' || :); \
	if [ -n "$$fused" ]; then \
		echo 'fused multiply-adds; write float64(a*b) + c:'; printf '%s\n' "$$fused"; exit 1; \
	fi

arm64: build benchtools arm64-binary ## the same results on arm64: tests and reports (needs qemu-user)
	RAPID_CHECKS=$(ARM64_CHECKS) GOARCH=arm64 $(GO) test -vet=off -exec '$(QEMU)' -short -skip '^($(ARM64_SKIP))$$' $(TESTFLAGS) $(ARM64_TESTS)
	RAPID_CHECKS=$(ARM64_CHECKS) GOARCH=arm64 $(GO) test -vet=off -exec '$(QEMU)' $(TESTFLAGS) -run Judge ./internal/compare
	RAPID_CHECKS=$(ARM64_CHECKS) GOARCH=arm64 $(GO) test -vet=off -tags purego -exec '$(QEMU)' $(TESTFLAGS) $(KERNEL)
	bin/same -old bin/dumptool -new '$(QEMU) $(ARM64_BINARY)' -trees 1

# What processors without kernels of their own run: loops in plain Go, of which only
# comparisons have any. That loops of a kernel in assembly have the bits of those in plain
# Go is what the tests of the kernel say.
purego: build benchtools ## the same results without assembly: tests and reports
	$(GO) vet -tags purego $(KERNEL)
	$(GO) test -vet=off -tags purego $(TIMEOUT) $(TESTFLAGS) $(KERNEL)
	$(GO) build -tags purego -ldflags '$(SET_VERSION)' -o bin/dumptool-purego ./cmd/dumptool
	bin/same -old bin/dumptool -new bin/dumptool-purego -trees 3 -only compare

microbench: ## run the benchmarks of single functions (BENCH: a pattern)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

# The same source and Go version give the same bytes on any machine, whatever
# its Go settings are.
dist: ## static binaries and Python wheels for all platforms in dist/, with licences and SHA256SUMS
	@set -e; rm -rf '$(DIST)'; mkdir -p '$(DIST)'; \
	for target in $(DIST_TARGETS); do \
		os=$${target%/*}; arch=$${target#*/}; ext=; \
		if [ $$os = windows ]; then ext=.exe; fi; \
		echo "building dumptool-$$os-$$arch$$ext"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch GOAMD64=v1 GOARM64=v8.0 \
			GOFLAGS= GOEXPERIMENT= GOFIPS140=off GOWORK=off \
			$(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' \
			-o "$(DIST)/dumptool-$$os-$$arch$$ext" ./cmd/dumptool; \
	done; \
	GO='$(GO)' sh scripts/notice.sh $(RELEASED) >'$(DIST)/NOTICE.txt'; \
	(cd tools && $(GO) run ./wheel '$(abspath $(DIST))'); \
	cd '$(DIST)' && sha256sum NOTICE.txt dumptool-* >SHA256SUMS && cat SHA256SUMS

# One of the platforms stands for all: what would differ, of the machine or of the order of
# the build, is in every one of them.
TWICE = linux/arm64
dist-check: dist ## build one of dist/ once more with an empty build cache: the bytes must be the same
	@set -e; tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	GOCACHE="$$tmp/cache" $(MAKE) --no-print-directory dist DIST="$$tmp/dist" DIST_TARGETS='$(TWICE)' >/dev/null; \
	for file in "$$tmp/dist"/dumptool-*; do cmp '$(DIST)'/"$${file##*/}" "$$file"; done; \
	cd '$(DIST)' && sha256sum --quiet -c SHA256SUMS; \
	echo 'a second build gave the same bytes: $(TWICE)'

setup: lint-tool ## download modules and tools: afterwards everything works offline
	GO='$(GO)' sh scripts/s3.sh true
	$(GO) mod download
	cd tools && $(GO) mod download

clean: ## remove what make built, but not the tools
	rm -rf bin dist coverage.out coverage.html
