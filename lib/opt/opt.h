/* The command line: parses argv by the program's table of options into the fields of its options
 * struct, answers --help and --version, and refuses options without meaning in a mode. */
#ifndef KVTRACE_OPT_OPT_H
#define KVTRACE_OPT_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/opt/table.h"

struct opt_parser;

/* Creates a parser for table over the options struct at fields, and sets every field to its
 * default. usage is the synopsis without the program's name. table, fields and usage stay the
 * caller's. NULL: no memory. Every program has -h/--help and --version in addition. */
struct opt_parser *opt_open(const char *program, const char *usage, const struct opt *table,
                            void *fields);
/* An optional part of the program, for --version: it says which of them the build lacks. name lives
 * as long as p: "S3 (libcurl)". p may be NULL. */
void opt_part(struct opt_parser *p, const char *name, bool built);
void opt_close(struct opt_parser *p);

/*
 * Parses argv[1..argc) as getopt_long does: --name value, --name=value, -nvalue, -abc; "--" ends
 * the options; "-" is an operand. Long names cannot be abbreviated, because scripts outlive
 * abbreviations. Returns 0; 1 when --help or --version was given (opt_answer has the text); -EINVAL
 * with *e for an unknown option (naming the programs that have it, or the nearest name) or a
 * missing or bad value (with its range). An option that is a key of the configuration now
 * (OPT_CONFIG) is kept for conf_read, if there is an option --config (opt_moved).
 */
int opt_parse(struct opt_parser *p, int argc, char **argv, struct err *e);
/* The text that --help or --version asked for, valid until opt_close. */
const char *opt_answer(const struct opt_parser *p);
/* Prints it to standard output. 0 or -errno with *e. */
int opt_print_answer(const struct opt_parser *p, struct err *e);

/* Sets an option (long name) that was not given to a value as of the command line. It still counts
 * as not given. 0 or -EINVAL with *e. */
int opt_preset(struct opt_parser *p, const char *name, const char *value, struct err *e);

/* The table of opt_open. */
const struct opt *opt_table(const struct opt_parser *p);
/* An option of an old command line that is a key of the configuration now. It was taken as
 * --config KEY=VALUE, behind all others. */
struct opt_moved {
    const struct opt *option;
    const char *setting; /* "rings=4" */
    const char *note; /* for people, once for each option: "--rings: taken, but use --config rings=4
                         (kvreplay.rings in a file)"; NULL: an earlier one has it */
};
/* The i-th of them in the order of the command line, NULL past the end. Valid until opt_close. */
const struct opt_moved *opt_moved(const struct opt_parser *p, size_t i);
/* Sets a row that is a key of the configuration (OPT_CONFIG) to what a configuration says; of a
 * list each call adds a text. text is copied, and so is file, the place "FILE:LINE"; NULL: it is of
 * this command line. The row counts as given; that of a file until it is found that it has no
 * meaning. 0, -ENOMEM, or -EINVAL with *e. */
int opt_configure(struct opt_parser *p, const struct opt *o, const char *text, const char *file,
                  struct err *e);
enum {
    OPT_PLACE_MAX = 320 /* bytes of such a place, with the NUL */
};
/* An error of "--config KEY" whose value is that of a file: names the place and the whole key
 * instead, "FILE:LINE: PROGRAM.KEY". Any other is left alone. */
void opt_tell_place(const struct opt_parser *p, struct err *e);
/* The number that a text is for a row that takes numbers, in the row's unit (bytes, ns, GiB). 0, or
 * -EINVAL or -ERANGE. */
int opt_number(const struct opt *o, const char *text, double *value);
/* Reads the text of a flag: 1 ("true", "Yes", "ON"), 0 ("false", "No", "OFF"), -1: neither. */
int opt_truth(const char *text);
/* Checks a text as a value of any program's row. 0 or -EINVAL with *e. */
int opt_check_text(const struct opt *o, const char *text, struct err *e);

/* Returns whether the option (long name) was given. An unknown name is an assertion. */
bool opt_given(const struct opt_parser *p, const char *name);
/* Returns the number of operands; *items lists them in order. */
size_t opt_operands(const struct opt_parser *p, const char *const **items);

/* A mode of the program, and which options have no meaning in it. */
struct opt_mode {
    bool on;          /* the program is in this mode */
    uint64_t refuses; /* options with one of these marks have no meaning */
    uint64_t takes;   /* if not 0, options without any of these marks have no meaning */
    const char *why;
};
/* Refuses options that were given and have no meaning in a mode that is on: -EINVAL with
 * "--NAME: WHY" in *e, for the first such mode and in it the first such option of the table. A key
 * of a file, which is for many runs, gets its default instead. 0: nothing to refuse. */
int opt_check_modes(const struct opt_parser *p, const struct opt_mode *modes, size_t n,
                    struct err *e);

/* Likewise one option (long name), of which it shows late that it has no meaning. It may not have
 * been given at all. */
int opt_refuse(const struct opt_parser *p, const char *name, const char *why, struct err *e);

/* Likewise options that do not take this source of input (a bit of struct opt.sources); why says
 * the reason, for the sources that an option takes. */
int opt_check_sources(const struct opt_parser *p, uint32_t source,
                      const char *(*why)(uint32_t takes, uint32_t source), struct err *e);

/* The i-th option of the table that decides the rows (no heading, no OPT_NO_EFFECT), NULL past the
 * end. *value points at its effective value, of the C type of its enum opt_type. */
const struct opt *opt_effective(const struct opt_parser *p, size_t i, const void **value);
/* A hash of the names and values of all options of opt_effective but the one named without, the
 * same in every process that was started with the same ones. */
struct hash128 opt_fingerprint(const struct opt_parser *p, const char *without);

#endif
