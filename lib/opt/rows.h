/* Rows that several programs have in their tables of options. `at` is the offsetof the field,
 * `marks_` the program's marks of the row. */
#ifndef KVTRACE_OPT_ROWS_H
#define KVTRACE_OPT_ROWS_H

#include "lib/opt/table.h"

/* bool */
#define OPT_ROW_ZSTD(at, marks_)                                                                   \
    {                                                                                              \
        .name = "zstd", .letter = 'z', .type = OPT_FLAG, .offset = (at), .flags = OPT_NO_EFFECT,   \
        .marks = (marks_),                                                                         \
        .help = "Compress the rows with zstd, as if the name of the output ended in .zst."         \
    }

/* uint64_t, for trace_write_opts and frame_encoder_create */
#define OPT_ROW_LEVEL(at, marks_)                                                                  \
    {                                                                                              \
        .name = "level", .type = OPT_U64, .offset = (at), .arg = "N", .def = "3", .min = 1,        \
        .max = 19, .flags = OPT_NO_EFFECT | OPT_CONFIG, .marks = (marks_),                         \
        .help = "Compression level."                                                               \
    }

/* enum opt_frames */
enum opt_frames {
    OPT_FRAMES_MANY,
    OPT_FRAMES_ONE
};
#define OPT_ROW_FRAMES(at, marks_)                                                                 \
    {                                                                                              \
        .name = "frames", .type = OPT_ENUM, .offset = (at), .def = "many", .choices = "many|one",  \
        .flags = OPT_NO_EFFECT | OPT_CONFIG, .marks = (marks_),                                    \
        .help = "many: independent frames with a seek table; one: for readers that stop after "    \
                "the first."                                                                       \
    }

/* bool */
#define OPT_ROW_NOTES(at, marks_)                                                                  \
    {                                                                                              \
        .name = "notes", .type = OPT_FLAG, .offset = (at), .def = "on",                            \
        .flags = OPT_NO_EFFECT | OPT_EXPERT, .marks = (marks_),                                    \
        .help = "Add Note rows to uncompressed rows, with what compressed files hold besides."     \
    }

/* const char * */
#define OPT_ROW_SUMMARY(at, marks_)                                                                \
    {                                                                                              \
        .name = "summary", .type = OPT_TEXT, .offset = (at), .arg = "FILE",                        \
        .flags = OPT_NO_EFFECT | OPT_COMMON, .marks = (marks_),                                    \
        .help = "Also write the summary as JSON; -: standard output."                              \
    }

/* int64_t, ns; of remote stores, as the next */
#define OPT_ROW_TIMEOUT(at, marks_)                                                                \
    {                                                                                              \
        .name = "timeout", .type = OPT_DURATION, .offset = (at), .arg = "TIME", .def = "60s",      \
        .min = 1e6, .max = 1e14, .flags = OPT_CONFIG, .marks = (marks_),                           \
        .help = "Fail an operation on a remote store (ETIMEDOUT) after this time without "         \
                "progress."                                                                        \
    }

/* uint64_t */
#define OPT_ROW_RETRIES(at, marks_)                                                                \
    {                                                                                              \
        .name = "retries", .type = OPT_U64, .offset = (at), .arg = "N", .def = "0", .max = 1000,   \
        .flags = OPT_CONFIG, .marks = (marks_),                                                    \
        .help = "Repeat a request to a remote store at most N times after an error that may "      \
                "pass: a busy server, a lost connection, no progress. Times include all attempts." \
    }

/* enum progress_mode */
#define OPT_ROW_PROGRESS(at, marks_)                                                               \
    {                                                                                              \
        .name = "progress", .type = OPT_ENUM, .offset = (at), .def = "auto",                       \
        .choices = "auto|none|text|json", .flags = OPT_NO_EFFECT, .marks = (marks_),               \
        .help = "Show a line a second on standard error. auto: on a terminal."                     \
    }

#endif
