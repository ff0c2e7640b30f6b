/* test_owner.c - whose a store is, on a store in memory. Expected: one of two runs gets it, nothing
 * foreign is touched, what a dead run left is cleared or kept as that run had said; who can't be
 * judged is watched for a lease; who has lost the store touches nothing. A bug looked like two runs
 * in one store, an object of somebody else that was removed, or a store that was locked for ever.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/owner/owner.h"

struct fake {
    char marker[OWNER_BYTES]; /* "": none */
    uint64_t objects;
    bool foreign;
    int64_t now_s;
    unsigned overtakes; /* other runs that put or swap first */
    unsigned cleared;
    uint64_t stuck; /* objects that can't be removed */
    unsigned gets;
    unsigned renews_at; /* another run renews its marker before this get; 0: never */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the lease has a thread */

static int fake_get(void *ctx, char text[OWNER_BYTES], int64_t *now_s, struct err *e)
{
    struct fake *f = ctx;
    struct card c;

    (void)e;
    pthread_mutex_lock(&lock);
    if (++f->gets == f->renews_at && card_parse(f->marker, strlen(f->marker), &c) == 0) {
        c.renewed_s++;
        card_format(&c, f->marker);
    }
    memcpy(text, f->marker, OWNER_BYTES);
    *now_s = f->now_s;
    pthread_mutex_unlock(&lock);
    return text[0] ? 0 : -ENOENT;
}

static int fake_put(void *ctx, const char *text, struct err *e)
{
    struct fake *f = ctx;

    (void)e;
    if (f->marker[0] || f->overtakes > 0) {
        f->overtakes -= f->overtakes > 0;
        return -EEXIST;
    }
    snprintf(f->marker, sizeof(f->marker), "%s", text);
    return 0;
}

static int fake_swap(void *ctx, const char *old, const char *text, struct err *e)
{
    struct fake *f = ctx;

    (void)e;
    pthread_mutex_lock(&lock);
    bool same = strcmp(f->marker, old) == 0 && f->overtakes == 0;
    if (same)
        snprintf(f->marker, sizeof(f->marker), "%s", text ? text : "");
    f->overtakes -= f->overtakes > 0;
    pthread_mutex_unlock(&lock);
    return same ? 0 : -EAGAIN;
}

static int fake_look(void *ctx, struct owner_found *found, struct err *e)
{
    const struct fake *f = ctx;

    (void)e;
    *found = (struct owner_found){.objects = f->objects, .foreign = f->foreign, .name = "else"};
    return 0;
}

static int fake_clear(void *ctx, struct owner_clear *c, struct err *e)
{
    struct fake *f = ctx;

    if (!lease_valid(c->lease))
        return -ESTALE;
    if (f->stuck) {
        c->left = f->stuck;
        c->left_bytes = 4096;
        return err_set(e, -EACCES, ERR_FAILED, "store", "no right to delete");
    }
    c->removed = f->objects;
    f->objects = 0;
    f->cleared++;
    return 0;
}

static struct owner_store store_of(struct fake *f)
{
    return (struct owner_store){.ctx = f,
                                .where = "store",
                                .get = fake_get,
                                .put = fake_put,
                                .swap = fake_swap,
                                .look = fake_look,
                                .clear = fake_clear};
}

static unsigned waited;

static void waits(const char *where, const char *who, unsigned seconds)
{
    assert_string_equal(where, "store");
    assert_non_null(strstr(who, "a process") ? who : strstr(who, "kvreplay (process"));
    assert_true(seconds > 0);
    waited++;
}

static int take(struct owner *w, const struct owner_store *store, bool keeps, bool destroys,
                struct err *e)
{
    const struct owner_opts o = {.program = "kvreplay",
                                 .keeps = keeps,
                                 .adopts = true,
                                 .destroys = destroys,
                                 .data_seed = 7,
                                 .waits = waits};

    *e = (struct err){0};
    waited = 0;
    return owner_take(w, store, &o, e);
}

/* Takes f, keeping or destroying, and leaves it again (keeping). */
static int taken(struct fake *f, bool keeps, bool destroys, struct owner *w, struct err *e)
{
    const struct owner_store store = store_of(f);
    int rc = take(w, &store, keeps, destroys, e);

    if (rc == 0)
        assert_int_equal(owner_leave(w, keeps, e), 0);
    return rc;
}

/* The marker of a run of this process, or elsewhere. */
static struct card marked(struct fake *f, const char *host, bool keeps)
{
    struct card c;

