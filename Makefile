# kvtrace: one library, four programs, and a script as front door. The lists below are the map of the project.
#   make            programs in build/bin       make check      all tests
#   make asan tsan  all tests under sanitizers  make lint       formatting, cppcheck, shell, man pages
#   make bench      benchmarks (they print ratios, they judge nothing)
#   make msan       what goes through no other library, under the memory sanitizer (clang)
#   make fuzz       fuzzers, FUZZ_SECONDS each  make coverage   lines and branches that tests reach
#   make faults     every allocation and system call fails once (FAULTS: options of tests/faults/sweep.py)
#   make simulate   replays drawn from SEEDS (1000, or A:B), with faults and kills, against a model; JOBS at a time
#   make install PREFIX= DESTDIR=               make static     a tarball that needs only glibc
#   make completions  for bash, zsh and fish    make dist deb   a source tarball, a Debian package
# BUILD=DIR builds elsewhere, WERROR=1 makes warnings errors, CUDA_HOME=none builds without CUDA.

VERSION := 0.1.0
BUILD   ?= build
PREFIX  ?= /usr/local
CC      ?= cc

# ---- the library: a folder includes itself and those before it ----
LIB_FOLDERS := lib/base lib/opt lib/sort lib/trace lib/log lib/json lib/conf lib/model lib/drive lib/data lib/owner lib/io lib/tier lib/like lib/remote lib/ranks
lib/base  := err notes units clock memory hash keymap lru_stack hist nearest progress stop save descriptors thread spsc bell
lib/opt   := owners help opt files
lib/sort  := heap temp_file time_sort
lib/trace := trace frame_file gzip frame frame_out csv_scan csv parse parse_avx2 pieces read format write
lib/log   := lines iso_time layers oplog
lib/json  := jsoncut jsontree jsonin jsonout
lib/conf  := keys value conf
lib/model := model hf_fields hf_layers hf_state hf_keys hf_compute hf find
lib/drive := drive_model share_server
lib/data  := data stream_avx2 stream_avx512
lib/owner := card lease owner stem inventory journal inventory_files
lib/io    := gap_list gap_line io uring psync target_facts target_guard target_files target_dir target_file target_device drive_log nvme
lib/tier  := uri extent place layout_files layout_slab arena host gpu storage stored storage_trim storage_thread storage_object spread sim drive null listed
lib/like  := names calls like
lib/remote := sockets remote resp_control resp s3_keys sha256 s3_sign s3_xml s3_ask s3_rights s3_control s3
lib/ranks  := part start claims ranks_one
# In the place of ranks_one, in the programs that MPI starts.
MPI_FILES  := lib/ranks/ranks_mpi

# ---- the programs: the data's way through each, folder by folder and file by file ----
KVGEN_FOLDERS := kvgen kvgen/source kvgen/sim kvgen/policy kvgen/worth kvgen/curve kvgen/format kvgen/record
kvgen        := kvgen options option_values print_config models workload rng tier_model gpu_profile run_source ingest convert \
                output summary provenance
kvgen/source := population ident rag users turn_counts inputs file_source csv_rows documents \
                id_lists blocks block_line block_size burst sharegpt agentic
kvgen/sim    := sim queue serve compat cache hierarchy objects tier_servers prefill_time engines emitter row_counts
kvgen/policy := policy lru fifo lfu s3fifo sieve
kvgen/worth  := frozen break_even worth worth_text
kvgen/curve  := curve sized_cache request_prefixes optimal
kvgen/format := trace_input import_oplog export output_file thread_numbers settle fio oplog cachesim mlperf
kvgen/record := names media batch json_fields dynamo_line dynamo graph msgpack kv_message bytes_in zmqrec capture json_events lct strace live residency recording

KVREPLAY_FOLDERS := kvreplay kvreplay/sched kvreplay/many
kvreplay       := kvreplay options autoscale search step_command replay survey tiers storage populate progress_line backlog \
                  machine evidence validity evidence_json summary
kvreplay/sched := sched selection reader order pool line admission engines pace room objects dispatch ledger counts doors results idle
kvreplay/many  := totals collect pool

KVSTAT_FOLDERS := kvstat kvstat/count kvstat/report kvstat/screen kvstat/draw kvstat/mlperf
kvstat        := kvstat options inputs document number_table parts reporter verify output
kvstat/count  := validity provenance gaps second scan agg groups occupancy statistics coarse_hist blocks sequences \
                 request_piece requests file_order series reuse
