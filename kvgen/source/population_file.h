/* population_file.h - the inside of population.h: rows of a users file into a population. */
#ifndef KVGEN_SOURCE_POPULATION_FILE_H
#define KVGEN_SOURCE_POPULATION_FILE_H

#include <stdbool.h>

#include "kvgen/source/population.h"

/* Adds a user; the name is copied. There must be room (population_full). 0 or -ENOMEM. */
int population_add(struct population *p, const struct person *person, const char *name, size_t len);
bool population_full(const struct population *p);
/* Adds the rows of the file until p is full or the file ends. */
int population_read(struct population *p, const char *path, struct err *e);

#endif
