/* From bytes of trace_pipe_raw to events with times. What an event means, block_events.c knows. The
 * order of bits in an entry's first word is that of little-endian machines, as is all of kvtrace.
 */
#include "lib/drive/ring_page.h"

#include <errno.h>
#include <string.h>

enum {
    /* the five low bits of an entry's first word; smaller ones are a length in words */
    ENTRY_PADDING = 29,
    ENTRY_TIME_EXTEND = 30,
    ENTRY_TIME_STAMP = 31,
    ENTRY_TYPE_BITS = 5,
    ENTRY_DELTA_BITS = 27
};
#define COMMIT_BYTES  UINT64_C(0xfffff)   /* kernel/trace/ring_buffer.c */
#define COMMIT_STORED (UINT64_C(1) << 30) /* the number of lost events lies behind the data */
#define COMMIT_MISSED (UINT64_C(1) << 31) /* events were lost before this page */
/* Absolute stamps lack the highest five bits. */
#define STAMP_BITS (ENTRY_DELTA_BITS + 32)

int ring_page_format(struct ring_page_format *f, const char *header_page)
{
    if (event_format_field(header_page, "timestamp", &f->time) < 0 ||
        event_format_field(header_page, "commit", &f->commit) < 0 ||
        event_format_field(header_page, "data", &f->data) < 0 || f->time.size != 8)
        return -EINVAL;
    return 0;
}

int ring_page_open(struct ring_page *p, const struct ring_page_format *f, const void *bytes,
                   size_t len)
{
    const unsigned char *page = bytes;
    uint64_t commit;

    *p = (struct ring_page){0};
    if (event_field_get(&f->time, page, len, &p->time_ns) < 0 ||
        event_field_get(&f->commit, page, len, &commit) < 0 || f->data.offset > len)
        return -EINVAL;
    uint64_t used = commit & COMMIT_BYTES;
    if (used > len - f->data.offset)
        return -EINVAL;
    p->at = page + f->data.offset;
    p->end = p->at + used;
    if (commit & COMMIT_MISSED) {
        p->lost = 1;
        if (commit & COMMIT_STORED && len - f->data.offset - used >= sizeof(p->lost))
            memcpy(&p->lost, p->end, sizeof(p->lost));
        if (p->lost == 0)
            p->lost = 1;
    }
    return 0;
}

static uint32_t word_at(const unsigned char *at)
{
    uint32_t word;

    memcpy(&word, at, sizeof(word));
    return word;
}

bool ring_page_next(struct ring_page *p, struct ring_event *e)
{
    while (p->end - p->at >= 4) {
        const unsigned char *at = p->at + 4;
        size_t left = (size_t)(p->end - at), len;
        uint32_t word = word_at(p->at), type = word & ((1u << ENTRY_TYPE_BITS) - 1);
        uint64_t delta = word >> ENTRY_TYPE_BITS;

        if (type == ENTRY_PADDING && delta == 0) { /* nothing is behind it */
            p->at = p->end;
            return false;
        }
        if (type == 0 || type >= ENTRY_PADDING) {
            if (left < 4)
                break;
            len = word_at(at);
        } else {
            len = (size_t)type * 4;
        }
        if (type == ENTRY_TIME_EXTEND || type == ENTRY_TIME_STAMP) {
            delta |= (uint64_t)len << ENTRY_DELTA_BITS;
            if (type == ENTRY_TIME_EXTEND)
                p->time_ns += delta;
            else
                p->time_ns = (p->time_ns >> STAMP_BITS << STAMP_BITS) | delta;
            p->at = at + 4;
            continue;
        }
        if (len > left || (type == 0 && len < 4))
            break;
        p->at = at + (len + 3) / 4 * 4;
        if (p->at > p->end)
            p->at = p->end;
        p->time_ns += delta;
        if (type == ENTRY_PADDING) /* of an event that was taken back */
            continue;
        /* A length of its own counts its word. */
        *e = (struct ring_event){.time_ns = (int64_t)p->time_ns,
                                 .data = type ? at : at + 4,
                                 .len = type ? len : len - 4};
        return true;
    }
    p->broken |= p->at < p->end;
    return false;
}