kvstat/report := figure intervals bottleneck figures verdict run_table bounds compare reference cells text json long_csv sheets xlsx exports
kvstat/screen := lines run runs
kvstat/draw   := gnuplot run_points run_plot number_plot html page_tables page
kvstat/mlperf := direct results run_folder compare_runs

KVPRECOND_FOLDERS := kvprecond
kvprecond := kvprecond options plan fill_target fill remote_stream lane stream steady rounds run_progress report many

PROGRAMS := kvgen kvreplay kvstat kvprecond
# A script that runs the others of examples/, beside which it lies; in a bin/ it is a link to there.
FRONT    := kvtrace
MANPAGES := kvgen.1 kvreplay.1 kvstat.1 kvprecond.1 kvtrace.1 kvtrace.5 kvtrace.7

# ---- flags ----
WARN := -Wall -Wextra -Wshadow -Wvla -Wformat=2 -Wundef -Wstrict-prototypes -Wmissing-prototypes \
        -Wconversion
ifeq ($(WERROR),1)
WARN += -Werror
endif
OPTIM    ?= -O2 -g
PKGS     := libzstd json-c liburing yaml-0.1 libxxhash
URING    := 2.3
PKG_OK   := $(shell pkg-config --exists $(PKGS) "liburing >= $(URING)" 2>/dev/null && echo yes)
CPPFLAGS += -D_GNU_SOURCE -DKVTRACE_VERSION='"$(VERSION)"' -I. $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
BASEFLAGS := -std=c17 -pthread -ffp-contract=off -fno-strict-aliasing $(WARN)
LDLIBS   += $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lcsv -lm

# The processor that the compiler writes for: x86_64, aarch64.
ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))

# Vector code is compiled for its instruction set and chosen at run time. Other processors run the plain code.
ifeq ($(ARCH),x86_64)
ISA_AVX2   := -mavx2
ISA_AVX512 := -mavx512f -mavx512bw -mavx512dq -mavx512vl
# Fetches a line to write to it. Processors without this instruction ignore it.
ISA_FETCH  := -mprfchw
endif

# CUDA is optional: headers and the static runtime; no driver is needed to build or to start.
CUDA_HOME ?= /usr/local/cuda
CUDART    := $(firstword $(wildcard $(addprefix $(CUDA_HOME)/,lib64/libcudart_static.a \
               targets/$(ARCH:aarch64=sbsa)-linux/lib/libcudart_static.a lib/libcudart_static.a)))
ifneq ($(and $(CUDART),$(wildcard $(CUDA_HOME)/include/cuda_runtime_api.h)),)
CUDA      := yes
GPU_FLAGS := -DKVTRACE_CUDA=1 -isystem $(CUDA_HOME)/include
LDLIBS    += $(CUDART) -ldl -lrt
else
CUDA      := no
GPU_FLAGS := -DKVTRACE_CUDA=0
endif

# Spreadsheets are optional too: XLSX=no builds without.
XLSX_INCL := $(shell pkg-config --cflags xlsxwriter 2>/dev/null)
XLSX      ?= $(shell $(CC) $(XLSX_INCL) -include xlsxwriter.h -E -x c -o /dev/null /dev/null 2>/dev/null && echo yes || echo no)
ifeq ($(XLSX),yes)
XLSX_FLAGS := -DKVTRACE_XLSX=1 $(XLSX_INCL)
# Not asked of pkg-config: Debian's .pc file names zlib and minizip, whose development files its package does not bring and
# the shared library does not need.
XLSX_LIBS  := -lxlsxwriter
else
XLSX_FLAGS := -DKVTRACE_XLSX=0
endif

# So is Redis: RESP=no builds without.
RESP      ?= $(shell $(CC) -include hiredis/hiredis.h -E -x c -o /dev/null /dev/null 2>/dev/null && echo yes || echo no)
ifeq ($(RESP),yes)
RESP_FLAGS := -DKVTRACE_RESP=1
# Only kvreplay uses it.
LDLIBS     += -Wl,--as-needed -lhiredis -Wl,--no-as-needed
else
RESP_FLAGS := -DKVTRACE_RESP=0
endif
# So is reading gzip: ZLIB=no builds without.
ZLIB ?= $(shell pkg-config --exists zlib 2>/dev/null && echo yes || echo no)
ZLIB_FLAGS := -DKVTRACE_ZLIB=$(if $(filter yes,$(ZLIB)),1,0)
ifeq ($(ZLIB),yes)
LDLIBS += -lz
endif

