# kvtrace: one library, four programs, and a script as front door. The lists below are the map of the project; tests/rules.mk
# has the tests, .ci/packaging/rules.mk what is installed.
#   make            programs in build/bin       make check      all tests
#   make asan tsan  all tests under sanitizers  make lint       formatting, cppcheck, shell, man pages
#   make bench      benchmarks (they print ratios, they judge nothing)
#   make msan       what goes through no other library, under the memory sanitizer (clang)
#   make fuzz       fuzzers, FUZZ_SECONDS each  make coverage   lines and branches that tests reach
#   make faults     every allocation and system call fails once (FAULTS: options of tests/faults/sweep.py)
#   make simulate   replays drawn from SEEDS (1000, or A:B), with faults and kills, against a model; JOBS at a time
#   make install PREFIX= DESTDIR=               make static     a tarball that needs only glibc
#   make install WITH_SETCAP=1  also gives kvtrace-trace its capability (kvtrace-trace(1)); needs root
#   make completions  for bash, zsh and fish    make dist deb   a source tarball, a Debian package
# BUILD=DIR builds elsewhere, WERROR=1 makes warnings errors, CUDA_HOME=none builds without CUDA.

VERSION := 0.1.0
BUILD   ?= build
PREFIX  ?= /usr/local
CC      ?= cc

# ---- the library: a folder includes itself and those before it ----
LIB_FOLDERS := lib/base lib/thread lib/text lib/opt lib/sort lib/trace lib/log lib/json lib/facts lib/conf lib/model lib/drive lib/data lib/owner lib/io lib/layout lib/tier lib/remote lib/ranks
lib/base  := err notes units clock memory hash keymap lru_stack hist nearest progress stop save descriptors late
lib/thread := thread spsc bell
lib/text  := text
lib/opt   := tables help opt files
lib/sort  := heap temp_file time_sort
lib/trace := shape trace frame_file gzip frame frame_out csv_scan csv parse parse_avx2 pieces read format write
lib/log   := lines iso_time layers oplog
lib/json  := jsoncut jsontree jsonin jsonout
lib/facts := judge fact facts origin runs
lib/conf  := keys value texts wrong conf given
lib/model := model hf_fields hf_types hf_layers hf_state hf_keys hf_compute hf_weights hf find
lib/drive := drive_model share_server event_format ring_page uring_workers block_events request_join request_groups
lib/data  := data stream_avx2 stream_avx512
lib/owner := card lease owner stem inventory journal inventory_files
lib/io    := process_limits disk_map gap_list gap_line machine io uring psync target_facts target_layers target_guard target_files target_dir target_file target_device drive_log nvme
lib/layout := extent place files slab
lib/tier  := uri slots arena host gpu storage stored storage_trim storage_thread storage_where storage_object spread sim drive null listed
lib/remote := sockets remote resp_text resp_steps resp_control resp s3_keys sha256 s3_sign s3_xml s3_library s3_ask s3_rights s3_control s3_stages s3
lib/ranks  := part start claims documents ranks_one
# In the place of ranks_one, in the programs that MPI starts.
MPI_FILES  := lib/ranks/ranks_mpi

# ---- the programs: the data's way through each, folder by folder and file by file ----
KVGEN_FOLDERS := kvgen kvgen/options kvgen/speed kvgen/meaning kvgen/source kvgen/people kvgen/sim kvgen/policy kvgen/cache kvgen/manager kvgen/serve kvgen/worth kvgen/answer kvgen/curve kvgen/format kvgen/record
kvgen        := kvgen setup option_table workload rng run_source ingest convert output summary provenance
kvgen/options := options values print_config models
kvgen/speed  := tier_model prefill_time gpu_profile
kvgen/meaning := reading stamps block_size pick
kvgen/source := population ident rag users turn_counts inputs file_source merged csv_rows documents steps \
                id_lists blocks burst sharegpt agentic
