/* storage_fixture.h - a storage tier in a target of its own, on files or on a slab; for the unit
 * tests of it. */
#ifndef TESTS_UNIT_TIER_STORAGE_FIXTURE_H
#define TESTS_UNIT_TIER_STORAGE_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/io/target_dir.h"
#include "lib/layout/slab.h"
#include "tests/unit/tier/tier_checks.h"

#define FIXTURE_EPOCH 0x0000abcdu

struct fixture {
    struct target_dir *target;
    struct bell *bell;
    struct tier *tier;
    struct layout_slab *slab; /* NULL: files */
    int slab_fd;
};

static inline int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    const char *tmp = getenv("TMPDIR");
    struct err e = {0};
    char path[4096];
    const struct target_dir_opts o = {.path = path, .program = "test"};

    assert_non_null(f);
    snprintf(path, sizeof(path), "%s/%s-%ld", tmp ? tmp : "/tmp", program_invocation_short_name,
             (long)getpid());
    assert_int_equal(target_dir_open(&f->target, &o, &e), 0);
    f->bell = bell_create();
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;
    struct err e = {0};

    assert_int_equal(target_dir_close(f->target, false, &e), 0);
    bell_free(f->bell);
    free(f);
    return 0;
}

/* The slab of the directory, made or adopted, opened as kvreplay does. */
static inline void open_slab(struct fixture *f, uint64_t space_bytes, bool resizes)
{
    struct layout_slab_opts o = {.space_bytes = space_bytes, .resizes = resizes};
    struct err e = {0};

    f->slab_fd = openat(target_dir_fd(f->target), "slab.kv", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(f->slab_fd >= 0);
    assert_int_equal(ftruncate(f->slab_fd, (off_t)layout_slab_bytes(space_bytes, 0)), 0);
    o.fd = f->slab_fd;
    o.index_bytes = 1 << 20;
    assert_int_equal(layout_slab_open(&f->slab, &o, &e), 0);
}

static inline void close_slab(struct fixture *f)
{
    layout_slab_close(f->slab);
    close(f->slab_fd);
    f->slab = NULL;
}

static inline void open_tier(struct fixture *f, struct tier_storage_opts o)
{
    struct err e = {0};

    o.dirfd = target_dir_fd(f->target);
    o.slab = f->slab;
    o.epoch = o.epoch ? o.epoch : FIXTURE_EPOCH;
    o.path = target_dir_path(f->target);
    assert_int_equal(tier_storage_open(&f->tier, &o, f->bell, &e), 0);
}

#endif
