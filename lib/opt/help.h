/* Texts made from a table of options: --help, --list-options, and the words for one option that
 * errors use too. */
#ifndef KVTRACE_OPT_HELP_H
#define KVTRACE_OPT_HELP_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/opt/table.h"

/* The --help text, malloc'ed; NULL: no memory. usage as in opt_open. all: every option, those that
 * are rarely needed last; else the common ones, or all if the table marks none as common. */
char *opt_help_text(const char *program, const char *usage, const struct opt *table, bool all);
/* The --list-options text, malloc'ed; NULL: no memory. One line an option, for tests and shell
 * completions: "NAME<TAB>LETTER<TAB>TYPE<TAB>ARG<TAB>DEFAULT<TAB>HELP". ARG of an enum is its
 * choices. */
char *opt_help_listing(const struct opt *table);

/* Writes what the option takes, "duration; default: 1s; 0 to 1000s", to buf; returns buf. */
char *opt_help_value(const struct opt *o, char *buf, size_t n);
/* The option's argument as --help and errors name it ("FILE", "GiB"); "" for flags. */
const char *opt_help_arg(const struct opt *o);
/* Writes a bound of a key for people, without many digits ("2^30", "0.000001"), to buf; returns
 * buf. */
char *opt_help_number(double x, char *buf, size_t n);
/* Writes a bound of the option's range in its unit ("1.00 MiB", "65536") to buf; returns buf. */
char *opt_help_bound(const struct opt *o, double bound, char *buf, size_t n);

#endif