kvgen/people := habits mix people
kvgen/sim    := sim queue serve compat cache hierarchy objects tier_servers emitter row_counts
kvgen/policy := policy one_list lfu s3fifo sieve arc admission
kvgen/cache  := chain id_table chain_numbers ghosts chunks lmcache lmcache_mp page_tree page_files sglang block_pool vllm vllm_offload vllm_host vllm_tracker vllm_files
kvgen/manager := jobs chunk_keys lmcache lmcache_mp sglang copy_tier copies
kvgen/serve  := scheduler step_time step_setup layer_groups engine_caches prompts held_rows copy_rows transfers decision_line decisions engine engine_run engine_summary
kvgen/worth  := frozen frozen_engine break_even worth worth_text
kvgen/answer := criterion warm line trial limit search window answer load report ask
kvgen/curve  := curve sized_cache request_prefixes optimal engine_curve
kvgen/format := trace_input trace_requests left_files import_oplog export output_file thread_numbers settle fio oplog cachesim mlperf
kvgen/record := names media batch json_fields dynamo_line dynamo graph msgpack kv_message bytes_in zmqrec capture json_events lct strace live residency recording

KVREPLAY_FOLDERS := kvreplay kvreplay/prepare kvreplay/like kvreplay/wait kvreplay/sched kvreplay/device kvreplay/many kvreplay/autoscale
kvreplay       := kvreplay options option_table run run_ranks run_report progress_line backlog doors evidence validity evidence_json summary
kvreplay/prepare := survey choose sizes tiers storage populate
kvreplay/like  := names calls pool like
kvreplay/wait  := order line admission pace objects room threads
kvreplay/sched := sched selection reader cleaner dispatch ledger counts results idle
kvreplay/device := others event_pipe trace_helper block_trace row_join drive_rows workers_why drive_times residency cold origin
kvreplay/many  := totals collect pool
kvreplay/autoscale := autoscale search step_command

KVSTAT_FOLDERS := kvstat kvstat/count kvstat/report kvstat/sheet kvstat/screen kvstat/draw kvstat/mlperf kvstat/answer kvstat/knee
kvstat        := kvstat options option_table inputs document run_keys number_table parts reporter verify block_log output
kvstat/count  := validity provenance gaps second scan agg groups occupancy statistics coarse_hist blocks sequences \
                 request_piece requests file_order series reuse
kvstat/report := figure intervals bottleneck figures verdict run_table bounds settings compare reference cells text json long_csv sheets xlsx exports
kvstat/sheet  := sheet text html
kvstat/screen := lines run runs
kvstat/draw   := gnuplot run_points run_plot number_plot html page_tables page
kvstat/mlperf := direct map results run_folder compare_runs
kvstat/knee   := ladder ladder_report point point_report
kvstat/answer := answer answer_knee confirm confirm_read conclusion view answer_plot answer_page answer_report

KVPRECOND_FOLDERS := kvprecond
kvprecond := kvprecond options option_table plan fill_target fill remote_stream lane steady witness rounds run_progress report many

# Beside kvreplay: reads the kernel's block events for a user who is not root, where it was given the right to.
HELPER_FOLDERS := kvreplay/helper
kvreplay/helper := helper request rights

PROGRAMS := kvgen kvreplay kvstat kvprecond
HELPER   := kvtrace-trace
# A script that runs the others of examples/, beside which it lies; in a bin/ it is a link to there.
FRONT    := kvtrace
MANPAGES := kvgen.1 kvreplay.1 kvstat.1 kvprecond.1 kvtrace.1 kvtrace-trace.1 kvtrace.5 kvtrace.conf.5 kvtrace.7

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

