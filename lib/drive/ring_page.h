/* A page of the kernel's trace ring buffer, as per_cpu/cpuN/trace_pipe_raw gives it: events one
 * after another, with the distances of their times. Source: the comment at the head of the kernel's
 * include/linux/ring_buffer.h, and events/header_page and header_event in tracefs. */
#ifndef KVTRACE_DRIVE_RING_PAGE_H
#define KVTRACE_DRIVE_RING_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/drive/event_format.h"

struct ring_page_format {
    struct event_field time, commit, data;
};
/* From the text of header_page. 0 or -EINVAL. */
int ring_page_format(struct ring_page_format *f, const char *header_page);

/* A page that is being read; it points into the caller's bytes. */
struct ring_page {
    const unsigned char *at, *end;
    uint64_t time_ns; /* of the last event, by the trace clock */
    uint64_t lost;    /* events that had no room before this page; at least 1 where the number is
                         not told */
    bool broken;      /* what is left of it is no event */
};
struct ring_event {
    int64_t time_ns;
    const unsigned char *data; /* begins with the fields common_type ... */
    size_t len;
};
/* bytes: one page, as it was read. 0; -EINVAL: it is none. */
int ring_page_open(struct ring_page *p, const struct ring_page_format *f, const void *bytes,
                   size_t len);
/* The next event; false: there is none, or the page is broken. */
bool ring_page_next(struct ring_page *p, struct ring_event *e);

#endif
