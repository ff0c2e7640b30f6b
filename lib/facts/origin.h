/* origin.h - where the bytes of Tier-2's reads came from, and where those of its writes were at the
 * end of the run: parts of what rows asked for, as facts and as a line of text. */
#ifndef KVTRACE_FACTS_ORIGIN_H
#define KVTRACE_FACTS_ORIGIN_H

#include "lib/facts/facts.h"

/* In the order of the facts. */
enum origin_part {
    ORIGIN_DEVICE,      /* the device moved them */
    ORIGIN_PAGE_CACHE,  /* the page cache had them */
    ORIGIN_CACHE_BELOW, /* a cache below the file system: that of a loop device's file */
    ORIGIN_SAVED,       /* nobody moved them: compressed or deduplicated */
    ORIGIN_MEMORY,      /* the target is memory */
    ORIGIN_SERVER,      /* a store over the network; what it has its bytes in is not known here */
    ORIGIN_UNKNOWN,     /* nobody counts for this target */
    ORIGIN_PARTS
};

/* Plain values, in bytes. */
struct origin {
    double asked; /* by rows; the parts add up to it. NAN: not known */
    double part[ORIGIN_PARTS];
};

/* The fact of what was asked for (part ORIGIN_PARTS) or of a part, of FACTS_OF_READS or _WRITES. */
enum fact_id origin_fact(enum fact_scope scope, enum origin_part part);
/* Puts what is known of reads or writes. */
void origin_put(struct facts *f, enum fact_scope scope, const struct origin *o);
/* Share (0..1) of the bytes that no device moved although they were asked of one: from a cache, or
 * from memory. Bytes that were saved, and what nobody counted, are none of them. */
double origin_not_device(const struct origin *o);
/* "41.2 GiB asked = 40.9 device + 0.3 page cache", all in the unit of the first; parts that are 0
 * in it are left out. "": not known, or nothing was asked. Returns buf. */
enum {
    ORIGIN_TEXT = 240
};
const char *origin_text(char buf[ORIGIN_TEXT], const struct origin *o);
/* "25 % of the bytes of hits never touched the device", of hits in all tiers; "": not known, or
 * there were none. Returns buf. */
const char *origin_hits_text(char buf[ORIGIN_TEXT], double hits_bytes, double device_bytes);

#endif