# The other optional parts. NAME=no builds without; else the command says whether the part is here. NAME_FLAGS: for its files.
define part
ifndef $(1)
$(1) := $$(shell $(2) >/dev/null 2>&1 && echo yes || echo no)
endif
$(1)_FLAGS := -DKVTRACE_$(1)=$$(if $$(filter yes,$$($(1))),1,0) $(3)
endef
pkg    = $(shell pkg-config $(1) 2>/dev/null)
header = $(CC) $(2) -include $(1) -E -x c -o /dev/null /dev/null
MPICC ?= mpicc
$(eval $(call part,XLSX,$(call header,xlsxwriter.h,$(call pkg,--cflags xlsxwriter)),$(call pkg,--cflags xlsxwriter)))
$(eval $(call part,RESP,$(call header,hiredis/hiredis.h)))
$(eval $(call part,S3,$(call header,curl/curl.h)))
$(eval $(call part,ZLIB,pkg-config --exists zlib))
$(eval $(call part,ZMQ,pkg-config --exists libzmq,$(call pkg,--cflags libzmq)))
$(eval $(call part,NVME,pkg-config --exists "libnvme >= 1.0" "libnvme < 2",$(call pkg,--cflags libnvme)))
$(eval $(call part,MPI,command -v $(MPICC)))
# Only some programs use each: --as-needed.
LDLIBS    += -Wl,--as-needed $(if $(filter yes,$(RESP)),-lhiredis) $(if $(filter yes,$(ZLIB)),-lz) -ldl -Wl,--no-as-needed
# Libraries that bring many others are loaded by the runs that use them (lib/base/late.h), by the soname of the one that a link
# would take.
soname     = $(or $(shell objdump -p "$$($(CC) $(patsubst -L%,-B%,$(filter -L%,$(LDFLAGS))) -print-file-name=lib$(1).so)" 2>/dev/null | \
                 awk '$$1 == "SONAME" { print $$2 }'),$(warning no soname of lib$(1) found: the programs will ask for lib$(1).so)lib$(1).so)
XLSX_FLAGS += $(if $(filter yes,$(XLSX)),-DKVTRACE_XLSX_FILE=$(call soname,xlsxwriter))
S3_FLAGS   += $(if $(filter yes,$(S3)),-DKVTRACE_S3_FILE=$(call soname,curl))
ZMQ_FLAGS  += $(if $(filter yes,$(ZMQ)),-DKVTRACE_ZMQ_FILE=$(call soname,zmq))
NVME_FLAGS += $(if $(filter yes,$(NVME)),-DKVTRACE_NVME_FILE=$(call soname,nvme))

# ---- objects ----
objs      = $(foreach f,$(1),$(patsubst %,$(BUILD)/$(f)/%.o,$($(f))))
# With the programs' tables of options (lib/opt/tables.h): each program names the owner of an option that is not its own, and
# reads a configuration that is for all four.
LIB_OBJS := $(call objs,$(LIB_FOLDERS)) $(PROGRAMS:%=$(BUILD)/%/option_table.o)
LIB      := $(BUILD)/libkvtrace.a
# What a program's tests, benchmarks and fuzzers link: all of it but the file that holds main.
parts     = $(filter-out $(BUILD)/$(firstword $(1))/$(notdir $(firstword $(1))).o,$(call objs,$(1)))
COMPILE   = $(CC) $(BASEFLAGS) $(OPTIM) $(CFLAGS) $(CPPFLAGS) $(ISA) -MMD -MP -c -o $@ $<
LINK      = $(CC) $(OPTIM) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $(filter %.o,$^) $(LIB) $(LDLIBS)
BINS     := $(addprefix $(BUILD)/bin/,$(PROGRAMS) $(HELPER))
MPI_BINS := $(if $(filter yes,$(MPI)),$(BUILD)/bin/kvreplay-mpi $(BUILD)/bin/kvprecond-mpi)
STATIC   := $(addprefix $(BUILD)/static/bin/,$(PROGRAMS) $(HELPER))
# Files without their optional library: the tarball takes them, since these libraries would bring others. Every build has
# them, so that a change which only such a build would not compile is seen.
WITHOUT  := $(patsubst %,$(BUILD)/%_none.o,kvgen/record/live kvstat/report/xlsx lib/remote/s3 lib/io/nvme)

# In .ci/, each with its help.
SCRIPTS  := msan fuzz arm64 arm64-build arm64-units lint deb

.PHONY: all check unit asan tsan asan-build tsan-build $(SCRIPTS) fuzzers bench faults simulate coverage completions install \
    uninstall dist static deps clean options
