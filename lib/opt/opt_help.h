/* opt_help.h - the texts that are made from a table of options; used by opt.c only. */
#ifndef KVTRACE_OPT_OPT_HELP_H
#define KVTRACE_OPT_OPT_HELP_H

#include <stddef.h>

#include "lib/opt/opt.h"

/* The --help text and the --list-options text, malloc'ed; NULL: no memory. */
char *opt_help_text(const char *program, const char *usage, const struct opt *table);
char *opt_help_listing(const struct opt *table);

/* "FILE", "GiB"...: the option's argument as --help and errors name it; "" for flags. */
const char *opt_help_arg(const struct opt *o);
/* A bound of the option's range in its unit ("1.00 MiB", "65536"), into buf; returns buf. */
char *opt_help_bound(const struct opt *o, double bound, char *buf, size_t n);

#endif
