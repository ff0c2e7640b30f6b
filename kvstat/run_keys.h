/* run_keys.h - the keys of the configuration that a run had in force, as its summary tells them. */
#ifndef KVSTAT_RUN_KEYS_H
#define KVSTAT_RUN_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/json/jsonin.h"

enum {
    RUN_KEYS_TEXT = 512 /* bytes of a key and its value, with the NUL; more is cut */
};

/* Whether the document tells of them. */
bool run_keys_known(const struct jsonin_v *root);
/* Writes the next key that has another value than its default, "rings=4", and moves *at, which
 * begins with 0. False: there are no more. Keys that change no row, such as threads, are none. */
bool run_keys_next(const struct jsonin_v *root, size_t *at, char text[RUN_KEYS_TEXT]);
/* Writes the i-th key of the shared sections that has another value than its default,
 * "autoscaler.max_users=9". False: there are no more. */
bool run_keys_shared(const struct jsonin_v *root, size_t i, char text[RUN_KEYS_TEXT]);

#endif
