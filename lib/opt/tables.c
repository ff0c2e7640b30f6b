/* Finds programs, and rows that are keys of the configuration, by their names. */
#include "lib/opt/tables.h"

#include <string.h>

const struct opt_program opt_programs[OPT_PROGRAMS] = {
    {"kvgen", kvgen_options},
    {"kvreplay", kvreplay_options},
    {"kvstat", kvstat_options},
    {"kvprecond", kvprecond_options},
};

const struct opt_program *opt_program_named(const char *name, size_t len)
{
    for (size_t i = 0; i < OPT_PROGRAMS; i++)
        if (strlen(opt_programs[i].name) == len && memcmp(opt_programs[i].name, name, len) == 0)
            return &opt_programs[i];
    return NULL;
}

const struct opt_program *opt_program_of(const struct opt *table)
{
    for (size_t i = 0; i < OPT_PROGRAMS; i++)
        if (opt_programs[i].table == table)
            return &opt_programs[i];
    return NULL;
}

const char *opt_key(const struct opt *o, char buf[OPT_KEY_MAX])
{
    size_t n = 0;

    for (const char *c = o->name; *c && n + 1 < OPT_KEY_MAX; c++)
        buf[n++] = *c == '-' ? '_' : *c;
    buf[n] = '\0';
    return buf;
}

const struct opt *opt_key_named(const struct opt *table, const char *key)
{
    char own[OPT_KEY_MAX];

    for (const struct opt *o = table; o->name || o->help; o++)
        if (opt_is_option(o) && o->flags & OPT_CONFIG && !o->key &&
            strcmp(opt_key(o, own), key) == 0)
            return o;
    return NULL;
}
