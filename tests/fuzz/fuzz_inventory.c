/* The list of a kept store from anywhere: never a crash or an entry that no record gave; what is
 * read and written again by a journal is the same. The sums are made right half of the time, so
 * that what they guard is reached. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/owner/inventory.h"
#include "lib/owner/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    SEGMENTS = 64,
    SEGMENT_CAP = 8192
};

/* Segments in memory. */
static struct segment {
    uint32_t number;
    size_t len;
    bool there;
    unsigned char text[SEGMENT_CAP];
} segments[SEGMENTS];

static struct segment *find(uint32_t number, bool make)
{
    struct segment *spare = NULL;

    for (unsigned i = 0; i < SEGMENTS; i++) {
        if (segments[i].there && segments[i].number == number)
            return &segments[i];
        if (!segments[i].there)
            spare = &segments[i];
    }
    if (!make || !spare)
        return NULL;
    *spare = (struct segment){.number = number, .there = true};
    return spare;
}

static ssize_t do_read(void *ctx, uint32_t number, uint64_t at, void *buf, size_t cap,
                       struct err *e)
{
    const struct segment *s = find(number, false);
    size_t n;

    (void)ctx, (void)e;
    if (!s)
        return -ENOENT;
    n = at < s->len ? s->len - (size_t)at : 0;
    n = n < cap ? n : cap;
    memcpy(buf, s->text + at, n);
    return (ssize_t)n;
}

static int do_write(void *ctx, uint32_t number, uint64_t at, const void *buf, size_t len,
                    struct err *e)
{
    struct segment *s = find(number, true);

    (void)ctx, (void)e;
    if (!s || at > s->len || at + len > SEGMENT_CAP)
        return -ENOSPC;
    memcpy(s->text + at, buf, len);
    s->len = (size_t)at + len;
    return 0;
}

static int do_remove(void *ctx, uint32_t number, struct err *e)
{
    struct segment *s = find(number, false);

    (void)ctx, (void)e;
    if (s)
        s->there = false;
    return 0;
}

static const struct inventory_store store = {.appends = true,
                                             .segment_bytes = SEGMENT_CAP,
                                             .read = do_read,
                                             .write = do_write,
                                             .remove = do_remove};

/* Segments from data: one byte of number, one of length, the text. */
static void fill(const uint8_t *data, size_t size)
{
    memset(segments, 0, sizeof(segments));
    while (size >= 2) {
        uint32_t number = data[0] & 128 ? (data[0] & 3u) * INVENTORY_SEQUENCE : data[0] & 7u;
        size_t len = data[1] * 4u < size - 2 ? data[1] * 4u : size - 2;
        struct segment *s = find(number, true);

        memcpy(s->text, data + 2, len);
        s->len = len;
        for (size_t at = 0; data[0] & 64 && at + INVENTORY_RECORD <= len; at += INVENTORY_RECORD) {
            uint32_t sum = (uint32_t)hash_64(s->text + at, INVENTORY_RECORD - 4);
            memcpy(s->text + at + INVENTORY_RECORD - 4, &sum, sizeof(sum));
        }
        data += 2 + len;
        size -= 2 + len;
    }
}

static uint64_t count(const struct inventory *v)
{
    const struct inventory_entry *e;
    uint64_t n = 0;

    for (size_t pos = 0; (e = inventory_next(v, &pos)) != NULL; n++) {
        if (inventory_find(v, e->name) != e || !e->listed)
            abort();
        (void)inventory_newer(v, e, e->generation + 1);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct inventory *v = NULL, *again = NULL;
    struct journal *j = NULL;
    struct err e = {0};

    fill(data, size);
    if (inventory_read(&v, &store, &e) < 0)
        abort();
    bool holds = inventory_holds(v, true, 0);
    const struct journal_opts o = {.store = &store,
                                   .had = v,
                                   .trusted = holds,
                                   .epoch = 5,
                                   .first_generation = 1,
                                   .flush_ns = INT64_MAX / 4};
    uint64_t n = count(v);
    if (n > inventory_records(v) || n != inventory_objects(v))
        abort();
    if (journal_open(&j, &o, &e) == 0) { /* else the segments are too small for it */
        int ret = journal_close(j, true, &e);
        if (inventory_read(&again, &store, &e) < 0)
            abort();
        if (ret == 0 && (inventory_state(again) == INVENTORY_DAMAGED ||
                         count(again) != (holds || inventory_state(v) == INVENTORY_NONE ? n : 0)))
            abort();
        inventory_free(again);
    }
    inventory_settle(v);
    inventory_free(v);
    return 0;
}
