# SPDX-License-Identifier: Apache-2.0
# A thin front of CMake.  `make help` lists the targets.

BUILD ?= build
JOBS ?= $(shell nproc)
# Options for CMake, such as CMAKE_FLAGS="-DQUARRY_CUDA=OFF -DCMAKE_BUILD_TYPE=Debug".
CMAKE_FLAGS ?=
MAKEFLAGS += --no-print-directory
# Options for ctest, such as CTEST_FLAGS="-R promises".
CTEST_FLAGS ?=
CTEST = ctest --test-dir $(BUILD) --output-on-failure --no-tests=error

# The style is that of version 14; other versions format a few things differently.
CLANG_FORMAT ?= $(shell command -v clang-format-14 || echo clang-format)
CLANG_TIDY ?= $(shell command -v clang-tidy-14 || echo clang-tidy)
SOURCES = $(shell find include src tool bench examples tests -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.def' | sort)

.PHONY: all help configure check check-long gpu-check groupby format format-check lint doxygen clean

all: configure
	@cmake --build $(BUILD) --parallel $(JOBS)

help:
	@echo 'make             build the library, the quarry command and the tests into $(BUILD)/'
	@echo 'make check       build, then run the short tests'
	@echo 'make check-long  build, then run the long tests'
	@echo 'make gpu-check   build, then run the tests that need a GPU (they skip themselves without one)'
	@echo 'make groupby     build the command, then group the rows of the small real file in tests/data'
	@echo 'make format      format the sources; make format-check only looks'
	@echo 'make lint        clang-tidy over all C sources, shellcheck over all scripts'
	@echo 'make doxygen     the API reference as $(BUILD)/doxygen/html/index.html'
	@echo 'make clean       remove $(BUILD)/'

configure:
	@cmake -S . -B $(BUILD) $(CMAKE_FLAGS) $(TESTS)

# Here they are not left out where cmocka is missing.
check check-long gpu-check lint: TESTS = -DQUARRY_TESTS=ON

check: all
	@$(CTEST) -L short --parallel $$(($(JOBS) + 1)) $(CTEST_FLAGS)

check-long: all
	@$(CTEST) -L long $(CTEST_FLAGS)

gpu-check: all
	@$(CTEST) -L gpu $(CTEST_FLAGS)

# quarry_pages: the command, and what is made of it, so that all is there for cmake --install.
groupby: configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target quarry_pages
	$(BUILD)/quarry groupby --column section --header --top 10 --stats tests/data/debian-sections.tsv.gz

format:
	@$(CLANG_FORMAT) -i $(SOURCES)

format-check:
	@$(CLANG_FORMAT) --dry-run -Werror $(SOURCES)

lint: configure
	@JOBS=$(JOBS) scripts/lint.sh $(BUILD) $(CLANG_TIDY)

doxygen:
	@scripts/doxygen.sh $(BUILD)/doxygen

clean:
	@cmake -E rm -rf $(BUILD)
