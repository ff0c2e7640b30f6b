/* The list of a kept store: what is written comes back, through segments, kills, compaction and
 * several processes; what is torn or damaged is recognised. Bugs looked like: an object that was
 * removed and is still on the list, a damaged list that is believed, a list that grows with each
 * run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/owner/inventory_files.h"
#include "lib/owner/journal.h"

#define EPOCH 0x1000u
#define FIRST (UINT64_C(7) << 50)

/* A folder as a store, or one that cannot append, as S3. */
struct fixture {
    char path[300];
    int dir;
    struct inventory_files *files;
    struct inventory_store store;
    int fails; /* negative errno of all writes */
};

static ssize_t do_read(void *ctx, uint32_t segment, uint64_t at, void *buf, size_t cap,
                       struct err *e)
{
    const struct inventory_store *s = inventory_files_store(((struct fixture *)ctx)->files);

    return s->read(s->ctx, segment, at, buf, cap, e);
}

static int do_write(void *ctx, uint32_t segment, uint64_t at, const void *buf, size_t len,
                    struct err *e)
{
    const struct fixture *f = ctx;
    const struct inventory_store *s = inventory_files_store(f->files);

    assert_true(f->store.appends || at == 0);
    assert_true(at + len <= f->store.segment_bytes);
    return f->fails ? f->fails : s->write(s->ctx, segment, at, buf, len, e);
}