    card_here(&c, "kvreplay");
    c.keeps = keeps;
    c.renewed_s = f->now_s > 30 ? f->now_s - 30 : 0;
    if (host)
        snprintf(c.host, sizeof(c.host), "%s", host);
    card_format(&c, f->marker);
    return c;
}

static void names(void **state)
{
    (void)state;
    static const char hex[] = "kvtrace:0123456789abcdef0123456789abcdef";
    char name[80];

    assert_true(owner_names_object(hex, strlen(hex)));
    assert_false(owner_names_object(hex, strlen(hex) - 1));
    snprintf(name, sizeof(name), "%s.17", hex);
    assert_true(owner_names_object(name, strlen(name)));
    assert_false(owner_names_object(name, strlen(name) - 2));
    snprintf(name, sizeof(name), "%sx", hex);
    assert_false(owner_names_object(name, strlen(name)));
    assert_false(owner_names_object("kvtrace:0123456789ABCDEF0123456789abcdef", strlen(hex)));
    assert_false(owner_names_object(".kvtrace", 8));
}

static void empty_stores(void **state)
{
    (void)state;
    struct fake f = {.overtakes = 2};
    struct owner w;
    struct err e;

    assert_int_equal(taken(&f, false, false, &w, &e), 0);
    assert_string_equal(f.marker, "");
    f.foreign = true;
    assert_int_equal(taken(&f, true, true, &w, &e), -EEXIST);
    assert_int_equal(e.class, ERR_TARGET);
    assert_non_null(strstr(e.what, "(else)"));
    f = (struct fake){.overtakes = 1000};
    assert_int_equal(taken(&f, false, false, &w, &e), -EBUSY);
}

/* Its marker was lost: there is a way out, which is said. */
static void objects_without_a_marker(void **state)
{
    (void)state;
    struct fake f = {.objects = 3};
    struct owner w;
    struct err e;

    assert_int_equal(taken(&f, true, false, &w, &e), -EEXIST);
    assert_non_null(strstr(e.what, "3 objects of kvtrace, but no marker"));
    assert_non_null(strstr(e.what, "--destroy-data"));
    assert_int_equal(f.cleared, 0);
    f.foreign = true;
    assert_int_equal(taken(&f, true, true, &w, &e), -EEXIST);
    f.foreign = false;
    assert_int_equal(taken(&f, true, true, &w, &e), 0);
    assert_int_equal(f.objects, 0);
}

/* In the very process, and elsewhere by the clock of the store. */
static void running(void **state)
{
    (void)state;
    struct fake f = {.now_s = 1000, .objects = 4};
    struct owner w;
    struct err e;

    struct card c = marked(&f, NULL, false);
    if (c.pid_ns && c.born) {
        assert_int_equal(taken(&f, true, true, &w, &e), -EBUSY);
        assert_non_null(strstr(e.what, "wait until that process has ended"));
        c.born--; /* a later process has its number */
        card_format(&c, f.marker);
        assert_int_equal(taken(&f, true, false, &w, &e), 0);
        f = (struct fake){.now_s = 1000, .objects = 4};
    }
    c = marked(&f, "elsewhere", false);
    assert_int_equal(taken(&f, true, true, &w, &e), -EBUSY);
    assert_non_null(strstr(e.what, "on host elsewhere"));
    assert_non_null(strstr(e.what, "free in 31 s"));
    c.pid_ns++; /* on this host, in another namespace, with our number */
    snprintf(c.host, sizeof(c.host), "%s", w.me.host);
    card_format(&c, f.marker);
    assert_int_equal(taken(&f, true, true, &w, &e), -EBUSY);
    assert_int_equal(f.cleared, 0);
    f.now_s += 31; /* more than a minute */
    assert_int_equal(taken(&f, false, false, &w, &e), 0);
    assert_int_equal(f.cleared, 2); /* what was left, and this run's own */
    assert_int_equal(waited, 0);
}

/* Without a clock of the store. */
static void watched(void **state)
{
    (void)state;
    struct fake f = {.objects = 4};
    struct owner w;
    struct err e;

    struct card c = marked(&f, "elsewhere", false);
    c.lease_s = 1;
    card_format(&c, f.marker);
    f.renews_at = 4;
    assert_int_equal(taken(&f, true, true, &w, &e), -EBUSY);
    assert_int_equal(waited, 1);
    int64_t begun_ns = clock_boot_ns();
    assert_int_equal(taken(&f, false, false, &w, &e), 0);
    assert_int_equal(waited, 1);
    assert_true(clock_boot_ns() - begun_ns >= 1000000000);
    assert_int_equal(f.objects, 0);
}

