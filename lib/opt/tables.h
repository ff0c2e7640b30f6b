/* The tables of options of all four programs. Each is a file of its program, which knows its
 * fields; the Makefile links all four into each program, so that one can name the owner of an
 * option that it does not have, and check the sections of the others in a configuration. */
#ifndef KVTRACE_OPT_TABLES_H
#define KVTRACE_OPT_TABLES_H

#include <stddef.h>

#include "lib/opt/table.h"

extern const struct opt kvgen_options[], kvreplay_options[], kvstat_options[], kvprecond_options[];

struct opt_program {
    const char *name; /* of the program, and of its section in a configuration */
    const struct opt *table;
};
enum {
    OPT_PROGRAMS = 4
};
extern const struct opt_program opt_programs[OPT_PROGRAMS];

/* The program with this name (len bytes), NULL: none. */
const struct opt_program *opt_program_named(const char *name, size_t len);
/* The program whose table this is, NULL: none of the four. */
const struct opt_program *opt_program_of(const struct opt *table);

enum {
    OPT_KEY_MAX = 64 /* bytes of a key without its section, with the NUL */
};
/* Writes the key of a row within its program's section, "lag_limit" for lag-limit; returns buf. */
const char *opt_key(const struct opt *o, char buf[OPT_KEY_MAX]);
/* The row that is a key of the configuration with this name (OPT_CONFIG); NULL: none. */
const struct opt *opt_key_named(const struct opt *table, const char *key);

#endif