static int do_remove(void *ctx, uint32_t segment, struct err *e)
{
    const struct inventory_store *s = inventory_files_store(((struct fixture *)ctx)->files);

    return s->remove(s->ctx, segment, e);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    const char *tmp = getenv("TMPDIR");

    assert_non_null(f);
    snprintf(f->path, sizeof(f->path), "%s/kvtrace-list-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(f->path));
    f->dir = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    f->files = inventory_files_open(f->dir, f->path);
    f->store = (struct inventory_store){.ctx = f,
                                        .appends = true,
                                        .local = true,
                                        .segment_bytes = UINT64_C(1) << 40,
                                        .read = do_read,
                                        .write = do_write,
                                        .remove = do_remove};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char command[400];

    inventory_files_close(f->files);
    close(f->dir);
    snprintf(command, sizeof(command), "rm -r '%s'", f->path);
    assert_int_equal(system(command), 0);
    free(f);
    return 0;
}

static struct hash128 name_of(uint64_t i)
{
    return hash_128(&i, sizeof(i));
}

static struct journal *begin(struct fixture *f, unsigned run, const struct inventory *had)
{
    const struct journal_opts o = {.store = &f->store,
                                   .had = had,
                                   .trusted = had && inventory_holds(had, true, 0),
                                   .exact = true,
                                   .epoch = EPOCH + run,
                                   .first_generation = FIRST * (run + 1),
                                   .flush_ns = 1000000000};
    struct journal *j = NULL;
    struct err e = {0};

    assert_int_equal(journal_open(&j, &o, &e), 0);
    return j;
}

static void put(struct journal *j, unsigned run, uint64_t i)
{
    journal_put(j, &(struct inventory_record){.name = name_of(i),
                                              .generation = FIRST * (run + 1) + i,
                                              .bytes = 1000 + i,
                                              .epoch = EPOCH + run});
}

static struct inventory *read_list(struct fixture *f)
{
    struct inventory *v = NULL;
    struct err e = {0};

    assert_int_equal(inventory_read(&v, &f->store, &e), 0);
    return v;
}

static bool listed(const struct inventory *v, unsigned run, uint64_t i)
{
    const struct inventory_entry *e = inventory_find(v, name_of(i));

    return e && e->listed && e->epoch == EPOCH + run && e->bytes == 1000 + i &&
           e->generation == FIRST * (run + 1) + i;
}

static unsigned files_in(struct fixture *f)
{
    const uint32_t *segment;
    struct inventory *v = read_list(f);
    unsigned n = inventory_segments(v, &segment);

    inventory_free(v);
    return n;
}

static void test_none(void **state)
{
    struct fixture *f = *state;
    struct inventory *v = read_list(f);

    assert_int_equal(inventory_state(v), INVENTORY_NONE);
    assert_false(inventory_holds(v, false, 0));
    assert_null(inventory_find(v, name_of(1)));
    inventory_free(v);
}

/* Written, removed, written again by later runs; with any number of objects, and few segments. */
static void test_runs(void **state)
{
    struct fixture *f = *state;
    enum {
        OBJECTS = 70000 /* more than both buffers hold */
    };

    for (int appends = 0; appends < 2; appends++) {
        f->store.appends = f->store.local = appends;
        f->store.segment_bytes = appends ? UINT64_C(1) << 40 : 4 << 20;
        for (unsigned run = 0; run < 12; run++) {
            struct inventory *v = read_list(f);
            struct journal *j = begin(f, run, v);

            inventory_free(v);
            for (uint64_t i = 0; i < OBJECTS; i += run ? 1000 : 1)
                put(j, run, i + run);
            assert_int_equal(journal_gone(j, name_of(5 + run)), 1); /* the first one always waits */
            assert_int_equal(journal_gone(j, name_of(6000 + run)), appends);
            assert_int_equal(journal_flush(j), 0);
            assert_int_equal(journal_close(j, true, NULL), 0);
            assert_true(files_in(f) <= 12);
        }
        struct inventory *v = read_list(f);
        assert_int_equal(inventory_state(v), INVENTORY_WHOLE);
        assert_true(inventory_holds(v, false, 0));
        assert_true(inventory_exact(v, false, journal_boot(), 0));
        assert_true(listed(v, 0, 3999) && listed(v, 0, 500) && listed(v, 11, 1011));
        assert_null(inventory_find(v, name_of(16)));
        assert_null(inventory_find(v, name_of(6011)));
        inventory_free(v);
        for (uint32_t i = 0; i < 400; i++)
            assert_int_equal(f->store.remove(f, i, NULL), 0);
    }
}

/* A process that is gone: what was flushed is there, and the run has not ended. */
static void test_killed(void **state)
{
    struct fixture *f = *state;
    struct journal *j = begin(f, 0, NULL);

    put(j, 0, 1);
    assert_int_equal(journal_flush(j), 0);
    struct inventory *v = read_list(f); /* as the next run finds it */
    assert_int_equal(inventory_state(v), INVENTORY_WHOLE);
    assert_true(listed(v, 0, 1));
    assert_false(inventory_holds(v, false, 0)); /* no run may be missing in a store that is sure */
    assert_true(inventory_holds(v, true, 0));
    assert_true(inventory_exact(v, false, journal_boot(), 0)); /* it has removed nothing */
    inventory_free(v);

    assert_true(journal_gone(j, name_of(1)));
    assert_int_equal(journal_flush(j), 0);
    v = read_list(f);
    assert_null(inventory_find(v, name_of(1)));
    assert_true(inventory_exact(v, true, journal_boot(), 0));
    assert_false(inventory_exact(v, false, journal_boot(), 0)); /* it may have removed more */
    assert_false(inventory_exact(v, true, name_of(9), 0));      /* a power cut may have, too */
    inventory_free(v);
    assert_int_equal(journal_close(j, false, NULL), 0);
}

/* Is a generation that of a later write? */
static void test_newer(void **state)
{
    struct fixture *f = *state;

    for (unsigned run = 0; run < 3; run++) {
        struct inventory *v = read_list(f);
        struct journal *j = begin(f, run, v);

        inventory_free(v);
        put(j, run, 10 + run);
        assert_int_equal(journal_close(j, run < 2, NULL), 0); /* the last one is killed */
    }
    struct inventory *v = read_list(f);
    const struct inventory_entry *e = inventory_find(v, name_of(11));
    assert_true(inventory_newer(v, e, FIRST * 2 + 12));
    assert_true(inventory_newer(v, e, FIRST * 3));
    assert_false(inventory_newer(v, e, FIRST * 2 + 10));
    assert_false(inventory_newer(v, e, FIRST + 500));
    assert_false(inventory_newer(v, e, FIRST * 9));
    inventory_free(v);
}

/* Every way to cut or flip the last segment: a record is right, or not there. */
static void test_torn(void **state)
{
    struct fixture *f = *state;
    struct journal *j = begin(f, 0, NULL);
    char path[400];
    struct stat st;

    for (uint64_t i = 0; i < 5; i++)
        put(j, 0, i);
    assert_int_equal(journal_close(j, true, NULL), 0);
    snprintf(path, sizeof(path), "%s/" INVENTORY_NAME ".00000001", f->path);
    assert_int_equal(stat(path, &st), 0);
    for (off_t len = st.st_size - 1; len >= 0; len--) {
        assert_int_equal(truncate(path, len), 0);
        struct inventory *v = read_list(f);
        assert_int_equal(inventory_state(v),
                         len % INVENTORY_RECORD ? INVENTORY_CUT : INVENTORY_WHOLE);
        assert_false(inventory_holds(v, false, 0)); /* its end is missing */
        for (uint64_t i = 0; i < 5; i++)
            assert_int_equal(listed(v, 0, i), (off_t)(i + 2) * INVENTORY_RECORD <= len);
        inventory_free(v);
    }
}

static void test_damaged(void **state)
{
    struct fixture *f = *state;
    struct journal *j = begin(f, 0, NULL);
    char path[400];

    for (uint64_t i = 0; i < 5; i++)
        put(j, 0, i);
    assert_int_equal(journal_close(j, true, NULL), 0);
    snprintf(path, sizeof(path), "%s/" INVENTORY_NAME ".00000001", f->path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    for (off_t at = 0; at < 6 * INVENTORY_RECORD; at++) {
        unsigned char was, flipped;
        assert_int_equal(pread(fd, &was, 1, at), 1);
        flipped = was ^ 4;
        assert_int_equal(pwrite(fd, &flipped, 1, at), 1);
        struct inventory *v = read_list(f);
        assert_int_equal(inventory_state(v), INVENTORY_DAMAGED);
        assert_false(inventory_holds(v, true, 0));
        inventory_free(v);
        assert_int_equal(pwrite(fd, &was, 1, at), 1);
    }
    /* The next run writes another one; what it found is not believed. */
    assert_int_equal(pwrite(fd, "xx", 2, 90), 2);
    close(fd);
    struct inventory *v = read_list(f);
    j = begin(f, 1, v);
    inventory_free(v);
    put(j, 1, 77);
    assert_int_equal(journal_close(j, true, NULL), 0);
    v = read_list(f);
    assert_int_equal(inventory_state(v), INVENTORY_PARTIAL);
    assert_true(inventory_holds(v, false, 0) && listed(v, 1, 77));
    assert_null(inventory_find(v, name_of(0)));
    inventory_free(v);
}

/* A store that takes no more: a short trouble costs nothing, a long one the list. */
static void test_full(void **state)
{
    struct fixture *f = *state;
    struct journal *j = begin(f, 0, NULL);
    struct inventory *v;

    put(j, 0, 1);
    assert_int_equal(journal_flush(j), 0);
    f->fails = -ENOSPC;
    assert_true(journal_gone(j, name_of(1)));
    assert_int_equal(journal_flush(j), -ENOSPC);
    assert_int_equal(journal_failed(j), -ENOSPC);
    put(j, 0, 2); /* goes nowhere */
    assert_int_equal(journal_close(j, true, NULL), -ENOSPC);
    f->fails = 0;
    v = read_list(f);
    assert_null(inventory_find(v, name_of(1)));
    assert_int_equal(inventory_state(v), INVENTORY_NONE);
    inventory_free(v);
}

/* A file planted in the place of a segment is neither waited for nor written to. */
static void test_planted(void **state)
{
    struct fixture *f = *state;
    struct inventory *v = NULL;
    struct err e = {0};
    char victim[400];

    assert_int_equal(mkfifoat(f->dir, INVENTORY_NAME, 0644), 0);
    assert_int_equal(inventory_read(&v, &f->store, &e), -EISNAM);
    assert_int_equal(unlinkat(f->dir, INVENTORY_NAME, 0), 0);
    snprintf(victim, sizeof(victim), "%s/victim", f->path);
    int fd = open(victim, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    assert_int_equal(close(fd), 0);
    assert_int_equal(symlinkat("victim", f->dir, INVENTORY_NAME ".00000001"), 0);
    struct journal *j = begin(f, 0, NULL);
    assert_int_equal(journal_close(j, true, NULL), 0);
    struct stat st;
    assert_int_equal(stat(victim, &st), 0);
    assert_int_equal(st.st_size, 0);
}

/* Objects that are found, of which one with two names counts as the later run's. */
static void test_found(void **state)
{
    struct fixture *f = *state;

    for (unsigned run = 0; run < 2; run++) {
        struct inventory *v = read_list(f);
        struct journal *j = begin(f, run, v);
        inventory_free(v);
        put(j, run, run);
        assert_int_equal(journal_close(j, true, NULL), 0);
    }
    struct inventory *v = read_list(f);
    assert_int_equal(inventory_found(v, name_of(0), EPOCH + 1), 0); /* listed with another */
    assert_false(inventory_find(v, name_of(0))->there);
    assert_int_equal(inventory_found(v, name_of(0), EPOCH), 0);
    assert_true(inventory_find(v, name_of(0))->there);
    assert_int_equal(inventory_found(v, name_of(8), EPOCH + 1), 0);
    assert_int_equal(inventory_found(v, name_of(8), 0), 0);
    assert_int_equal(inventory_found(v, name_of(8), EPOCH), 0);
    assert_int_equal(inventory_find(v, name_of(8))->epoch, EPOCH + 1);
    assert_false(inventory_find(v, name_of(8))->listed);
    inventory_find(v, name_of(0))->taken = 1;
    inventory_settle(v);
    assert_null(inventory_find(v, name_of(0)));
    assert_non_null(inventory_find(v, name_of(8)));
    assert_true(listed(v, 1, 1));
    inventory_free(v);
}

static void test_names(void **state)
{
    static const char *const bad[] = {".kvtrace", ".kvtrace-list.", ".kvtrace-list.0000001",
                                      ".kvtrace-list.0000000g", ".kvtrace-list-00000001"};
    char name[INVENTORY_NAME_CAP];

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        inventory_name(name, i * 12345678u);
        assert_true(inventory_names_segment(name, strlen(name)));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(inventory_names_segment(bad[i], strlen(bad[i])));
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_none),    TEST(test_runs), TEST(test_killed),  TEST(test_newer), TEST(test_torn),
        TEST(test_damaged), TEST(test_full), TEST(test_planted), TEST(test_found), TEST(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
