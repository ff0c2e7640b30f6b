/* opt_rows.h - rows that stand in the tables of options of several programs, each with all but
 * where its field lies: at is the offsetof. Names after OPT_ROW_ are the option's (Makefile,
 * opt_owners). */
#ifndef KVTRACE_OPT_OPT_ROWS_H
#define KVTRACE_OPT_OPT_ROWS_H

#include "lib/base/progress.h"
#include "lib/opt/opt.h"

/* Of programs that write rows. bool */
#define OPT_ROW_ZSTD(at)                                                                           \
    {                                                                                              \
        .name = "zstd", .letter = 'z', .type = OPT_FLAG, .offset = (at), .flags = OPT_NO_EFFECT,   \
        .help = "Compress the rows with zstd; a FILE that ends in .zst is compressed anyway."      \
    }

/* uint64_t, for trace_write_opts and frame_encoder_create */
#define OPT_ROW_LEVEL(at)                                                                          \
    {                                                                                              \
        .name = "level", .type = OPT_U64, .offset = (at), .arg = "N", .def = "3", .min = 1,        \
        .max = 19, .flags = OPT_NO_EFFECT, .help = "Compression level."                            \
    }

/* int, enum opt_frames */
enum opt_frames {
    OPT_FRAMES_MANY,
    OPT_FRAMES_ONE
};
#define OPT_ROW_FRAMES(at)                                                                         \
    {                                                                                              \
        .name = "frames", .type = OPT_ENUM, .offset = (at), .arg = "HOW", .def = "many",           \
        .choices = "many|one", .flags = OPT_NO_EFFECT,                                             \
        .help =                                                                                    \
            "Independent frames with a seek table, or one frame for readers that stop after it."   \
    }

/* const char * */
#define OPT_ROW_SUMMARY(at)                                                                        \
    {                                                                                              \
        .name = "summary", .type = OPT_TEXT, .offset = (at), .arg = "FILE",                        \
        .flags = OPT_NO_EFFECT, .help = "Write the summary as JSON too; - is standard output."     \
    }

/* int, enum progress_mode */
#define OPT_ROW_PROGRESS(at)                                                                       \
    {                                                                                              \
        .name = "progress", .type = OPT_ENUM, .offset = (at), .arg = "HOW", .def = "auto",         \
        .choices = "auto|none|text|json", .flags = OPT_NO_EFFECT,                                  \
        .help = "A line a second on standard error; auto: on a terminal."                          \
    }

#endif
