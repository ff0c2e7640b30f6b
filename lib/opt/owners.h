/* Which of the four programs have an option, so that each can name the owner of an option that it
 * does not have itself. */
#ifndef KVTRACE_OPT_OWNERS_H
#define KVTRACE_OPT_OWNERS_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the programs that have the option name (without "--") to buf: "kvgen", "kvgen and kvstat",
 * "kvgen, kvreplay and kvstat". False: no program has it. */
bool opt_owners(const char *name, char *buf, size_t n);

#endif