/* Not ours, or of a later version. */
static void strange_markers(void **state)
{
    (void)state;
    struct fake f = {.objects = 1, .marker = "kvtrace runs 3\n", .now_s = 1000};
    struct owner w;
    struct err e;

    assert_int_equal(taken(&f, true, false, &w, &e), -EACCES);
    assert_non_null(strstr(e.what, "--destroy-data"));
    setenv("KVTRACE_TEST_LEASE", "2", 1);
    assert_int_equal(taken(&f, true, true, &w, &e), 0);
    unsetenv("KVTRACE_TEST_LEASE");
    assert_int_equal(waited, 1);
    assert_int_equal(f.objects, 0);
}

static void kept(void **state)
{
    (void)state;
    struct fake f = {0};
    struct owner w;
    struct err e;

    assert_int_equal(taken(&f, true, false, &w, &e), 0);
    assert_false(w.kept);
    f.objects = 5;
    assert_int_equal(taken(&f, false, false, &w, &e), -EEXIST);
    assert_non_null(strstr(e.what, "holds 5 objects"));
    assert_int_equal(taken(&f, true, false, &w, &e), 0);
    assert_true(w.kept && !w.unsure);
    f.now_s = 1000;
    (void)marked(&f, "elsewhere", true); /* a run that keeps... */
    f.now_s = 2000;                      /* ...has died */
    assert_int_equal(taken(&f, true, false, &w, &e), 0);
    assert_true(w.kept && w.unsure);
    assert_int_equal(taken(&f, true, false, &w, &e), 0);
    assert_true(w.unsure); /* until they are removed */
    assert_int_equal(f.objects, 5);
    f.foreign = true;
    assert_int_equal(taken(&f, false, true, &w, &e), -EEXIST);
    f.foreign = false;
    assert_int_equal(taken(&f, false, true, &w, &e), 0);
    assert_int_equal(f.objects, 0);
    assert_string_equal(f.marker, "");
}

static void early_versions(void **state)
{
    (void)state;
    static const char early[] = "kvtrace kept\nprogram kvreplay\npid 12\nhost a\nboot 0\nstart 1\n"
                                "seed 7\nkeeps 1\nunsure 0\nrenewed 5\n";
    struct fake f = {.objects = 5, .now_s = 1000};
    struct owner w;
    struct err e;

    snprintf(f.marker, sizeof(f.marker), "%s", early);
    assert_int_equal(taken(&f, true, false, &w, &e), 0);
    assert_true(w.kept && !w.unsure);
    assert_int_equal(f.objects, 5);
}

static bool lost(struct owner *w)
{
    int64_t until_ns = clock_now_ns() + 20000000000;

    while (lease_valid(w->lease) && clock_now_ns() < until_ns)
        clock_sleep_until(clock_now_ns() + 10000000, 0);
    return lease_lost(w->lease);
}

/* The thread of the lease renews the marker, and finds that of another. */
static void taken_over(void **state)
{
    (void)state;
    struct fake f = {.now_s = 5};
    const struct owner_store store = store_of(&f);
    struct owner w;
    struct err e;
    bool renewed = false;

    setenv("KVTRACE_TEST_LEASE", "2", 1);
    assert_int_equal(take(&w, &store, false, false, &e), 0);
    pthread_mutex_lock(&lock);
    f.now_s = 15;
    f.objects = 9;
    pthread_mutex_unlock(&lock);
    while (!renewed) {
        clock_sleep_until(clock_now_ns() + 10000000, 0);
        pthread_mutex_lock(&lock);
        renewed = strstr(f.marker, "renewed 15\n");
        pthread_mutex_unlock(&lock);
    }
    assert_true(lease_valid(w.lease));
    pthread_mutex_lock(&lock);
    (void)marked(&f, "elsewhere", false);
    pthread_mutex_unlock(&lock);
    assert_true(lost(&w));
    assert_int_equal(owner_leave(&w, false, &e), -ESTALE);
    assert_int_equal(e.class, ERR_TARGET);
    assert_non_null(strstr(e.what, "on host elsewhere"));
    assert_int_equal(f.objects, 9);
    assert_int_equal(owner_leave(&w, false, &e), 0);
    assert_int_equal(f.objects, 9);

    f = (struct fake){.now_s = 5}; /* somebody removes the marker */
    assert_int_equal(take(&w, &store, true, false, &e), 0);
    pthread_mutex_lock(&lock);
    f.marker[0] = '\0';
    f.objects = 9;
    pthread_mutex_unlock(&lock);
    assert_true(lost(&w));
    assert_int_equal(owner_leave(&w, true, &e), -ESTALE);
    assert_non_null(strstr(e.what, "left: 9 objects (--destroy-data removes them)"));
    assert_string_equal(f.marker, "");
    unsetenv("KVTRACE_TEST_LEASE");
}