# And S3: S3=no builds without.
S3        ?= $(shell $(CC) -include curl/curl.h -E -x c -o /dev/null /dev/null 2>/dev/null && echo yes || echo no)
ifeq ($(S3),yes)
S3_FLAGS  := -DKVTRACE_S3=1
LDLIBS    += -Wl,--as-needed -lcurl -Wl,--no-as-needed
else
S3_FLAGS  := -DKVTRACE_S3=0
endif
# And live KV events: ZMQ=no builds without libzmq.
ZMQ ?= $(shell pkg-config --exists libzmq 2>/dev/null && echo yes || echo no)
ifeq ($(ZMQ),yes)
ZMQ_FLAGS := -DKVTRACE_ZMQ=1 $(shell pkg-config --cflags libzmq 2>/dev/null)
ZMQ_LIBS  := $(shell pkg-config --libs libzmq 2>/dev/null)
else
ZMQ_FLAGS := -DKVTRACE_ZMQ=0
endif

# And runs of many hosts: MPI=no builds without.
MPICC ?= mpicc
MPI   ?= $(shell command -v $(MPICC) >/dev/null 2>&1 && echo yes || echo no)
# And the logs of NVMe drives: NVME=no builds without libnvme.
NVME ?= $(shell pkg-config --exists 'libnvme >= 1.0' 'libnvme < 2' 2>/dev/null && echo yes || echo no)
ifeq ($(NVME),yes)
NVME_FLAGS := -DKVTRACE_NVME=1 $(shell pkg-config --cflags libnvme 2>/dev/null)
LDLIBS     += -Wl,--as-needed $(shell pkg-config --libs libnvme 2>/dev/null) -Wl,--no-as-needed
else
NVME_FLAGS := -DKVTRACE_NVME=0
endif

# ---- objects ----
objs      = $(foreach f,$(1),$(patsubst %,$(BUILD)/$(f)/%.o,$($(f))))
LIB_OBJS := $(call objs,$(LIB_FOLDERS))
LIB      := $(BUILD)/libkvtrace.a
# What a program's tests, benchmarks and fuzzers link: all of it but the file that holds main.
parts     = $(filter-out $(BUILD)/$(firstword $(1))/$(firstword $(1)).o,$(call objs,$(1)))
LINK      = $(CC) $(OPTIM) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $(filter %.o,$^) $(LIB) $(LDLIBS)
BINS     := $(addprefix $(BUILD)/bin/,$(PROGRAMS))
MPI_BINS := $(if $(filter yes,$(MPI)),$(BUILD)/bin/kvreplay-mpi $(BUILD)/bin/kvprecond-mpi)
STATIC   := $(addprefix $(BUILD)/static/bin/,$(PROGRAMS))

.PHONY: all check unit asan tsan asan-build tsan-build arm64 arm64-build arm64-units lint bench fuzz faults simulate msan coverage completions install uninstall dist deb static deps clean options
.DELETE_ON_ERROR:
.SECONDARY:
all: options $(BINS) $(MPI_BINS) $(BUILD)/bin/$(FRONT) $(BUILD)/kvstat/report/xlsx_none.o $(BUILD)/lib/remote/s3_none.o \
    $(BUILD)/kvgen/record/live_none.o $(BUILD)/lib/io/nvme_none.o

# What the host allows, said once, and a build that starts anew when the flags change.
options:
ifneq ($(PKG_OK),yes)
	@echo "kvtrace: a library is missing or too old (needed: $(PKGS) libcsv, of liburing $(URING) or later);" \
	    "run ./install-deps.sh" >&2; exit 1
endif
	@echo "optional parts: CUDA: $(CUDA)$(if $(CUDART), ($(CUDA_HOME)))"
	@echo "optional parts: spreadsheets (libxlsxwriter): $(XLSX)"
	@echo "optional parts: targets on Redis (hiredis): $(RESP), on S3 (libcurl): $(S3)"
	@echo "optional parts: input in gzip (zlib): $(ZLIB), live KV events (libzmq): $(ZMQ)"
	@echo "optional parts: many hosts (MPI): $(MPI)"
	@echo "optional parts: wear of NVMe drives (libnvme): $(NVME)"
FLAGS_NOW := $(CC) $(BASEFLAGS) $(OPTIM) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(ISA_AVX2) $(ISA_AVX512) $(ISA_FETCH) $(GPU_FLAGS) \
             $(XLSX_FLAGS) $(RESP_FLAGS) $(S3_FLAGS) $(ZLIB_FLAGS) $(ZMQ_FLAGS) $(NVME_FLAGS) $(MPI) $(MPICC)
