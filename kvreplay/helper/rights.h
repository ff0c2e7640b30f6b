/* The one right that kvtrace-trace needs: to use tracefs, whose folders are root's. */
#ifndef KVREPLAY_HELPER_RIGHTS_H
#define KVREPLAY_HELPER_RIGHTS_H

#include <stdbool.h>

/* Gives up every capability but CAP_DAC_OVERRIDE, for good, and what a debugger or a program that
 * is started could get of it. 0 or negative errno. */
int rights_limit(void);
/* Has the right in force, or not. Without the right, nothing happens. 0 or negative errno. */
int rights_use(bool on);

#endif
