/* settings.h - what differs between two runs beside what was measured: the options of their
 * commands, the host, the layers below the target. */
#ifndef KVSTAT_REPORT_SETTINGS_H
#define KVSTAT_REPORT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "kvstat/report/run_table.h"

/* One of the runs of a table. */
struct settings_of {
    const struct run_table *table;
    size_t run;
};

/* "inflight 8, 64; buffered no, yes": each option with its value in base and in new, and host,
 * kernel, file_system and layers where both are known. Of targets, number and kind are told, not
 * the place; where no option differs, what was in force. Names of files and how results are written
 * are left out, and so are the options of timing, which compare.c tells in their own sentence.
 * Options and keys are compared where both commands are known and of one program: keys as they were
 * in force, whether a file or the command gave them; those of a run that does not tell, as they
 * stand in its command. False, and "": nothing differs. */
bool settings_differ(char *buf, size_t n, struct settings_of base, struct settings_of new);

#endif
