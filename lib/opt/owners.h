/* Which of the four programs have an option, so that each can name the owner of an option that it
 * does not have itself. The library cannot see the programs' tables: the Makefile makes this list
 * of them. */
#ifndef KVTRACE_OPT_OWNERS_H
#define KVTRACE_OPT_OWNERS_H

/* The names of options, without "--", with each program that takes it; old ones and aliases too. A
 * NULL ends the list. */
struct opt_owner {
    const char *option, *program;
};
extern const struct opt_owner opt_owners[];

#endif
