/* lanes.h - which of a client's threads an operation is of: the lowest that is free when it starts,
 * so that their number is that of the operations in flight. */
#ifndef KVGEN_LANES_H
#define KVGEN_LANES_H

#include <stdint.h>

struct lanes;

struct lanes *lanes_create(void); /* NULL: no memory */
void lanes_free(struct lanes *l);
/* The lane (from 0) of an operation from start_ns to end_ns; starts never go back. A lane is free
 * again at the end of its operation. 0 or -ENOMEM. */
int lanes_take(struct lanes *l, int64_t start_ns, int64_t end_ns, unsigned *lane);

#endif
