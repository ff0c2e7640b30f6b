/* Any bytes as what tracefs tells: an event of io_uring, or a page of its ring buffer, read by the
 * recorded formats or by one that is in the input, ends, and gives only events that lie within it;
 * whatever they say, requests are joined once. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/drive/request_join.h"
#include "lib/drive/ring_page.h"
#include "lib/drive/uring_workers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char usual[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                            "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
                            "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

static void read_page(const struct ring_page_format *format, const uint8_t *data, size_t size)
{
    struct request_join *join = request_join_create();
    struct request_counts counts;
    struct ring_page page;
    struct ring_event e;
    uint64_t issued = 0, joined = 0;
    size_t events = 0;

    if (!join || ring_page_open(&page, format, data, size) < 0)
        goto out;
    while (ring_page_next(&page, &e)) {
        struct request r;
        struct request_event x = {.time_ns = e.time_ns};
        if (e.data < data || e.len > size || e.data + e.len > data + size || ++events > size)
            abort();
        if (e.len < 4)
            continue;
        x.kind = e.data[0] % 3;
        x.what = e.data[1] % 3;
        x.sector = e.data[2];
        x.sectors = e.data[3];
        issued += x.kind == REQUEST_ISSUED;
        joined += request_join_take(join, &x, &r) == 1;
    }
    request_join_count(join, &counts);
    if (joined > issued || joined != counts.joined)
        abort();
out:
    request_join_free(join);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ring_page_format format;
    struct uring_workers workers;
    struct event_field f;
    const uint8_t *end = memchr(data, '\0', size);
    uint16_t id;

    if (size == 0)
        return 0;
    if (ring_page_format(&format, usual) < 0)
        abort();
    read_page(&format, data + 1, size - 1);
    if (!end)
        return 0;
    (void)event_format_id((const char *)data, &id);
    (void)event_format_field((const char *)data, "sector", &f);
    if (uring_workers_learn(&workers, getpid(), (const char *)data) == 0)
        (void)uring_workers_take(&workers, end + 1, size - 1 - (size_t)(end - data));
    if (ring_page_format(&format, (const char *)data) == 0)
        read_page(&format, end + 1, size - 1 - (size_t)(end - data));
    return 0;
}
