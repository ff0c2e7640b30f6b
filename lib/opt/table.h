/* One row of a program's table of options. The parser, --help, the completions, the configuration,
 * the provenance and a test against the man page all read this table. */
#ifndef KVTRACE_OPT_TABLE_H
#define KVTRACE_OPT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum opt_type {
    OPT_HEADING,   /* a title in --help; only .help is used */
    OPT_EXAMPLE,   /* a command line for the end of --help; only .help is used */
    OPT_FLAG,      /* bool; --x sets it; --no-x clears it, only if def is "on" */
    OPT_TEXT,      /* const char *, points into argv or at def */
    OPT_U64,       /* uint64_t */
    OPT_F64,       /* double */
    OPT_SHARE,     /* double: a part of a whole, 0.1 or 10% */
    OPT_SIZE,      /* uint64_t bytes, units_parse_size */
    OPT_GIB,       /* double, GiB: units_parse_size; a number without a unit is GiB */
    OPT_DURATION,  /* int64_t ns, units_parse_duration */
    OPT_BANDWIDTH, /* uint64_t bytes/s, units_parse_bandwidth */
    OPT_ENUM,      /* int, or an enum of that width: index into choices "a|b|c" */
    OPT_LIST       /* struct opt_list; each use of the option adds one text */
};

enum {
    OPT_LIST_MAX = 64
};
struct opt_list {
    const char *item[OPT_LIST_MAX];
    size_t count;
};

enum opt_flags {
    OPT_NO_EFFECT = 1, /* does not decide the rows (output, threads, progress): not in provenance */
    OPT_COMMON = 2,    /* in the short --help too */
    OPT_EXPERT = 4,    /* at the end of --help all */
    OPT_OLD = 8,       /* still taken, and listed nowhere: newer options do the same */
    OPT_ONE = 16,      /* OPT_LIST: one text is usual, and stands in JSON as an OPT_TEXT does */
    OPT_AUTO = 32,     /* OPT_GIB: takes auto, too, which the program replaces by a number */
    OPT_CONFIG = 64    /* a key of the configuration, and not on the command line */
};
#define OPT_AUTO_GIB (-1.0) /* the value of auto */

/* One option. Arrays end with an entry whose name and help are NULL. Every field except type, name
 * and help may be zero. */
struct opt {
    const char *name; /* without "--" */
    char letter;      /* short name, 0: none */
    enum opt_type type;
    size_t offset;       /* offsetof the field in the program's options struct */
    const char *arg;     /* name of the argument in --help: "FILE", "GiB", "N" */
    const char *def;     /* default, as text of that type; NULL: 0, false, NULL, empty */
    double min, max;     /* range of numbers (bytes, ns...); both 0: any >= 0; max < min: no max */
    const char *choices; /* OPT_ENUM */
    /* OPT_ENUM: a value that a related program takes and this one does not, and why. NULL: none. */
    const char *absent, *absent_why;
    const char *alias; /* other long names "a|b", taken and not shown; NULL: none */
    const char *key;   /* OPT_CONFIG: the key of conf_keys that says it; NULL: one of its own */
    unsigned flags;    /* enum opt_flags */
    uint32_t sources;  /* the program's own bits: the sources of input that take it; 0: all */
    uint64_t marks;    /* the program's own bits, for the modes in opt.h */
    const char *help;  /* one or two sentences, without the default: --help adds it */
};

/* The first members of a row: name, type, and the field in the program's struct of options. Each
 * table defines AT(field) as the field's offset. */
#define OPT_HEAD(name_, type_, field) .name = (name_), .type = (type_), .offset = AT(field)

/* Returns whether the row is an option, not a heading or an example. */
static inline bool opt_is_option(const struct opt *o)
{
    return o->name != NULL;
}

#endif
