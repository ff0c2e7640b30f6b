/* gate.h - only the first so many users of a trace. One thread. */
#ifndef KVREPLAY_GATE_H
#define KVREPLAY_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/trace.h"

struct gate;

struct gate *gate_create(uint64_t users); /* NULL: no memory */
void gate_free(struct gate *g);
/* Of every row, in the order of the trace: is it one of the first users', or nobody's? */
bool gate_passes(struct gate *g, const struct trace_row *t);

#endif
