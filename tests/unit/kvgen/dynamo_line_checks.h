/* dynamo_line_checks.h - a line that the scan of dynamo_line takes is JSON, and its values are
 * those of the tree; for the test and the fuzzer. */
#ifndef TESTS_UNIT_KVGEN_DYNAMO_LINE_CHECKS_H
#define TESTS_UNIT_KVGEN_DYNAMO_LINE_CHECKS_H

#include <stdbool.h>
#include <string.h>

#include "kvgen/record/dynamo_line.h"

static inline bool same_text(const struct dynamo_text *a, const struct dynamo_text *b)
{
    return (a->p != NULL) == (b->p != NULL) &&
           (a->p == NULL || (a->len == b->len && memcmp(a->p, b->p, a->len) == 0));
}

static inline bool same_values(const struct dynamo_line *a, const struct dynamo_line *b)
{
    bool same = a->unknown_fields == b->unknown_fields && a->hashes_are == b->hashes_are &&
                a->hashes == b->hashes &&
                (a->hashes == 0 || memcmp(a->hash, b->hash, a->hashes * sizeof *a->hash) == 0);
    for (int i = 0; i < DYNAMO_TEXTS; i++)
        same = same && same_text(&a->text[i], &b->text[i]);
    for (int i = 0; i < DYNAMO_COUNTS; i++)
        same = same && a->count[i].there == b->count[i].there &&
               a->count[i].whole == b->count[i].whole && a->count[i].n == b->count[i].n;
    for (int i = 0; i < DYNAMO_TIMES; i++)
        same = same && a->time[i].number == b->time[i].number &&
               memcmp(&a->time[i].ms, &b->time[i].ms, sizeof a->time[i].ms) == 0;
    return same;
}

/* Lines that are left to the tree say nothing. */
static inline bool scanned_as_read(struct dynamo_line *scanned, const char *text, size_t len)
{
    struct dynamo_line read = {0};
    struct jsonin *d;
    struct err e = {0};
    if (dynamo_line_scan(scanned, text, len) != 1)
        return true;
    if (jsonin_parse(&d, text, len, "line", &e) < 0)
        return false;
    bool same = dynamo_line_read(&read, jsonin_root(d)) == 0 && same_values(scanned, &read);
    dynamo_line_free(&read);
    jsonin_free(d);
    return same;
}

#endif
