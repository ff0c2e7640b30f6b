/* block_line_checks.h - a line that block_line takes is one that json-c takes, member for member;
 * for the test and the fuzzer. */
#ifndef TESTS_UNIT_KVGEN_BLOCK_LINE_CHECKS_H
#define TESTS_UNIT_KVGEN_BLOCK_LINE_CHECKS_H

#include <stdbool.h>
#include <string.h>

#include "kvgen/source/block_line.h"
#include "lib/json/jsonin.h"

static inline bool same_ids(const struct block_line *l, const struct block_line_member *m,
                            const struct jsonin_v *v)
{
    if (jsonin_count(v) != m->count)
        return false;
    for (size_t i = 0; i < m->count; i++) {
        const struct jsonin_v *element = jsonin_at(v, i);
        uint64_t id;
        size_t len;
        const char *text = jsonin_text(element, &len);
        int rc = text != NULL ? block_line_hash(text, len, &id) : jsonin_u64(element, &id);
        if (rc < 0 || id != l->id[m->first + i])
            return false;
    }
    return true;
}

static inline bool same_numbers(const struct block_line_member *m, const struct jsonin_v *v)
{
    int64_t whole[2] = {0, 0};
    double number[2] = {0, 0};
    return jsonin_i64(v, &whole[0]) == block_line_i64(m, &whole[1]) && whole[0] == whole[1] &&
           jsonin_f64(v, &number[0]) == block_line_f64(m, &number[1]) &&
           memcmp(&number[0], &number[1], sizeof number[0]) == 0;
}

static inline bool same_member(const struct block_line *l, size_t i, const struct jsonin_v *root)
{
    const struct block_line_member *m = &l->member[i];
    const char *name;
    const struct jsonin_v *v = jsonin_member(root, i, &name);
    if (v == NULL || strlen(name) != m->name_len || memcmp(name, m->name, m->name_len) != 0)
        return false;
    if (block_line_get(l, name) != m || !same_numbers(m, v))
        return false;
    if (m->kind == BLOCK_LINE_TEXT)
        return jsonin_text(v, NULL) != NULL;
    return m->kind != BLOCK_LINE_IDS || same_ids(l, m, v);
}

/* Lines that are left to json-c say nothing. */
static inline bool same_as_json(struct block_line *l, const char *text, size_t len)
{
    struct jsonin *d;
    struct err e = {0};
    const char *name;
    if (block_line_scan(l, text, len) != 1)
        return true;
    if (jsonin_parse(&d, text, len, "line", &e) < 0)
        return false;
    bool same = jsonin_member(jsonin_root(d), l->members, &name) == NULL;
    for (size_t i = 0; same && i < l->members; i++)
        same = same_member(l, i, jsonin_root(d));
    jsonin_free(d);
    return same;
}

#endif