# Goals that build in folders of their own leave this one as it is.
ifneq ($(filter-out asan tsan asan-build tsan-build arm64-build msan lint,$(or $(MAKECMDGOALS),all)),)
$(shell mkdir -p $(BUILD) && { printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $(BUILD)/flags || \
        printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' > $(BUILD)/flags; })
endif

$(BUILD)/bin/kvgen: $(call objs,$(KVGEN_FOLDERS)) $(LIB)
# libzmq would bring libraries of its own into the tarball.
$(BUILD)/static/bin/kvgen: $(patsubst %/live.o,%/live_none.o,$(call objs,$(KVGEN_FOLDERS))) $(LIB)
$(BUILD)/bin/kvreplay $(BUILD)/static/bin/kvreplay: $(call objs,$(KVREPLAY_FOLDERS)) $(LIB)
$(BUILD)/bin/kvstat: $(call objs,$(KVSTAT_FOLDERS)) $(LIB)
# libxlsxwriter would bring libraries of its own into the tarball.
$(BUILD)/static/bin/kvstat: $(patsubst %/xlsx.o,%/xlsx_none.o,$(call objs,$(KVSTAT_FOLDERS))) $(LIB)
$(BUILD)/bin/kvprecond $(BUILD)/static/bin/kvprecond: $(call objs,$(KVPRECOND_FOLDERS)) $(LIB)
# The wrapper's own compiler is the one that all else is compiled with.
WITH_MPI := OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC)
$(BUILD)/bin/kvreplay-mpi: $(call objs,$(KVREPLAY_FOLDERS)) $(addprefix $(BUILD)/,$(MPI_FILES:=.o)) $(LIB)
$(BUILD)/bin/kvprecond-mpi: $(call objs,$(KVPRECOND_FOLDERS)) $(addprefix $(BUILD)/,$(MPI_FILES:=.o)) $(LIB)
$(BUILD)/bin/kvreplay-mpi $(BUILD)/bin/kvprecond-mpi:
	@mkdir -p $(@D)
	$(WITH_MPI) $(wordlist 2,99,$(LINK))
$(addprefix $(BUILD)/,$(MPI_FILES:=.o)): %.o: $(BUILD)/flags
	@mkdir -p $(@D)
	$(WITH_MPI) $(BASEFLAGS) $(OPTIM) $(CFLAGS) $(CPPFLAGS) -MMD -MP -c -o $@ $(patsubst $(BUILD)/%.o,%.c,$@)
$(BINS) $(STATIC):
	@mkdir -p $(@D)
	$(LINK)

$(BUILD)/bin/$(FRONT): examples/$(FRONT)
	@mkdir -p $(@D) && ln -sf $(abspath $<) $@

$(LIB): $(LIB_OBJS)
	@rm -f $@
	$(AR) rcs $@ $^

# Of single files.
$(BUILD)/lib/data/stream_avx2.o:   ISA := $(ISA_AVX2)
$(BUILD)/lib/data/stream_avx512.o: ISA := $(ISA_AVX512)
$(BUILD)/kvreplay/sched/reader.o $(BUILD)/kvreplay/sched/sched.o: ISA := $(ISA_FETCH)
$(BUILD)/lib/tier/gpu.o $(BUILD)/tests/unit/tier/test_tier_gpu.o: ISA := $(GPU_FLAGS)
$(BUILD)/kvstat/report/xlsx.o: ISA := $(XLSX_FLAGS)
$(BUILD)/lib/remote/resp.o $(BUILD)/lib/remote/resp_control.o: ISA := $(RESP_FLAGS)
$(BUILD)/kvgen/record/live.o: ISA := $(ZMQ_FLAGS)
$(BUILD)/bin/kvgen $(BUILD)/tests/unit/kvgen/test_% $(BUILD)/tests/bench/bench_kvgen_% $(BUILD)/tests/fuzz/fuzz_kvgen_%: LDLIBS += $(ZMQ_LIBS)
$(BUILD)/kvgen/record/live_none.o: kvgen/record/live.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) $(OPTIM) $(CFLAGS) $(CPPFLAGS) -DKVTRACE_ZMQ=0 -MMD -MP -c -o $@ $<
$(BUILD)/lib/trace/gzip.o: ISA := $(ZLIB_FLAGS)
$(BUILD)/lib/remote/s3.o $(BUILD)/lib/remote/s3_ask.o $(BUILD)/lib/remote/s3_rights.o $(BUILD)/lib/remote/s3_control.o: ISA := $(S3_FLAGS)
$(BUILD)/lib/io/nvme.o: ISA := $(NVME_FLAGS)
# Nor does the tarball have libnvme.
$(BUILD)/static/bin/kvreplay: $(BUILD)/lib/io/nvme_none.o
$(BUILD)/lib/io/nvme_none.o: lib/io/nvme.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) $(OPTIM) $(CFLAGS) $(CPPFLAGS) -DKVTRACE_NVME=0 -MMD -MP -c -o $@ $<
# The tarball has no S3: libcurl would bring its own needs with it.
$(BUILD)/static/bin/kvreplay $(BUILD)/static/bin/kvprecond: $(BUILD)/lib/remote/s3_none.o
$(BUILD)/lib/remote/s3_none.o: lib/remote/s3.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) $(OPTIM) $(CFLAGS) $(CPPFLAGS) -DKVTRACE_S3=0 -MMD -MP -c -o $@ $<
$(BUILD)/bin/kvstat $(BUILD)/tests/unit/kvstat/test_% $(BUILD)/tests/bench/bench_kvstat_% $(BUILD)/tests/fuzz/fuzz_kvstat_%: LDLIBS += $(XLSX_LIBS)
$(BUILD)/kvstat/report/xlsx_none.o: kvstat/report/xlsx.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) $(OPTIM) $(CFLAGS) $(CPPFLAGS) -DKVTRACE_XLSX=0 -MMD -MP -c -o $@ $<
$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) $(OPTIM) $(CFLAGS) $(CPPFLAGS) $(ISA) -MMD -MP -c -o $@ $<

