/* opt.h - one table of options per program: the parser, --help, the completions, the effective
 * options in provenance and a test against the man page all read it. */
#ifndef KVTRACE_OPT_OPT_H
#define KVTRACE_OPT_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

enum opt_type {
    OPT_HEADING,   /* a title in --help; only .help is used */
    OPT_FLAG,      /* bool; --x sets it, --no-x clears it only if def is "on" */
    OPT_TEXT,      /* const char *, points into argv or at def */
    OPT_U64,       /* uint64_t */
    OPT_F64,       /* double */
    OPT_SIZE,      /* uint64_t bytes, units_parse_size */
    OPT_DURATION,  /* int64_t ns, units_parse_duration */
    OPT_BANDWIDTH, /* uint64_t bytes/s */
    OPT_ENUM,      /* int: index into choices "a|b|c" */
    OPT_LIST       /* struct opt_list; may be given several times, each adds one text */
};

enum {
    OPT_LIST_MAX = 64
};
struct opt_list {
    const char *item[OPT_LIST_MAX];
    size_t count;
};

enum opt_flags {
    OPT_NO_EFFECT = 1 /* does not decide the rows (output, threads, progress): not in provenance */
};

/* One option. Arrays end with an entry whose name and help are NULL. Every field but type, name
 * and help may be left zero. */
struct opt {
    const char *name; /* without "--" */
    char letter;      /* short name, 0: none */
    enum opt_type type;
    size_t offset;       /* offsetof the field in the program's options struct */
    const char *arg;     /* name of the argument in --help: "FILE", "GiB", "N" */
    const char *def;     /* default, as text of that type; NULL: 0, false, NULL, empty */
    double min, max;     /* range of numbers (bytes, ns...); both 0: any >= 0; max < min: no max */
    const char *choices; /* OPT_ENUM */
    const char *alias;   /* another long name, NULL: none */
    unsigned flags;      /* enum opt_flags */
    const char *help;    /* one or two sentences, without the default: --help adds it */
};

struct opt_parser;

/* A parser for the NULL-terminated table over the options struct at fields. Sets every field to its
 * default. usage is the synopsis line without the program's name. Both stay the caller's.
 * NULL: no memory. -h/--help and --version are added to every table. */
struct opt_parser *opt_open(const char *program, const char *usage, const struct opt *table,
                            void *fields);
void opt_close(struct opt_parser *p);

/*
 * Parses argv[1..argc) as getopt_long does: --name value, --name=value, -nvalue, -abc, "--" ends
 * options, "-" is an operand. Long names may not be abbreviated (scripts outlive abbreviations).
 * Returns 0; 1 when --help or --version was asked (opt_answer gives the text); -EINVAL with *e
 * (unknown option with the programs of ours that have it, or else the nearest name suggested;
 * missing or bad value with its range).
 */
int opt_parse(struct opt_parser *p, int argc, char **argv, struct err *e);
/* The text that --help or --version asks for; valid until opt_close. */
const char *opt_answer(const struct opt_parser *p);
/* Writes it to standard output: 0 or -errno with *e. */
int opt_print_answer(const struct opt_parser *p, struct err *e);

/* Was the option (long name) given on the command line? Unknown name: assertion. */
bool opt_given(const struct opt_parser *p, const char *name);
/* Operands in order. */
size_t opt_operands(const struct opt_parser *p, const char *const **items);

/* -EINVAL with *e naming the first of the NULL-terminated names that was given: "--NAME: WHY". For
 * options without meaning in the chosen mode. 0 when none was given. */
int opt_refuse(const struct opt_parser *p, struct err *e, const char *why, ...);

/* The i-th option of the table that decides the rows (no heading, no OPT_NO_EFFECT) and where its
 * effective value lies (of the C type that enum opt_type names); NULL past the end. For provenance:
 * jsonout_options. */
const struct opt *opt_effective(const struct opt_parser *p, size_t i, const void **value);

/* One line an option, "NAME<TAB>LETTER<TAB>TYPE<TAB>ARG<TAB>DEFAULT<TAB>HELP", ARG of an enum being
 * its choices, for tests and completions (every program has the undocumented --list-options that
 * prints it). */
const char *opt_listing(struct opt_parser *p);

#endif
