/* Suggestions for mistyped options, configuration keys and model ids. Only error paths come here,
 * so plain dynamic programming is fast enough. */
#include "lib/base/nearest.h"

#include <stdio.h>
#include <string.h>

enum {
    NEAREST_MAX = 96
};

/* Levenshtein distance (insert, delete, replace), one row at a time. */
static size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t row[NEAREST_MAX + 1];

    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t above = row[j];
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (above + 1 < best)
                best = above + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[b_len];
}

void nearest_offer(struct nearest *n, const char *name)
{
    size_t typed_len = strlen(n->typed), name_len = strlen(name);
    size_t limit = 1 + typed_len / 3;
    size_t distance;

    if (typed_len >= NEAREST_MAX || name_len >= NEAREST_MAX || typed_len == 0)
        return;
    distance = edit_distance(n->typed, typed_len, name, name_len);
    if (typed_len >= 3 && distance > 1 && strncmp(n->typed, name, typed_len) == 0)
        distance = 1;
    if (distance > limit || (n->best && distance >= n->distance))
        return;
    n->best = name;
    n->distance = distance;
}

const char *nearest_hint(const struct nearest *n, char buf[NEAREST_HINT])
{
    snprintf(buf, NEAREST_HINT, "%s%s%s", n->best ? "; did you mean " : "", n->best ? n->best : "",
             n->best ? "?" : "");
    return buf;
}
