# rules.mk - what the tests, fuzzers and benchmarks are made of; a part of the Makefile, whose names it uses.

# One program for each file of tests/unit, run by prove together with tests/cli. FOR=thread or FOR=arm64: only those that say
# in their heads that they are for this build.
UNITS    := $(patsubst %.c,$(BUILD)/%,$(if $(FOR),$(shell grep -l 'builds:.* $(FOR)' tests/unit/*/test_*.c),$(wildcard tests/unit/*/test_*.c)))
BENCHES  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/bench_*.c tests/bench/engines/bench_*.c))
FUZZERS  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
CMOCKA   := $(shell pkg-config --libs cmocka 2>/dev/null || echo -lcmocka)
# cmocka 2 has new names for assertions that the releases before it have under the old ones only.
$(UNITS:%=%.o): ISA += -Wno-deprecated-declarations

# What belongs to a program by its name takes the program's objects too. No pattern rules: of two that fit, make 4.4 takes the
# one that needs no objects yet to be made.
of        = $(foreach test,$(UNITS) $(BENCHES) $(FUZZERS),$(if $(findstring /unit/$(1)/,$(test))$(findstring _$(1)_,$(notdir $(test))),$(test)))
$(call of,kvgen) $(call of,caches): $(call parts,$(KVGEN_FOLDERS))
$(call of,kvreplay): $(call parts,$(KVREPLAY_FOLDERS))
$(call of,kvstat): $(call parts,$(KVSTAT_FOLDERS))
$(call of,kvprecond): $(call parts,$(KVPRECOND_FOLDERS))
$(call of,helper): $(call parts,$(HELPER_FOLDERS))
# Calls that a unit test answers itself, or lets fail.
wrap = $(eval $(1:%=$(BUILD)/tests/unit/%): LDLIBS += $(2:%=-Wl,--wrap=%))
$(call wrap,tier/test_storage_turns,io_open)
$(call wrap,tier/test_io trace/test_frame,pread)
$(call wrap,tier/test_storage_trim,ioctl)
$(call wrap,owner/test_taking,flock)
$(call wrap,kvreplay/test_like_calls,renameat unlinkat)
$(call wrap,kvreplay/test_drive_rows,hist_batch_end)
$(call wrap,kvreplay/test_step_command,pipe2 fork)
$(call wrap,kvreplay/test_validity,calloc)
$(call wrap,kvstat/test_gnuplot,pipe2 tmpfile read lseek waitpid posix_spawn_file_actions_init posix_spawn_file_actions_adddup2)
$(call wrap,lib/test_stop,sigaction clock_gettime)
$(call wrap,lib/test_memory,realloc)
# Tests draw their random cases with the simulator's generator, which is the same on every host.
$(UNITS) $(BENCHES): $(BUILD)/kvgen/rng.o
# RUNNER: an object in the place of cmocka's runner (.ci/msan).
$(UNITS): %: %.o $(RUNNER) $(LIB)
	$(LINK) $(CMOCKA)
$(BENCHES): %: %.o $(LIB)
	$(LINK)
$(FUZZERS): $(BUILD)/%: %.c $(LIB)
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) $(OPTIM) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(FUZZ_MAIN) -o $@ $(filter %.c %.o,$^) $(LIB) $(LDLIBS)

# Preloaded into a program: one of its allocations or system calls fails, or its I/O, or as a seed says.
PRELOADS := $(addprefix $(BUILD)/tests/,faults/fail_nth.so faults/fail_io.so faults/no_flock.so faults/slow_yield.so faults/refuse.so simulation/faulty.so)
$(PRELOADS): $(BUILD)/%.so: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) -O1 -g -D_GNU_SOURCE -shared -fPIC -o $@ $< -ldl
# A member of a JSON file, for the shell tests, which ask thousands of times: without sanitizers.
JSON := $(BUILD)/tests/json
$(JSON): tests/json.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) $(CPPFLAGS) -O1 -g -o $@ $< $(shell pkg-config --libs json-c)
# What the simulation sees of a store.
LOOK := $(BUILD)/tests/simulation/look
$(LOOK): %: %.o $(LIB)
	$(LINK)
# Runs what engines' own code decided through our caches (tests/engines/run).
DRIVE := $(BUILD)/tests/engines/drive
$(DRIVE): $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/engines/*.c)) $(call parts,$(KVGEN_FOLDERS)) $(LIB)
	$(LINK)

# Fuzzers and benchmarks run elsewhere: here they are compiled, so that what they call is not changed under them.
unit: $(UNITS) $(PRELOADS) $(LOOK) $(DRIVE) $(JSON) $(if $(FOR),,$(FUZZERS:%=%.o) $(BENCHES:%=%.o))
faults: all $(PRELOADS)
	tests/faults/sweep.py --build $(BUILD) $(FAULTS)
SEEDS ?= 1000
JOBS  ?= 1
simulate: all $(PRELOADS) $(LOOK)
	tests/simulation/simulate --build $(BUILD) --seeds $(SEEDS) --jobs $(JOBS)
check: all unit
	BUILD=$(BUILD) tests/run --built
asan tsan: %: %-build
	BUILD=build/$* tests/run --built
GOALS ?= all unit
asan-build:
	$(MAKE) $(GOALS) BUILD=build/asan OPTIM='-O1 -g1 -fno-omit-frame-pointer' \
	    CFLAGS='$(CFLAGS) -fsanitize=address,undefined -fno-sanitize-recover=undefined'
tsan-build:
	$(MAKE) $(GOALS) BUILD=build/tsan FOR=thread OPTIM='-O1 -g1 -fno-omit-frame-pointer' CFLAGS='$(CFLAGS) -fsanitize=thread'

fuzzers: $(FUZZERS)

bench: all $(BENCHES)
	@for b in tests/bench/*.sh tests/bench/against/*.sh tests/bench/engines/*.sh; do [ -x $$b ] && { echo "== $$b"; BUILD=$(BUILD) $$b || exit 1; }; done
	@for b in $(BENCHES); do echo "== $$b"; $$b || exit 1; done

coverage:
	$(MAKE) check BUILD=build/coverage OPTIM='-O0 -g' CFLAGS='--coverage -include tests/coverage.h'
	@tests/coverage build/coverage