.DELETE_ON_ERROR:
.SECONDARY:
all: options $(BINS) $(MPI_BINS) $(BUILD)/bin/$(FRONT) $(WITHOUT)

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
ifneq ($(filter-out asan tsan asan-build tsan-build $(SCRIPTS),$(or $(MAKECMDGOALS),all)),)
$(shell mkdir -p $(BUILD) && { printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $(BUILD)/flags || \
        printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' > $(BUILD)/flags; })
endif

$(BUILD)/bin/kvgen: $(call objs,$(KVGEN_FOLDERS)) $(LIB)
$(BUILD)/bin/kvreplay: $(call objs,$(KVREPLAY_FOLDERS)) $(LIB)
$(BUILD)/bin/kvstat: $(call objs,$(KVSTAT_FOLDERS)) $(LIB)
$(BUILD)/bin/kvprecond: $(call objs,$(KVPRECOND_FOLDERS)) $(LIB)
$(BUILD)/bin/$(HELPER): $(call objs,$(HELPER_FOLDERS)) $(LIB)
# Objects that stand before the library's take the place of its own.
without = $(patsubst $(BUILD)/$(1).o,$(BUILD)/$(1)_none.o,$(2))
$(BUILD)/static/bin/kvgen: $(call without,kvgen/record/live,$(call objs,$(KVGEN_FOLDERS))) $(LIB)
$(BUILD)/static/bin/kvreplay: $(call objs,$(KVREPLAY_FOLDERS)) $(BUILD)/lib/io/nvme_none.o $(BUILD)/lib/remote/s3_none.o $(LIB)
$(BUILD)/static/bin/kvstat: $(call without,kvstat/report/xlsx,$(call objs,$(KVSTAT_FOLDERS))) $(LIB)
$(BUILD)/static/bin/kvprecond: $(call objs,$(KVPRECOND_FOLDERS)) $(BUILD)/lib/remote/s3_none.o $(LIB)
$(BUILD)/static/bin/$(HELPER): $(call objs,$(HELPER_FOLDERS)) $(LIB)
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

# Flags of single files.
$(BUILD)/lib/data/stream_avx2.o:   ISA := $(ISA_AVX2)
$(BUILD)/lib/data/stream_avx512.o: ISA := $(ISA_AVX512)
$(BUILD)/kvreplay/sched/reader.o $(BUILD)/kvreplay/sched/sched.o: ISA := $(ISA_FETCH)
$(BUILD)/lib/tier/gpu.o $(BUILD)/tests/unit/tier/test_tier_gpu.o: ISA := $(GPU_FLAGS)
$(BUILD)/kvstat/report/xlsx.o: ISA := $(XLSX_FLAGS)
$(BUILD)/lib/remote/resp.o $(BUILD)/lib/remote/resp_control.o: ISA := $(RESP_FLAGS)
$(BUILD)/lib/remote/s3_library.o $(BUILD)/lib/remote/s3.o $(BUILD)/lib/remote/s3_ask.o $(BUILD)/lib/remote/s3_rights.o $(BUILD)/lib/remote/s3_control.o: ISA := $(S3_FLAGS)
$(BUILD)/kvgen/record/live.o: ISA := $(ZMQ_FLAGS)
$(BUILD)/lib/trace/gzip.o: ISA := $(ZLIB_FLAGS)
$(BUILD)/lib/io/nvme.o: ISA := $(NVME_FLAGS)
$(WITHOUT): ISA := -DKVTRACE_ZMQ=0 -DKVTRACE_XLSX=0 -DKVTRACE_S3=0 -DKVTRACE_NVME=0
$(WITHOUT): $(BUILD)/%_none.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(COMPILE)
$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(COMPILE)

-include $(shell find $(BUILD) -name '*.d' -type f 2>/dev/null)

include tests/rules.mk .ci/packaging/rules.mk
$(SCRIPTS):
	.ci/$(firstword $(subst -, ,$@)) $(word 2,$(subst -, ,$@))

deps:
	./install-deps.sh
clean:
	rm -rf build