-include $(shell find $(BUILD) -name '*.d' -type f 2>/dev/null)

# ---- tests: one program per file of tests/unit, run by prove together with tests/cli ----
UNITS    := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*/test_*.c))
BENCHES  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/bench_*.c))
FUZZERS  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
CMOCKA   := $(shell pkg-config --libs cmocka 2>/dev/null || echo -lcmocka)
# cmocka 2 has new names for assertions that the releases before it have under the old ones only.
$(UNITS:%=%.o): ISA += -Wno-deprecated-declarations

# What belongs to a program by its name takes the program's objects too. No pattern rules: of two that fit, make 4.4 takes the
# one that needs no objects yet to be made.
of        = $(foreach test,$(UNITS) $(BENCHES) $(FUZZERS),$(if $(findstring /unit/$(1)/,$(test))$(findstring _$(1)_,$(notdir $(test))),$(test)))
$(call of,kvgen): $(call parts,$(KVGEN_FOLDERS))
$(call of,kvreplay): $(call parts,$(KVREPLAY_FOLDERS))
$(call of,kvstat): $(call parts,$(KVSTAT_FOLDERS))
$(call of,kvprecond): $(call parts,$(KVPRECOND_FOLDERS))
# Stands between the tier and the engine that it opens.
$(BUILD)/tests/unit/tier/test_storage_turns: LDLIBS += -Wl,--wrap=io_open
# Reads fail when it wants them to.
$(BUILD)/tests/unit/tier/test_io $(BUILD)/tests/unit/trace/test_frame: LDLIBS += -Wl,--wrap=pread
# A device that is asked to discard.
$(BUILD)/tests/unit/tier/test_storage_trim: LDLIBS += -Wl,--wrap=ioctl
# A file system without locks.
$(BUILD)/tests/unit/owner/test_taking: LDLIBS += -Wl,--wrap=flock
# Neither a new name for a file nor its removal.
$(BUILD)/tests/unit/like/test_calls: LDLIBS += -Wl,--wrap=renameat,--wrap=unlinkat
# No pipe, no process; a time that they set.
$(BUILD)/tests/unit/kvreplay/test_step_command: LDLIBS += -Wl,--wrap=pipe2,--wrap=fork
$(BUILD)/tests/unit/kvstat/test_gnuplot: LDLIBS += -Wl,--wrap=pipe2,--wrap=tmpfile,--wrap=read,--wrap=lseek,--wrap=waitpid \
    -Wl,--wrap=posix_spawn_file_actions_init,--wrap=posix_spawn_file_actions_adddup2
