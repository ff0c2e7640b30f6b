/* Writes the keys of a configuration that have another value than their default as JSON. */
#ifndef KVTRACE_CONF_GIVEN_H
#define KVTRACE_CONF_GIVEN_H

#include "lib/conf/conf.h"
#include "lib/json/jsonout.h"

/* Adds the member "configuration": the keys of these shared sections (the list ends with NULL) that
 * have another value than their default, by their paths. Nothing if there is none. */
void given_put(struct jsonout *j, const struct conf *c, const char *const *sections);

#endif
