/* Any bytes as a users file: it is refused with a place and a reason, or gives users within their
 * bounds, which written and read again are the same users. The first byte says how many are wanted.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvgen/source/population.h"
#include "kvgen/source/request.h"
#include "lib/trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static void check_person(const struct population *p, uint32_t i)
{
    const struct person *u = population_person(p, i);
    size_t len;
    population_name(p, i, &len);
    check(len >= 1 && len <= IDENT_MAX_USER_NAME);
    check(u->context_tokens >= 1 && u->context_tokens <= REQUEST_MAX_TOKENS);
    check(u->generated_tokens >= 1 && u->generated_tokens <= REQUEST_MAX_TOKENS);
    check(u->think_ns >= 0 && u->qos < TRACE_QOSES);
}

static void check_same(const struct population *a, const struct population *b)
{
    check(population_count(a) == population_count(b));
    for (uint32_t i = 0; i < population_count(a); i++) {
        const struct person *u = population_person(a, i), *v = population_person(b, i);
        size_t len, other;
        const char *name = population_name(a, i, &len), *again = population_name(b, i, &other);
        check(len == other && memcmp(name, again, len) == 0);
        check(u->context_tokens == v->context_tokens && u->think_ns == v->think_ns);
        check(u->generated_tokens == v->generated_tokens && u->qos == v->qos);
    }
}

/* A file in memory; its path in path. */
static int open_file(const char *name, const void *data, size_t size, char path[64])
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct population *p, *again;
    struct err e = {0};
    char path[64], copy[64];
    if (size == 0)
        return 0;
    uint64_t count = 1 + data[0] % 8;
    int fd = open_file("users", data + 1, size - 1, path);
    if (population_load(&p, path, count, &e) == 0) {
        check(population_count(p) == count);
        for (uint32_t i = 0; i < count; i++)
            check_person(p, i);
        int to = open_file("copy", "", 0, copy);
        check(population_save(p, copy, &e) == 0);
        check(population_load(&again, copy, count, &e) == 0);
        check_same(p, again);
        population_free(again);
        population_free(p);
        close(to);
    } else {
        check(e.code < 0 && e.where[0] != '\0' && e.what[0] != '\0');
    }
    close(fd);
    return 0;
}
