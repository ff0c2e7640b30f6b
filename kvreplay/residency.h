/* residency.h - how much of the files in a target's directory the page cache holds. */
#ifndef KVREPLAY_RESIDENCY_H
#define KVREPLAY_RESIDENCY_H

/* Share (0..1) of the objects' bytes below dirfd (xx/NAME.kv) that mincore(2) sees in the page
 * cache; looks at no more than some thousand files. -1: there are none, or it cannot be told. */
double residency_share(int dirfd);

#endif
