/* conf_table.h - finding rows of conf_keys; used by the files of conf only. */
#ifndef KVTRACE_CONF_CONF_TABLE_H
#define KVTRACE_CONF_CONF_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/conf/conf.h"

enum {
    CONF_NAME_MAX = 128
};

enum conf_table_match {
    CONF_TABLE_NONE,
    CONF_TABLE_SECTION,
    CONF_TABLE_KEY
};

/* Do the n names, from the root down, lead to a key (then *row is set) or to a section? */
enum conf_table_match conf_table_find(const char *const *names, size_t n,
                                      const struct conf_key **row);

/* What the last of the n names most likely stands for: a name beside it, or a key with that name in
 * another section (then its path). false: no idea. */
bool conf_table_guess(const char *const *names, size_t n, char guess[CONF_NAME_MAX]);

/* The row that an exact path names ('*' replaced by a name, which may hold dots), NULL if none. */
const struct conf_key *conf_table_row(const char *path);
/* Rows of conf_keys. */
size_t conf_table_count(void);

#endif
