/* conf_store.h - what a configuration file said, by path; filled by conf.c, which alone uses this
 * header. The questions that programs ask stand in conf.h. */
#ifndef KVTRACE_CONF_CONF_STORE_H
#define KVTRACE_CONF_CONF_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/conf/conf_value.h"

#define CONF_STORE_ROOT SIZE_MAX
enum {
    CONF_STORE_MAX = 4096
};

/* With every default of the table; NULL: no memory. Freed by conf_free. */
struct conf *conf_store_create(const char *path);

/* Adds a key or section of the section parent (CONF_STORE_ROOT at the top); *i its index. -EEXIST:
 * it is there, *i is its index; -E2BIG: CONF_STORE_MAX reached; -ENOMEM. */
int conf_store_add(struct conf *c, size_t parent, const char *name, unsigned line, size_t *i);
/* Takes over *v as the value of key i. */
void conf_store_set(struct conf *c, size_t i, const struct conf_key *row,
                    const struct conf_value *v);
/* Adds the warning "FILE:LINE: key PATH WHAT". 0 or -ENOMEM. */
int conf_store_warn(struct conf *c, size_t i, const char *what);

const char *conf_store_path(const struct conf *c, size_t i); /* lent until conf_free */
unsigned conf_store_line(const struct conf *c, size_t i);

#endif
