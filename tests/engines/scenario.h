/* scenario.h - a folder of recorded decisions: config.json and input.jsonl (plain or .zst), and the
 * file with the truth, which each engine's driver reads for itself. */
#ifndef TESTS_ENGINES_SCENARIO_H
#define TESTS_ENGINES_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kvgen/cache/cache.h"
#include "lib/base/err.h"
#include "lib/json/jsonin.h"
#include "lib/trace/frame.h"

/* One row of input.jsonl. */
struct scenario_row {
    int64_t timestamp;
    uint64_t input_tokens, output_tokens;
    const uint64_t *ids; /* lent */
    uint64_t id_count;
    int64_t priority;
    uint64_t max_load_tokens, max_offload_tokens; /* KV_NO_LIMIT: the row says nothing */
};

struct scenario {
    const char *folder, *name; /* name: the last part of folder */
    struct jsonin *config;
    struct scenario_row *row;
    uint64_t rows;
    uint64_t *ids; /* of all rows */
    bool writes;   /* what comes out is written where the truth would be, and not compared */
};

/* Reads config.json and input.jsonl. 0, or a negative errno with *e. folder stays the caller's. */
int scenario_open(struct scenario *s, const char *folder, struct err *e);
void scenario_close(struct scenario *s);

/* Settings of config.json by their path ("scheduler.watermark"); absent or null: otherwise. */
uint64_t scenario_u64(const struct scenario *s, const char *path, uint64_t otherwise);
double scenario_f64(const struct scenario *s, const char *path, double otherwise);
bool scenario_bool(const struct scenario *s, const char *path, bool otherwise);
const char *scenario_text(const struct scenario *s, const char *path, const char *otherwise);

/* Opens FOLDER/file, or FOLDER/file.zst where only that is there. 0 or a negative errno. */
int scenario_file(const struct scenario *s, const char *file, struct frame_in **out, struct err *e);

/* Creates FOLDER/file; the caller closes it. 0 or a negative errno. */
int scenario_create(const struct scenario *s, const char *file, FILE **out, struct err *e);

/* The pieces of a row's chain: an id for each id_tokens tokens, then the answer, which is the row's
 * own. own_tail: so is a last id that is not whole; else its tokens are the first ones of that id.
 * Writes id_count + 2 pieces at most, returns how many. */
uint64_t scenario_pieces(const struct scenario *s, uint64_t row, uint64_t id_tokens, bool own_tail,
                         struct chain_piece *out);

/* The findings of a driver: differences between truth and simulation. Zero it. */
struct scenario_outcome {
    uint64_t steps, compared, differences; /* steps (or requests) and single facts compared */
    char first[1000];                      /* the first difference, for people */
};
/* Counts a fact that is equal, or not: then the text says where, what was recorded and what came
 * out. */
void scenario_equal(struct scenario_outcome *o);
void scenario_differs(struct scenario_outcome *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Runs the scenario and compares. 0, or a negative errno with *e (a setting that is not known, no
 * memory). One for each engine, in a file of its name. */
typedef int (*scenario_driver)(const struct scenario *s, struct scenario_outcome *o, struct err *e);
int drive_lmcache(const struct scenario *s, struct scenario_outcome *o, struct err *e);
int drive_sglang(const struct scenario *s, struct scenario_outcome *o, struct err *e);
int drive_vllm(const struct scenario *s, struct scenario_outcome *o, struct err *e);

#endif
