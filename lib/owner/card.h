/* Who works in a store, or what an earlier run left in it: the text of the marker (".kvtrace") of
 * every store, be it a folder, a Redis server or a bucket. */
#ifndef KVTRACE_OWNER_CARD_H
#define KVTRACE_OWNER_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OWNER_MARKER ".kvtrace" /* its name in the store */

enum {
    OWNER_BYTES = 512, /* a card's text with its final NUL; one sector where it is padded */
    CARD_LEASE_S = 60, /* without renewal for so long, nobody holds the store */
    CARD_PROGRAM = 32,
    CARD_HOST = 65,
    CARD_BOOT = 37
};

struct card {
    bool kept;    /* objects of a finished run; else a run is, or was, at work */
    bool keeps;   /* that run keeps its objects: they stay when it dies */
    bool unsure;  /* a run that keeps has died, or failed: objects may be torn */
    bool created; /* a folder that kvtrace made */
    char program[CARD_PROGRAM], host[CARD_HOST], boot[CARD_BOOT];
    int64_t pid;
    int64_t start_s;   /* wall clock of its host */
    int64_t renewed_s; /* the store's clock; without one, CLOCK_BOOTTIME of the host */
    uint64_t data_seed;
    /* 0 in markers that earlier versions wrote: */
    uint64_t pid_ns, time_ns; /* inodes of the process's namespaces; 0: not known */
    uint64_t born;            /* start of the process, in ticks (/proc/PID/stat); 0: not known */
    uint32_t epoch;           /* of the run, in the names of its objects; drawn, never 0 */
    uint32_t lease_s;
    uint32_t part_from, part_to; /* slots of the store's objects that are here; both 0: all */
};

/* Fills in who is here: a card of a run that begins now, with an epoch that was drawn. */
void card_here(struct card *c, const char *program);
/* Writes the text, which ends with a newline. */
void card_format(const struct card *c, char text[OWNER_BYTES]);
/* Copies what lies in a marker's place to text. If it is too long, or goes on behind a NUL, it is
 * no marker of ours, and text becomes "?". */
void card_take(char text[OWNER_BYTES], const char *from, size_t len);
/* Reads text[0..len), also of the two kinds that earlier versions wrote, in folders and elsewhere.
 * Newlines may follow. 0, or -EINVAL: nothing that kvtrace wrote. */
int card_parse(const char *text, size_t len, struct card *c);
/* Does found belong to the run of mine? */
bool card_same(const struct card *found, const struct card *mine);

enum card_life {
    CARD_LIVES,
    CARD_DEAD,
    CARD_UNKNOWN
};
/* Is the process of found still there? Known where host, boot and namespaces are those of me, which
 * card_here made; elsewhere only the renewal tells. */
enum card_life card_life(const struct card *found, const struct card *me);
/* Can found's renewed_s, where the store has no clock, be held against CLOCK_BOOTTIME here? */
bool card_same_clock(const struct card *found, const struct card *me);

#endif
