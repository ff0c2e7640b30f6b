/* residency.h - how much of the files in a target's directory the page cache holds. */
#ifndef KVREPLAY_RESIDENCY_H
#define KVREPLAY_RESIDENCY_H

/* Share (0..1) of the objects' bytes that mincore(2) sees in the page cache, below the directory
 * target (xx/NAME.kv; no more than some thousand files are looked at) or in the slab that it is.
 * -1: there are none, or it cannot be told. */
double residency_share(int target);

#endif