$(BUILD)/tests/unit/lib/test_stop: LDLIBS += -Wl,--wrap=sigaction,--wrap=clock_gettime
# No memory when they want that.
$(BUILD)/tests/unit/lib/test_memory: LDLIBS += -Wl,--wrap=realloc
$(BUILD)/tests/unit/kvreplay/test_validity: LDLIBS += -Wl,--wrap=calloc
# Tests draw their random cases with the simulator's generator, which is the same on every host.
$(UNITS) $(BENCHES): $(BUILD)/kvgen/rng.o
# RUNNER: an object in the place of cmocka's runner (make msan).
$(UNITS): %: %.o $(RUNNER) $(LIB)
	$(LINK) $(CMOCKA)
$(BENCHES): %: %.o $(LIB)
	$(LINK)
$(FUZZERS): $(BUILD)/%: %.c $(LIB)
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) $(OPTIM) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(FUZZ_MAIN) -o $@ $(filter %.c %.o,$^) $(LIB) $(LDLIBS)

# Preloaded into a program: one of its allocations or system calls fails, or its I/O, or as a seed says.
PRELOADS := $(addprefix $(BUILD)/tests/,faults/fail_nth.so faults/fail_io.so faults/no_flock.so simulation/faulty.so)
$(PRELOADS): $(BUILD)/%.so: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASEFLAGS) -O1 -g -D_GNU_SOURCE -shared -fPIC -o $@ $< -ldl
# What the simulation sees of a store.
LOOK := $(BUILD)/tests/simulation/look
$(LOOK): %: %.o $(LIB)
	$(LINK)

unit: $(UNITS) $(PRELOADS) $(LOOK)
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
asan-build:
	$(MAKE) all unit BUILD=build/asan OPTIM='-O1 -g -fno-omit-frame-pointer' \
	    CFLAGS='$(CFLAGS) -fsanitize=address,undefined -fno-sanitize-recover=undefined'
tsan-build:
	$(MAKE) all unit BUILD=build/tsan OPTIM='-O1 -g -fno-omit-frame-pointer' CFLAGS='$(CFLAGS) -fsanitize=thread'

# The memory sanitizer takes what a library writes that is not compiled with it for never written: what goes through zstd,
# libcsv, libyaml, json-c or a stream of libc's, or comes from pthread_getaffinity_np, is left out. The fuzzers have no coverage to go by here.
MSAN_NOT   := trace/test_frame kvgen/test_export kvreplay/test_pool trace/test_csv trace/test_trace_cut trace/test_trace_notes \
              trace/test_trace_read trace/test_trace_write lib/test_thread lib/test_conf lib/test_model lib/test_jsonout kvstat/test_figures \
              fuzz_conf fuzz_csv fuzz_frame fuzz_jsontree fuzz_trace fuzz_trace_files \
              $(addprefix fuzz_kvgen_,files gpu_profile trace users) fuzz_kvstat_inputs fuzz_kvstat_report
