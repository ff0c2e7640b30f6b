/* Any bytes as a Mooncake trace: requests come in order of number and of arrival, within their
 * bounds, until the end or an error with a place and a reason. Some are kept for a while before
 * their blocks are given back, as waiting requests are. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvgen/source_blocks.h"

enum {
    KEPT = 4
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static uint64_t sum_blocks(const struct request *r)
{
    uint64_t sum = r->block_count;
    for (uint32_t i = 0; i < r->block_count; i++)
        sum = sum * 31 + r->blocks[i];
    return sum;
}

static void check_request(const struct source *s, const struct request *r, uint64_t number,
                          int64_t arrival_ns, int64_t last_ns)
{
    char name[IDENT_MAX_USER_NAME];
    size_t len = s->ops->user_name(s, r->user, name);
    check(len >= 1 && len <= sizeof name);
    check(r->number == number && r->arrival_ns == arrival_ns && arrival_ns >= last_ns);
    check(r->context_tokens >= 0 && r->context_tokens <= REQUEST_MAX_TOKENS);
    check(r->generated_tokens >= 0 && r->generated_tokens <= REQUEST_MAX_TOKENS);
    check(r->qos == TRACE_BATCH);
}

static int read_all(struct source *s, struct err *e)
{
    struct request kept[KEPT];
    uint64_t sum[KEPT], number = 0;
    int64_t arrival_ns, last_ns = 0;
    int rc;
    while ((rc = s->ops->peek(s, &arrival_ns, e)) > 0) {
        size_t i = number++ % KEPT;
        if (number > KEPT) {
            check(sum_blocks(&kept[i]) == sum[i]);
            s->ops->release(s, &kept[i]);
        }
        s->ops->take(s, &kept[i]);
        check_request(s, &kept[i], number, arrival_ns, last_ns);
        sum[i] = sum_blocks(&kept[i]);
        last_ns = arrival_ns;
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source *s;
    struct err e = {0};
    char path[64];
    int fd = memfd_create("mooncake", MFD_CLOEXEC);
    check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int rc = source_blocks_open(&s, path, TRACE_BATCH, &e);
    if (rc == 0) {
        rc = read_all(s, &e);
        s->ops->close(s);
    }
    if (rc < 0)
        check(e.code < 0 && e.where[0] != '\0' && e.what[0] != '\0');
    close(fd);
    return 0;
}
