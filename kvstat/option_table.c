/* The table of kvstat's options: the parser, --help and the configuration read it. The rows' marks
 * are for the modes in options.c. */
#include <stddef.h>

#include "kvstat/options.h"
#include "lib/opt/rows.h"
#include "lib/opt/tables.h"

#define THREADS_MAX 256

#define AT(field) offsetof(struct options, field)

const struct opt kvstat_options[] = {
    {.type = OPT_HEADING, .help = "Report"},
    {OPT_HEAD("full", OPT_FLAG, full),
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_DRAWING | OPTIONS_NOT_TABLE,
     .help = "Print every table instead of the one screen that matters most."},
    {OPT_HEAD("json", OPT_FLAG, json), .flags = OPT_COMMON, .marks = OPTIONS_NOT_DRAWING,
     .help = "Print JSON with the same numbers instead of text."},
    {OPT_HEAD("csv", OPT_FLAG, csv), .flags = OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_DRAWING | OPTIONS_NO_CSV,
     .help = "Print CSV instead of text: one row for each figure, with its run, tier, operation, "
             "value and unit."},
    {OPT_HEAD("xlsx", OPT_TEXT, xlsx), .arg = "FILE", .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING,
     .help = "Also write a spreadsheet (.xlsx). A build without libxlsxwriter writes FILE as "
             ".csv and says so."},
    {OPT_HEAD("interval", OPT_DURATION, interval_ns), .flags = OPT_COMMON, .arg = "TIME",
     .def = "0",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING |
              OPTIONS_NOT_TABLE,
     .help = "Add a time series with intervals of this length, such as 1s or 100ms; 0: none."},
    {OPT_HEAD("reuse", OPT_FLAG, reuse),
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING,
     .help = "Add reuse distances: bytes, objects and time between two uses of an object. "
             "Reads the file twice; memory grows with the number of keys."},
    {OPT_HEAD("hgrm", OPT_TEXT, hgrm), .arg = "DIR", .flags = OPT_NO_EFFECT,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING |
              OPTIONS_NOT_TABLE,
     .help = "Write each distribution of times into this folder, as percentile text of "
             "HdrHistogram."},
    {OPT_HEAD("plot", OPT_TEXT, plot), .arg = "FILE", .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_TABLE,
     .help = "Draw the run as .svg or .png, with gnuplot. Latencies, throughput, contents of "
             "the tiers and hit rate; with --compare both runs in one picture; also a curve of "
             "kvgen or the rounds of kvprecond (CSV)."},
    {OPT_HEAD("html", OPT_TEXT, html), .arg = "FILE", .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = OPTIONS_NOT_VERIFY | OPTIONS_NOT_DRAWING | OPTIONS_NOT_TABLE,
     .help = "Write the report, the comparison, or the answer as one HTML page that needs no other "
             "file: "
             "tables, pictures (with gnuplot), and how it was run."},
    {OPT_HEAD("fio-job", OPT_TEXT, fio_job), .arg = "FILE", .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING |
              OPTIONS_NOT_TABLE,
     .help = "Write a fio job like the replay's storage tier: its mix, sizes, depth and "
             "pauses."},
    {OPT_HEAD("mlperf", OPT_TEXT, mlperf), .arg = "FILE|DIR/", .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING |
              OPTIONS_NOT_TABLE,
     .help = "Write a results file of the MLPerf Storage KV-cache benchmark, or of several inputs "
             "the folder of a run. Not an official result."},
    {OPT_HEAD("by", OPT_TEXT, by_text), .flags = OPT_COMMON, .arg = "LIST", .def = "tier,op,phase",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_DRAWING,
     .help = "Columns that make the groups. Any of tier, op, phase, qos, class, user, "
             "status, endpoint, thread, engine, separated by commas."},
    {OPT_HEAD("max-groups", OPT_U64, max_groups), .flags = OPT_CONFIG, .arg = "N", .def = "10000",
     .min = 1, .max = 1e9, .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_DRAWING,
     .help =
         "With --by user, endpoint, thread or engine: most groups, about 25 KB each. More end the "
         "run with an error."},
    {OPT_HEAD("output", OPT_TEXT, output), .letter = 'o', .arg = "FILE", .def = "-",
     .flags = OPT_NO_EFFECT | OPT_COMMON, .marks = OPTIONS_NOT_DRAWING,
     .help = "Write the report here; - is standard output. A file appears whole or not at all."},
    {OPT_HEAD("merge", OPT_FLAG, merge), .flags = OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING |
              OPTIONS_NOT_TABLE,
     .help = "Report on all files as one run instead of as trials."},
    {OPT_HEAD("ranks", OPT_FLAG, ranks),
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING,
     .help = "Report on all files, or all results in a folder, as the parts of one run (kvreplay "
             "--part). Figures are those of all rows together; --full lists the parts."},
    {OPT_HEAD("compare", OPT_LIST, compare), .flags = OPT_COMMON, .arg = "BASE",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY,
     .help = "Show which figures differ from this run by more than the noise. Repeated: from "
             "several trials of it."},
    {OPT_HEAD("min-change", OPT_SHARE, min_change), .flags = OPT_CONFIG, .arg = "SHARE",
     .def = "0.01", .max = 1,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_COMPARE_ONLY,
     .help = "With --compare, the smallest change that counts as one; smaller ones are noise, "
             "however sure they are."},
    {OPT_HEAD("reference", OPT_TEXT, reference), .flags = OPT_COMMON, .arg = "FILE",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING,
     .help = "Check that hit rate, read/write ratio and tokens are within 5 % of another "
             "run's. FILE is a trace, a result or a benchmark's results (JSON)."},
    {OPT_HEAD("profile", OPT_ENUM, asked.profile), .flags = OPT_COMMON, .def = "none",
     .choices = "none|latency|throughput|mlperf",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING,
     .help = "Judge the run (PASS, FAIL, INCONCLUSIVE). latency: P95s within their limits; "
             "throughput: storage moved data and the queue did not grow, at any speed; mlperf: as "
             "the MLPerf benchmark does."},
    {OPT_HEAD("slo", OPT_FLAG, asked.slo),
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING,
     .help = "Judge the targets of the QoS classes too, P95 to P99.99: end to end, or, where "
             "generation took time, what storage decides of the time to the first token."},
    {OPT_HEAD("check", OPT_FLAG, check), .flags = OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_DRAWING,
     .help = "Exit with status 1 if the verdict is bad, 4 if nothing is decided. Bad: "
             "--profile or --slo says FAIL, --compare finds a figure worse, or --reference one "
             "not within 5 %."},
    {OPT_HEAD("verify-trace", OPT_FLAG, verify_trace), .flags = OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_BLKTRACE,
     .help = "Check traces for errors instead of reporting. Order of time, sizes, reads of "
             "objects that are not there or elsewhere, capacities. Exit status 1 if there "
             "are any."},
    {OPT_HEAD("blktrace", OPT_FLAG, blktrace), .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_KNEE,
     .help =
         "The files are what blktrace recorded (blkparse -d, or the latencies of btt -q or -z): "
         "report the drive's own times."},
    {OPT_HEAD("knee", OPT_FLAG, knee), .marks = OPTIONS_NOT_ANSWER,
     .help =
         "The file has the rounds of kvtrace knee (OUT/rounds.csv): show its steps with their "
         "intervals, the knee and the cliff. Or it is a result, as those of kvtrace model: show "
         "its rate."},
    {.type = OPT_HEADING, .help = "Answer"},
    {OPT_HEAD("answer", OPT_TEXT, answer), .flags = OPT_COMMON, .arg = "FILE",
     .help =
         "Show what a drive gives, from the JSON of kvgen --answer, or from what --json wrote of "
         "that. Exit status 1 if the verdict is FAIL, 4 if it is INCONCLUSIVE."},
    {OPT_HEAD("view", OPT_ENUM, view), .flags = OPT_COMMON, .def = "drive",
     .choices = "drive|users|fast-enough|worth|compare", .marks = OPTIONS_ANSWER_ONLY,
     .help = "What comes first. drive: what the drive gives; users: with the numbers that were "
             "tried; fast-enough: the verdict on the number asked; worth: the gain beside no "
             "drive; compare: two answers beside each other."},
    {OPT_HEAD("confirm", OPT_LIST, confirm), .arg = "RESULT", .marks = OPTIONS_ANSWER_ONLY,
     .help = "Result of the answer's window on the drive, compared with that of "
             "--confirm-model. With --view compare: once for each answer, in their order; none "
             "for one that was not run."},
    {OPT_HEAD("confirm-model", OPT_LIST, confirm_model), .arg = "RESULT",
     .marks = OPTIONS_ANSWER_ONLY,
     .help = "Result of the same window on the drive's model (kvreplay --tier-engine "
             "2=sim:model=FILE); none where --confirm has none."},
    {OPT_HEAD("measured-again", OPT_TEXT, measured_again), .arg = "FILE",
     .marks = OPTIONS_ANSWER_ONLY,
     .help = "A measurement of the drive (kvtrace model) from after the run of --confirm: tells "
             "whether a drive that differs from its model has changed."},
    {.type = OPT_HEADING, .help = "Input"},
    {OPT_HEAD("run", OPT_TEXT, run), .flags = OPT_COMMON, .arg = "FILE",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING | OPTIONS_NOT_TABLE |
              OPTIONS_NOT_BLKTRACE,
     .help = "Summary (JSON) of the kvreplay or kvgen run that made the input, if the file "
             "has none."},
    {OPT_HEAD("warmup", OPT_DURATION, warmup_ns), .flags = OPT_COMMON, .arg = "TIME", .def = "0",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_DRAWING,
     .help = "Leave out rows that started in the first TIME of a replay. Default: the time of its "
             "kvreplay --warmup."},
    {OPT_HEAD("config", OPT_LIST, config), .letter = 'c', .flags = OPT_COMMON | OPT_ONE,
     .arg = "FILE|KEY=VALUE",
     .help = "A YAML file, or one key of it, such as threads=4; several times. kvtrace.conf(5) has "
             "all keys, such as targets of QoS classes and the limits of --profile latency."},
    {OPT_HEAD("skip-bad-rows", OPT_FLAG, skip_bad_rows),
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_DRAWING | OPTIONS_NOT_BLKTRACE,
     .help = "Skip and count bad rows instead of ending at the first."},
    {.type = OPT_HEADING, .help = "Running"},
    {OPT_HEAD("threads", OPT_U64, threads), .arg = "N", .def = "0", .max = THREADS_MAX,
     .flags = OPT_NO_EFFECT | OPT_CONFIG,
     .help = "Threads that read and count; 0: one per processor, at most 8. The report does "
             "not depend on it."},
    OPT_ROW_PROGRESS(AT(progress), 0),
    {.type = OPT_EXAMPLE, .help = "kvstat result.csv.zst"},
    {.type = OPT_EXAMPLE, .help = "kvstat --profile latency --check result.csv.zst"},
    {.type = OPT_EXAMPLE, .help = "kvstat --answer answer.json --view users"},
    {.type = OPT_EXAMPLE, .help = "kvstat --compare before.csv.zst after.csv.zst"},
    {0},
};