MSAN_UNITS := $(filter-out $(MSAN_NOT),$(patsubst tests/unit/%.c,%,$(wildcard tests/unit/*/test_*.c)))
MSAN_FUZZ  := $(filter-out $(MSAN_NOT),$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c)))
msan:
	$(MAKE) options $(MSAN_UNITS:%=build/msan/tests/unit/%) $(MSAN_FUZZ:%=build/msan/tests/fuzz/%) BUILD=build/msan CC=clang \
	    MPI=no OPTIM='-O1 -g -fno-omit-frame-pointer' RUNNER=build/msan/tests/msan.o FUZZ_MAIN=-fsanitize=fuzzer \
	    CMOCKA='$(CMOCKA) -Wl,--wrap=_skip,--wrap=_cmocka_run_group_tests' \
	    CFLAGS='-fsanitize=memory -fsanitize-memory-track-origins -fno-sanitize-recover=memory'
	BUILD=build/msan tests/run --built $(MSAN_UNITS:%=unit/%)
	tests/fuzz/seeds.sh build/msan/seeds
	@for f in $(MSAN_FUZZ); do echo $$f; mkdir -p build/msan/corpus/$$f; \
	    build/msan/tests/fuzz/$$f -runs=2000 -seed=1 -max_len=4096 -artifact_prefix=build/msan/ build/msan/corpus/$$f \
	    $$(ls -d tests/fuzz/corpus/$$f build/msan/seeds/$$f 2>/dev/null) >build/msan/said 2>&1 || { tail -n 60 build/msan/said; exit 1; }; done

# Cross-compiled, with the libraries of Debian's arm64 packages in a folder of their own; the tests run under qemu-user.
ARM64         := build/arm64
ARM64_SYSROOT := $(CURDIR)/$(ARM64)/sysroot
arm64-build:
	.ci/sysroot arm64 $(ARM64_SYSROOT)
	PKG_CONFIG_LIBDIR=$(ARM64_SYSROOT)/usr/lib/aarch64-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$(ARM64_SYSROOT) \
	    $(MAKE) MPI=no all unit BUILD=$(ARM64) CC='aarch64-linux-gnu-gcc --sysroot=$(ARM64_SYSROOT)' CUDA_HOME=none
arm64-units:
	BUILD=$(ARM64) TEST_EMULATOR='qemu-aarch64 -L $(ARM64_SYSROOT)' TEST_SCALE=10 tests/run --built unit/
arm64: all arm64-build
	tests/run --built project/arm64.t
	$(MAKE) arm64-units

FUZZ_SECONDS ?= 60
# A seed of libFuzzer: 0 draws one.
FUZZ_SEED ?= 0
# An execution takes as long as its input.
FUZZ_BYTES ?= 4096
fuzz:
	$(MAKE) fuzzers BUILD=build/fuzz CC=clang OPTIM='-O1 -g' \
	    CFLAGS='-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined' LDFLAGS='-fsanitize=fuzzer'
	rm -rf build/fuzz/table
	tests/fuzz/seeds.sh build/fuzz/seeds
	$(MAKE) BUILD=build/fuzz $(patsubst tests/fuzz/%.c,fuzz-for-seconds/%,$(wildcard tests/fuzz/fuzz_*.c))
	@tests/fuzz/each --table build/fuzz
fuzz-for-seconds/%:
	@tests/fuzz/each build/fuzz $(FUZZ_SECONDS) $(FUZZ_SEED) $(FUZZ_BYTES) $*
.PHONY: fuzzers
fuzzers: $(FUZZERS)

bench: all $(BENCHES)
	@for b in tests/bench/*.sh tests/bench/against/*.sh; do [ -x $$b ] && { echo "== $$b"; BUILD=$(BUILD) $$b || exit 1; }; done
	@for b in $(BENCHES); do echo "== $$b"; $$b || exit 1; done

coverage:
	$(MAKE) check BUILD=build/coverage OPTIM='-O0 -g' CFLAGS='--coverage -include tests/coverage.h'
	@tests/coverage build/coverage

# ---- lint ----
FOLDERS := $(LIB_FOLDERS) $(KVGEN_FOLDERS) $(KVREPLAY_FOLDERS) $(KVSTAT_FOLDERS) $(KVPRECOND_FOLDERS)
C_FILES := $(sort $(wildcard $(addsuffix /*.[ch],$(FOLDERS) tests/unit tests/unit/* tests/bench tests/faults tests/fuzz tests/simulation)))
SH_FILES := $(shell grep -lE '^\#!/bin/(sh|bash)|^\#!/usr/bin/env (sh|bash)' install-deps.sh .ci/* .ci/packaging/* tests/run tests/exec tests/lib.sh \
              tests/coverage tests/fuzz/each tests/fuzz/*.sh tests/cli/*/* tests/bench/*.sh tests/bench/against/*.sh examples/* tests/gpu/* 2>/dev/null)
lint:
	clang-format --dry-run -Werror $(C_FILES)
	cppcheck -j $(shell getconf _NPROCESSORS_ONLN) --quiet --error-exitcode=1 --std=c11 --inline-suppr --enable=warning,portability \
	    --suppress=missingIncludeSystem --suppress=varFuncNullUB --suppress='*:/usr/*' -D_GNU_SOURCE -DKVTRACE_CUDA=0 -DKVTRACE_XLSX=0 -DKVTRACE_RESP=1 -DKVTRACE_S3=1 -DKVTRACE_ZLIB=0 -DKVTRACE_ZMQ=0 -DKVTRACE_NVME=0 '-DKVTRACE_VERSION="x"' \
	    -I. lib kvgen kvreplay kvstat kvprecond
	shellcheck --norc -x -P SCRIPTDIR $(SH_FILES)
	@! grep -n 'shellcheck disable' $(filter-out tests/cli/%,$(SH_FILES)) || { echo 'mend the cause: only a list of words of a test is excused'; false; }
	mandoc -Tlint -W warning $(addprefix man/,$(MANPAGES))

# ---- install, distribution ----
completions: all
	@.ci/packaging/completions $(BUILD)/bin $(BUILD)/completions $(PROGRAMS) $(FRONT)

# Where each shell looks: DIR/PROGRAM, with the shell's own prefix and suffix.
COMPLETIONS := bash-completion/completions/ zsh/site-functions/_ fish/vendor_completions.d/
complete_as  = $(foreach p,$(PROGRAMS) $(FRONT),$(addprefix $(DESTDIR)$(PREFIX)/share/,$(join $(COMPLETIONS),$(p) $(p) $(p).fish)))

# The scripts run from libexec; people find them under doc, by a link.
install: completions
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/kvtrace $(DESTDIR)$(PREFIX)/share/doc/kvtrace
	install -m 755 $(BINS) $(wildcard $(MPI_BINS)) $(DESTDIR)$(PREFIX)/bin
	cp -R examples/. $(DESTDIR)$(PREFIX)/libexec/kvtrace
	rm $(DESTDIR)$(PREFIX)/libexec/kvtrace/quickstart.sh # it builds from the sources
	ln -sf ../libexec/kvtrace/$(FRONT) $(DESTDIR)$(PREFIX)/bin/$(FRONT)
	for p in $(MANPAGES); do d=$(DESTDIR)$(PREFIX)/share/man/man$${p##*.}; install -d $$d && \
	    install -m 644 man/$$p $$d || exit 1; done
	for f in $(complete_as); do case $$f in */bash-*) s=bash;; */zsh/*) s=zsh;; *) s=fish;; esac; \
	    install -D -m 644 $(BUILD)/completions/$$s/$${f##*/} $$f || exit 1; done
	install -m 644 README.md CHANGELOG.md LICENSE $(DESTDIR)$(PREFIX)/share/doc/kvtrace
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/kvtrace/examples
	ln -s ../../../libexec/kvtrace $(DESTDIR)$(PREFIX)/share/doc/kvtrace/examples
uninstall:
	cd $(DESTDIR)$(PREFIX)/bin && rm -f $(PROGRAMS) $(notdir $(MPI_BINS)) $(FRONT)
	rm -rf $(DESTDIR)$(PREFIX)/libexec/kvtrace
	for p in $(MANPAGES); do rm -f $(DESTDIR)$(PREFIX)/share/man/man$${p##*.}/$$p; done
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/kvtrace
	rm -f $(complete_as)

dist:
	@mkdir -p build
	git archive --format=tar.gz --prefix=kvtrace-$(VERSION)/ -o build/kvtrace-$(VERSION).tar.gz HEAD
	@echo build/kvtrace-$(VERSION).tar.gz

# A copy of the sources as they are here, Debian's files generated into it; the package comes to lie beside it.
DEB_DIR := build/deb/kvtrace-$(VERSION)
deb:
	@command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null || \
	    { echo "kvtrace: make deb needs dpkg-dev and debhelper; run ./install-deps.sh --packaging" >&2; exit 1; }
	rm -rf build/deb && mkdir -p $(DEB_DIR)
	tar --exclude=./build --exclude=./.git -cf - . | tar -C $(DEB_DIR) -xf -
	.ci/packaging/debian $(VERSION) $(DEB_DIR)
	cd $(DEB_DIR) && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS dpkg-buildpackage -b -us -uc
	rm -rf $(DEB_DIR)
	@echo build/deb/kvtrace_*.deb

# The same objects with the third-party libraries linked in: only glibc is dynamic.
$(STATIC): LDLIBS := $(patsubst %,-l:lib%.a,zstd json-c uring yaml xxhash csv $(if $(filter yes,$(RESP)),hiredis) $(if $(filter yes,$(ZLIB)),z)) $(CUDART) -ldl -lrt -lm
STATIC_NAME := kvtrace-$(VERSION)-$(ARCH)
STATIC_DIR  := $(BUILD)/static/$(STATIC_NAME)
static: completions $(STATIC)
	rm -rf $(STATIC_DIR) && mkdir -p $(STATIC_DIR)/man
	cp -R $(BUILD)/static/bin $(STATIC_DIR) && strip $(STATIC_DIR)/bin/*
	ln -s ../examples/$(FRONT) $(STATIC_DIR)/bin/$(FRONT)
	cp $(addprefix man/,$(MANPAGES)) $(STATIC_DIR)/man
	cp -R $(BUILD)/completions examples README.md LICENSE $(STATIC_DIR)
	rm $(STATIC_DIR)/examples/quickstart.sh # it builds from the sources
	tar -C $(BUILD)/static --owner=0 --group=0 --numeric-owner -czf $(STATIC_DIR).tar.gz $(STATIC_NAME)
	@echo $(STATIC_DIR).tar.gz

deps:
	./install-deps.sh
clean:
	rm -rf build
