/* op_log.h - the operations of a cache, request by request, held against those of ops.jsonl
 * (engines that were recorded without steps: LMCache, SGLang). */
#ifndef TESTS_ENGINES_OP_LOG_H
#define TESTS_ENGINES_OP_LOG_H

#include "tests/engines/scenario.h"

/* Where the scenario says "writes", each comparison writes its line of ops.jsonl instead. */

struct op_log;

struct op_log_opts {
    uint64_t
        page_tokens;     /* how far apart the tokens of an answer's pages are in a range of names */
    const char *unnamed; /* an operation whose chunks are not compared, only how many; NULL: none */
    /* Operations whose names begin so are compared as a sequence of their own, since a thread of
     * the engine's did them while others went on. NULL: none. */
    const char *apart;
};
/* 0, or a negative errno with *e. The scenario stays the caller's. */
int op_log_open(struct op_log **out, const struct scenario *s, const struct op_log_opts *opts,
                struct err *e);
void op_log_close(struct op_log *l); /* takes NULL */

/* Gives a chunk or page the name that it has in the recordings. */
void op_log_name(struct op_log *l, uint64_t id, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* An operation of the cache. op is a constant text. _mark: one that names no chunk. */
void op_log_add(struct op_log *l, const char *op, uint64_t id);
void op_log_mark(struct op_log *l, const char *op, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Compares the operations since the last call with the next line of ops.jsonl. 1; 0: there is no
 * further line, the operations were not compared; or a negative errno with *e. */
int op_log_compare(struct op_log *l, struct scenario_outcome *o, struct err *e);
/* As op_log_compare, for a line whose operations were not recorded: only op_log_totals sees them.
 */
int op_log_skip(struct op_log *l, struct err *e);
/* Compares how many operations of each kind there were with "ops" of totals.json, at the end. */
int op_log_totals(const struct op_log *l, struct scenario_outcome *o, struct err *e);
/* Compares a number of the line that op_log_compare has read, where the line has it. */
void op_log_number(const struct op_log *l, struct scenario_outcome *o, const char *name,
                   uint64_t value);
/* Compares what a tier holds at the end with that of final_order.json; where the scenario has no
 * such file, nothing. ids: in the file's order. _contents: in no order; holds says of each chunk
 * that has a name whether it is there. 0 or a negative errno with *e. */
int op_log_order(struct op_log *l, struct scenario_outcome *o, const char *tier,
                 const uint64_t *ids, uint64_t count, struct err *e);
typedef bool (*op_log_holds)(const void *arg, const char *tier, uint64_t id);
int op_log_contents(struct op_log *l, struct scenario_outcome *o, const char *tier,
                    op_log_holds holds, const void *arg, struct err *e);

#endif
