/* opt_owners.h - the options of all programs, so that each can say whose one is that it does not
 * know. The table is made from the programs' own when the library is built. */
#ifndef KVTRACE_OPT_OPT_OWNERS_H
#define KVTRACE_OPT_OPT_OWNERS_H

struct opt_owner {
    const char *name; /* of the option, without "--"; NULL ends the table */
    const char *program;
};
extern const struct opt_owner opt_owners[];

#endif
