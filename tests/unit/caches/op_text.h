/* op_text.h - the operations of a cache as one text, "store 1 2, evict 3": equal neighbours are
 * told together. */
#ifndef TESTS_UNIT_CACHES_OP_TEXT_H
#define TESTS_UNIT_CACHES_OP_TEXT_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct op_text {
    char text[4000];
    size_t len;
    const char *last; /* operation */
};

static inline void op_text_add(struct op_text *t, const char *op, uint64_t id)
{
    const char *before = t->last == op ? "" : t->len > 0 ? ", " : "";
    int n = snprintf(t->text + t->len, sizeof(t->text) - t->len, "%s%s %" PRIu64, before,
                     t->last == op ? "" : op, id);
    assert_true(n > 0 && t->len + (size_t)n < sizeof(t->text));
    t->len += (size_t)n;
    t->last = op;
}

/* Compares what came since the last call. */
#define op_text_is(t, wanted)                                                                      \
    do {                                                                                           \
        assert_string_equal((t)->text, wanted);                                                    \
        *(t) = (struct op_text){0};                                                                \
    } while (0)

#endif