static void stuck_objects(void **state)
{
    (void)state;
    struct fake f = {.stuck = 3};
    const struct owner_store store = store_of(&f);
    struct owner w;
    struct err e;

    assert_int_equal(take(&w, &store, false, false, &e), 0);
    assert_int_equal(owner_leave(&w, false, &e), -EACCES);
    assert_string_equal(e.what, "no right to delete; 3 objects (4.00 KiB) left there");
    assert_non_null(strstr(f.marker, "kvtrace runs")); /* the next run clears it */
}

/* A second process of the run, and one of another run. */
static void joined(void **state)
{
    (void)state;
    struct fake f = {.now_s = 5};
    const struct owner_store store = store_of(&f);
    struct owner first, second;
    struct err e = {0};

    setenv("KVTRACE_TEST_LEASE", "2", 1);
    assert_int_equal(owner_join(&second, &store, 7, &e), -ENOENT);
    assert_int_equal(e.class, ERR_TARGET);
    assert_int_equal(take(&first, &store, true, false, &e), 0);
    assert_int_equal(owner_join(&second, &store, 8, &e), -ENOENT);
    assert_int_equal(owner_join(&second, &store, 7, &e), 0);
    assert_int_equal(second.me.epoch, first.me.epoch);
    assert_true(lease_valid(second.lease));
    assert_int_equal(owner_leave(&second, false, &e), 0);
    assert_non_null(strstr(f.marker, "kvtrace runs"));
    assert_int_equal(owner_join(&second, &store, 7, &e), 0);
    pthread_mutex_lock(&lock);
    (void)marked(&f, "elsewhere", false);
    f.objects = 3;
    pthread_mutex_unlock(&lock);
    assert_true(lost(&second));
    assert_int_equal(owner_leave(&second, false, &e), -ESTALE);
    assert_int_equal(owner_leave(&first, false, &e), -ESTALE);
    assert_int_equal(f.objects, 3);
    f = (struct fake){0};
    assert_int_equal(taken(&f, true, false, &first, &e), 0);
    assert_int_equal(owner_join(&second, &store, 7, &e), -ENOENT); /* kept, and nobody's */
    snprintf(f.marker, sizeof(f.marker), "something else");
    assert_int_equal(owner_join(&second, &store, 7, &e), -ENOENT);
    unsetenv("KVTRACE_TEST_LEASE");
}

/* Rank 0 hangs: the others stop before somebody else can have taken the store. */
static void joined_alone(void **state)
{
    (void)state;
    struct fake f = {.now_s = 5};
    const struct owner_store store = store_of(&f);
    struct owner second;
    struct err e = {0};

    setenv("KVTRACE_TEST_LEASE", "2", 1);
    struct card c = marked(&f, NULL, false);
    c.data_seed = 7;
    c.lease_s = 2;
    card_format(&c, f.marker);
    int64_t begun_ns = clock_boot_ns();
    assert_int_equal(owner_join(&second, &store, 7, &e), 0);
    assert_true(lost(&second));
    assert_true(clock_boot_ns() - begun_ns < 15000000000); /* of a busy machine */
    assert_int_equal(owner_leave(&second, false, &e), -ESTALE);
    unsetenv("KVTRACE_TEST_LEASE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(empty_stores),
        cmocka_unit_test(objects_without_a_marker),
        cmocka_unit_test(running),
        cmocka_unit_test(watched),
        cmocka_unit_test(strange_markers),
        cmocka_unit_test(kept),
        cmocka_unit_test(early_versions),
        cmocka_unit_test(taken_over),
        cmocka_unit_test(stuck_objects),
        cmocka_unit_test(joined),
        cmocka_unit_test(joined_alone),
    };
    return cmocka_run_group_tests_name("owner", tests, NULL, NULL);
}
