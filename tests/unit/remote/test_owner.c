/* test_owner.c - whose a remote store is, on a store in memory. Expected: one of two runs gets it,
 * nothing foreign is touched, what a dead run left is cleared or kept as that run had said. A bug
 * looked like two runs in one store, or an object of somebody else that was removed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/remote/owner.h"

struct fake {
    char marker[OWNER_BYTES]; /* "": none */
    uint64_t objects;
    bool foreign;
    int64_t now_s;
    unsigned overtakes; /* other runs that put or swap first */
    unsigned cleared;
};

static int fake_get(void *ctx, char text[OWNER_BYTES], int64_t *now_s, struct err *e)
{
    const struct fake *f = ctx;

    (void)e;
    memcpy(text, f->marker, OWNER_BYTES);
    *now_s = f->now_s;
    return f->marker[0] ? 0 : -ENOENT;
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
    if (strcmp(f->marker, old) != 0 || f->overtakes > 0) {
        f->overtakes -= f->overtakes > 0;
        return -EAGAIN;
    }
    snprintf(f->marker, sizeof(f->marker), "%s", text ? text : "");
    return 0;
}

static int fake_look(void *ctx, struct owner_found *found, struct err *e)
{
    const struct fake *f = ctx;

    (void)e;
    *found = (struct owner_found){.objects = f->objects, .foreign = f->foreign, .name = "else"};
    return 0;
}

