/* line.h - whether the requests in an engine become more and more. One at a time. */
#ifndef KVGEN_ANSWER_LINE_H
#define KVGEN_ANSWER_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests in the engine, each time that one is done. Zero it first; owned. */
struct line {
    uint64_t *here;
    size_t count, cap;
};

void line_free(struct line *l);
/* 0 or -ENOMEM. */
int line_add(struct line *l, uint64_t here);
/* The mean of the last third is above that of the first by half of it, and by a twentieth of the
 * requests that were done, and that of the middle one lies between them, a quarter of the way from
 * each at least: lines come and go, too. */
bool line_grows(const struct line *l);

#endif
