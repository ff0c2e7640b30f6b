/* json_leaves.h - the single figures of a JSON report by their names, for forms of it that are
 * flat. */
#ifndef KVSTAT_REPORT_JSON_LEAVES_H
#define KVSTAT_REPORT_JSON_LEAVES_H

enum json_leaf_kind {
    JSON_LEAF_UNKNOWN, /* null */
    JSON_LEAF_NUMBER,
    JSON_LEAF_TEXT /* also true, false, and texts of an array, separated by "; " */
};

/*
 * path: the members' names from the root, separated by dots; an element of an array goes by the
 * text of its first member, or by the texts of that member's members, separated by slashes:
 * "groups.Tier-2/Read/Decode.service_us.p95", "cache.tiers.Tier-0.read_ops". Lent.
 */
struct json_leaf {
    const char *path, *text; /* text: as in the JSON, without quotes; "" when unknown */
    enum json_leaf_kind kind;
    double number;
};
/* 0, or a negative errno, which ends the walk. */
typedef int (*json_leaf_fn)(void *arg, const struct json_leaf *leaf);

/* A number's text: whole ones as such, others in the fewest digits that read back the same. */
enum {
    JSON_LEAF_NUMBER_LEN = 32
};
void json_leaf_format_number(char text[JSON_LEAF_NUMBER_LEN], double number);

struct jsonin_v; /* lib/json/jsonin.h */

/* Calls fn for every leaf in the document's order. 0, or what fn returned. */
int json_leaves_walk(const struct jsonin_v *root, json_leaf_fn fn, void *arg);

#endif