static int fake_clear(void *ctx, struct err *e)
{
    struct fake *f = ctx;

    (void)e;
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

/* Takes f, keeping or destroying, and leaves it again (keeping). */
static int taken(struct fake *f, bool keeps, bool destroys, struct owner *w, struct err *e)
{
    const struct owner_store store = store_of(f);
    const struct owner_opts o = {
        .program = "kvreplay", .keeps = keeps, .destroys = destroys, .data_seed = 7};

    *e = (struct err){0};
    int rc = owner_take(w, &store, &o, e);
    if (rc == 0)
        assert_int_equal(owner_leave(w, keeps, e), 0);
    return rc;
}

/* The marker of a run on this host or elsewhere. */
static void marked(struct fake *f, const char *host, long pid, bool keeps)
{
    struct owner_card c = {.program = "kvreplay", .pid = pid, .keeps = keeps, .start_s = 1};
    struct owner w = {0};
    struct fake empty = {0};
    struct err e;

    assert_int_equal(taken(&empty, false, false, &w, &e), 0); /* for host and boot */
    snprintf(c.host, sizeof(c.host), "%.60s", host ? host : w.me.host);
    snprintf(c.boot, sizeof(c.boot), "%s", w.me.boot);
    c.renewed_s = f->now_s - 30;
    owner_format(&c, f->marker);
}

static void text_of_a_marker(void **state)
{
    (void)state;
    const struct owner_card c = {.keeps = true,
                                 .unsure = true,
                                 .program = "kvreplay",
                                 .host = "a host",
                                 .boot = "0123-ab",
                                 .pid = 12,
                                 .start_s = 34,
                                 .renewed_s = 56,
                                 .data_seed = 78};
    struct owner_card back;
    char text[OWNER_BYTES];

    owner_format(&c, text);
    assert_int_equal(owner_parse(text, &back), 0);
    assert_memory_equal(&c, &back, sizeof(c));
    for (size_t cut = strlen(text); cut-- > 0;) {
        char part[OWNER_BYTES];
        memcpy(part, text, cut);
        part[cut] = '\0';
        assert_int_equal(owner_parse(part, &back), -EINVAL);
    }
    strcat(text, "x");
    assert_int_equal(owner_parse(text, &back), -EINVAL);
    assert_int_equal(owner_parse("kvtrace runs\nprogram a\npid 99999999999999999999999\n", &back),
                     -EINVAL);
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
    for (unsigned cut = 0; cut <= 9; cut++) { /* with an epoch: all of it, or none */
        int len = snprintf(name, sizeof(name), "%s-0123abcd", hex) - (int)cut;
        assert_int_equal(owner_names_object(name, (size_t)len), cut == 0 || cut == 9);
    }
    snprintf(name, sizeof(name), "%s-0123abcd.1", hex);
    assert_true(owner_names_object(name, strlen(name)));
    snprintf(name, sizeof(name), "%s-00000000", hex);
    assert_false(owner_names_object(name, strlen(name)));
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
    f = (struct fake){.objects = 3};
    assert_int_equal(taken(&f, true, true, &w, &e), -EEXIST);
    assert_int_equal(f.cleared, 0);
    f = (struct fake){.overtakes = 100};
    assert_int_equal(taken(&f, false, false, &w, &e), -EBUSY);
}

static void running(void **state)
{
    (void)state;
    struct fake f = {.now_s = 1000, .objects = 4};
    struct owner w;
    struct err e;

    marked(&f, NULL, getpid(), false);
    assert_int_equal(taken(&f, true, true, &w, &e), -EBUSY);
    marked(&f, "elsewhere", 1, false);
    assert_int_equal(taken(&f, true, true, &w, &e), -EBUSY);
    assert_non_null(strstr(e.what, "process 1 on host elsewhere"));
    assert_int_equal(f.cleared, 0);
    f.now_s += 31; /* more than a minute */
    assert_int_equal(taken(&f, false, false, &w, &e), 0);
    assert_int_equal(f.cleared, 2); /* what was left, and this run's own */
    memset(f.marker, 'x', 20);
    assert_int_equal(taken(&f, true, true, &w, &e), -EEXIST);
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
    marked(&f, "elsewhere", 1, true); /* a run that keeps... */
    f.now_s = 2000;                   /* ...has died */
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

static void taken_over(void **state)
{
    (void)state;
    struct fake f = {.now_s = 5};
    const struct owner_store store = store_of(&f);
    const struct owner_opts o = {.program = "kvreplay"};
    struct owner w;
    struct err e = {0};

    assert_int_equal(owner_take(&w, &store, &o, &e), 0);
    f.now_s = 15;
    assert_int_equal(owner_renew(&w), 0);
    assert_non_null(strstr(f.marker, "renewed 15\n"));
    f.objects = 9;
    marked(&f, "elsewhere", 1, false);
    assert_int_equal(owner_renew(&w), -EAGAIN);
    assert_int_equal(owner_leave(&w, false, &e), -ESTALE);
    assert_int_equal(f.objects, 9);
    assert_int_equal(owner_leave(&w, false, &e), 0);
}

/* A second process of the run, and one of another run. */
static void joined(void **state)
{
    (void)state;
    struct fake f = {.now_s = 5};
    const struct owner_store store = store_of(&f);
    const struct owner_opts o = {.program = "kvreplay", .keeps = true, .data_seed = 7};
    struct owner first, second;
    struct err e = {0};

    assert_int_equal(owner_join(&second, &store, 7, &e), -ENOENT);
    assert_int_equal(e.class, ERR_TARGET);
    assert_int_equal(owner_take(&first, &store, &o, &e), 0);
    assert_int_equal(owner_join(&second, &store, 8, &e), -ENOENT);
    assert_int_equal(owner_join(&second, &store, 7, &e), 0);
    f.objects = 3;
    f.now_s = 15;
    assert_int_equal(owner_renew(&second), -EAGAIN);
    assert_null(strstr(f.marker, "renewed 15\n"));
    assert_int_equal(owner_leave(&second, false, &e), 0);
    assert_int_equal(f.objects, 3);
    assert_int_equal(owner_renew(&first), 0);
    assert_int_equal(owner_leave(&first, true, &e), 0);
    assert_int_equal(owner_join(&second, &store, 7, &e), -ENOENT); /* kept, and nobody's */
    snprintf(f.marker, sizeof(f.marker), "something else");
    assert_int_equal(owner_join(&second, &store, 7, &e), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_of_a_marker), cmocka_unit_test(names), cmocka_unit_test(empty_stores),
        cmocka_unit_test(running),          cmocka_unit_test(kept),  cmocka_unit_test(taken_over),
        cmocka_unit_test(joined),
    };
    return cmocka_run_group_tests_name("owner", tests, NULL, NULL);
}
