/* The table of kvprecond's options: the parser, --help and the configuration read it. The rows'
 * marks are for the modes in options.c. */
#include <stddef.h>

#include "kvprecond/option_marks.h"
#include "kvprecond/options.h"
#include "lib/base/units.h"
#include "lib/data/data.h"
#include "lib/opt/rows.h"
#include "lib/opt/tables.h"

#define BLOCK_MAX    (64 * UNITS_MIB)
#define CHUNK_MAX    UNITS_GIB
#define BUFFERS_MAX  1024
#define THREADS_MAX  256
#define ROUND_MIN_NS (10 * INT64_C(1000000))
#define ROUND_MAX_NS (24 * 3600 * UNITS_NS_PER_S)

#define AT(field) offsetof(struct options, field)

const struct opt kvprecond_options[] = {
    {.type = OPT_HEADING, .help = "What is written"},
    {OPT_HEAD("size", OPT_SIZE, size), .letter = 's', .flags = OPT_COMMON, .min = DATA_BLOCK,
     .max = (double)OPTIONS_SIZE_MAX,
     .help = "Bytes to write. Required, except for a device, which is written twice."},
    {OPT_HEAD("mode", OPT_ENUM, mode), .flags = OPT_COMMON, .def = "sequential",
     .choices = "sequential|random|kv|stream",
     .help = "sequential: from first to last byte; random: each block once; kv: objects of a "
             "model; stream: very large files through a few buffers. Objects have 2,048 tokens; "
             "random is in random order; a stream is what a checkpoint writer does."},
    {OPT_HEAD("block-size", OPT_SIZE, block_bytes), .flags = OPT_COMMON, .min = DATA_BLOCK,
     .max = (double)BLOCK_MAX, .marks = NOT_STREAM,
     .help = "Bytes of one write, a multiple of 4 KiB. Default: 1M; with --mode random 4K."},
    {OPT_HEAD("model", OPT_TEXT, model_id), .letter = 'm', .flags = OPT_COMMON, .arg = "NAME",
     .def = "llama3.1-8b", .marks = KV_ONLY,
     .help = "With --mode kv: a built-in model, or a Hugging Face config.json. Its name must "
             "end in .json."},
    {OPT_HEAD("config", OPT_LIST, config), .letter = 'c', .flags = OPT_COMMON | OPT_ONE,
     .arg = "FILE|KEY=VALUE",
     .help =
         "A YAML file, or one key of it, such as iodepth=64; several times. kvtrace.conf(5) has "
         "all keys, and model_configs the models that --model may name."},
    {OPT_HEAD("force-model", OPT_FLAG, force_model), .flags = OPT_EXPERT, .marks = KV_ONLY,
     .help = "With --mode kv: go on with a config.json whose keys or layers change the cache in a "
             "way that is not known, and say what is assumed."},
    {OPT_HEAD("kv-dtype", OPT_TEXT, kv_dtype), .arg = "TYPE", .marks = KV_ONLY,
     .help = "With --mode kv: element type of the cache: float32, float16, bfloat16, fp8, "
             "int8, int4."},
    {OPT_HEAD("file-size", OPT_SIZE, file_bytes), .flags = OPT_CONFIG, .def = "1G",
     .min = DATA_BLOCK, .max = (double)OPTIONS_SIZE_MAX, .marks = NOT_KV | NOT_DEVICE | NOT_FILE,
     .help = "Bytes of one file in a directory, a multiple of 4 KiB. With --mode stream one file "
             "unless given."},
    {OPT_HEAD("buffers", OPT_U64, buffers), .flags = OPT_CONFIG, .arg = "N", .def = "4", .min = 2,
     .max = BUFFERS_MAX, .marks = STREAM_ONLY,
     .help = "With --mode stream: buffers of --config chunk_size, the only memory for data."},
    {OPT_HEAD("chunk-size", OPT_SIZE, chunk_bytes), .flags = OPT_CONFIG, .def = "32MiB",
     .min = DATA_BLOCK, .max = (double)CHUNK_MAX, .marks = STREAM_ONLY,
     .help = "With --mode stream: bytes of one buffer and write, a multiple of 4 KiB."},
    {OPT_HEAD("buffered", OPT_FLAG, buffered), .marks = STREAM_ONLY | NOT_REMOTE,
     .help = "With --mode stream: use the page cache (no O_DIRECT)."},
    {OPT_HEAD("fadvise", OPT_ENUM, advice), .flags = OPT_CONFIG, .def = "none",
     .choices = "none|sequential|dontneed", .marks = STREAM_ONLY | BUFFERED_ONLY,
     .help = "With --buffered: what the kernel is told. dontneed: each chunk is made durable and "
             "dropped from the page cache."},
    {OPT_HEAD("seed", OPT_U64, seed), .flags = OPT_COMMON, .arg = "N",
     .help = "Seed of the contents; 0: random. Two fills with different seeds share no "
             "block, so that deduplicating storage sees new data."},
    {.type = OPT_HEADING, .help = "How it is written"},
    {OPT_HEAD("purge", OPT_FLAG, purge), .flags = OPT_COMMON, .marks = NOT_REMOTE,
     .help = "Discard the target's blocks first (TRIM). In a directory: those of the free "
             "space."},
    {OPT_HEAD("threads", OPT_U64, threads), .flags = OPT_EXPERT, .arg = "N", .min = 1,
     .max = THREADS_MAX,
     .help = "Threads that write, each with its own queue; with --mode stream: that fill "
             "buffers. Default: 1; with --mode kv 4."},
    {OPT_HEAD("iodepth", OPT_U64, iodepth), .flags = OPT_CONFIG, .def = "32", .min = 1, .max = 4096,
     .help = "Writes in flight per thread."},
    {OPT_HEAD("ioengine", OPT_ENUM, engine), .flags = OPT_CONFIG, .def = "auto",
     .choices = "auto|uring|psync", .marks = NOT_REMOTE,
     .help = "uring: io_uring; psync: threads with pwrite; auto: io_uring where it works."},
    {.type = OPT_HEADING, .help = "Steady state"},
    {OPT_HEAD("until-steady", OPT_FLAG, until_steady), .flags = OPT_COMMON, .marks = NOT_STREAM,
     .help = "Then write in rounds until the drive is steady. 5 rounds must agree as in "
             "SNIA's PTS; at most 25 rounds."},
    {OPT_HEAD("round", OPT_DURATION, round_ns), .flags = OPT_COMMON, .arg = "TIME", .def = "60s",
     .min = (double)ROUND_MIN_NS, .max = (double)ROUND_MAX_NS, .marks = STEADY_ONLY,
     .help = "Length of a round, with --until-steady."},
    {OPT_HEAD("track", OPT_ENUM, track), .flags = OPT_CONFIG, .def = "bandwidth",
     .choices = "bandwidth|iops|latency", .marks = STEADY_ONLY,
     .help = "What must be steady; latency is the mean of a round's writes."},
    {OPT_HEAD("rounds", OPT_TEXT, rounds), .arg = "FILE", .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = STEADY_ONLY, .help = "Write the rounds of --until-steady as CSV, for kvstat --plot."},
    {.type = OPT_HEADING, .help = "The target"},
    {OPT_HEAD("target", OPT_LIST, target), .flags = OPT_COMMON, .arg = "URI",
     .help = "What to fill; the same as the operand: PATH, file:PATH, or with --mode stream "
             "s3://BUCKET/PREFIX, redis://HOST:PORT/DB. Several paths are filled at the same time, "
             "with --size bytes each."},
    OPT_ROW_TIMEOUT(AT(timeout_ns), REMOTE_ONLY),
    OPT_ROW_RETRIES(AT(retries), REMOTE_ONLY),
    {OPT_HEAD("reserve", OPT_TEXT, reserve), .flags = OPT_COMMON, .arg = "PERCENT|auto",
     .def = "auto", .marks = NOT_DEVICE | NOT_REMOTE,
     .help = "Percentage of the file system that stays free. auto: the smaller of 5 % of it "
             "and half of what is free."},
    {OPT_HEAD("destroy-data", OPT_FLAG, destroy_data), .flags = OPT_COMMON,
     .help = "Overwrite a device, or a file that holds data. Removes what was kept in a "
             "directory, too."},
    {OPT_HEAD("keep", OPT_FLAG, keep), .flags = OPT_COMMON, .marks = NOT_DEVICE,
     .help = "Leave what was written, instead of removing it at the end."},
    {.type = OPT_HEADING, .help = "Output"},
    {OPT_HEAD("json", OPT_FLAG, json), .flags = OPT_NO_EFFECT | OPT_COMMON,
     .help = "Print the result as JSON."},
    {OPT_HEAD("summary", OPT_TEXT, summary), .arg = "FILE", .flags = OPT_NO_EFFECT | OPT_COMMON,
     .help = "Also write the result as JSON to FILE."},
    OPT_ROW_PROGRESS(AT(progress), 0),
    {.type = OPT_EXAMPLE, .help = "kvprecond --size 100GiB /mnt/nvme/fill"},
    {.type = OPT_EXAMPLE, .help = "kvprecond --until-steady --destroy-data /dev/nvme1n1"},
    {0},
};
