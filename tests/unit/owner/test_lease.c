/* test_lease.c - until when a run may put and delete. Expected: as long as its marker is renewed;
 * after a stop the next question renews first; what is not ours any more, or can't be renewed for a
 * whole lease, is lost for good. A bug looked like a run that wrote on after another had taken its
 * store. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/owner/card.h"
#include "lib/owner/lease.h"

#define S INT64_C(1000000000)

struct store {
    atomic_int answer;
    atomic_uint renewed;
};

static int renew(void *ctx, int64_t *from_ns)
{
    struct store *s = ctx;

    (void)from_ns;
    atomic_fetch_add(&s->renewed, 1);
    return atomic_load(&s->answer);
}

static struct lease *lease(struct store *s, int64_t from_ns)
{
    const struct lease_opts o = {.lease_s = 2, .from_ns = from_ns, .renew = renew, .ctx = s};
    struct err e = {0};
    struct lease *l;

    assert_int_equal(lease_open(&l, &o, &e), 0);
    return l;
}

static void held(void **state)
{
    (void)state;
    struct store s = {0};
    struct lease *l = lease(&s, clock_boot_ns());

    assert_true(lease_valid(l) && !lease_lost(l));
    while (atomic_load(&s.renewed) < 2)
        clock_sleep_until(clock_now_ns() + S / 100, 0);
    assert_true(lease_valid(l) && lease_confirm(l));
    unsigned renewed = s.renewed;
    s.answer = -ESTALE;
    bool valid = lease_valid(l); /* nobody has looked yet, but perhaps the thread */
    assert_true(valid || atomic_load(&s.renewed) > renewed);
    assert_true(!lease_confirm(l) && !lease_valid(l) && lease_lost(l));
    lease_close(l);
    assert_true(lease_valid(NULL) && !lease_lost(NULL));
    lease_close(NULL);
}

/* The question comes before the thread has its turn. */
static void over(void **state)
{
    (void)state;
    struct store s = {0};
    struct lease *l = lease(&s, clock_boot_ns() - 3 * S);

    assert_true(lease_valid(l));
    assert_true(atomic_load(&s.renewed) >= 1);
    lease_close(l);
    static const int answers[] = {-ESTALE, -EAGAIN, -ETIMEDOUT};
    for (size_t i = 0; i < 3; i++) {
        s.answer = answers[i];
        l = lease(&s, clock_boot_ns() - 3 * S);
        assert_false(lease_valid(l));
        s.answer = 0;
        assert_true(!lease_valid(l) && lease_lost(l));
        lease_close(l);
    }
}

/* A renewal in the middle of which the process was stopped: the next one tells. */
static int renew_late(void *ctx, int64_t *from_ns)
{
    struct store *s = ctx;

    if (atomic_fetch_add(&s->renewed, 1) == 0)
        *from_ns -= 3 * S;
    return 0;
}

static void stopped_meanwhile(void **state)
{
    (void)state;
    struct store s = {0};
    const struct lease_opts o = {
        .lease_s = 2, .from_ns = clock_boot_ns() - 3 * S, .renew = renew_late, .ctx = &s};
    struct err e = {0};
    struct lease *l;

    assert_int_equal(lease_open(&l, &o, &e), 0);
    assert_true(lease_valid(l));
    assert_true(s.renewed >= 2); /* the thread may have had its turn, too */
    lease_close(l);
}

/* The thread hears of it, and a store that is out of reach for a while is no loss. */
static void lost_meanwhile(void **state)
{
    (void)state;
    struct store s = {.answer = -ECONNREFUSED};
    struct lease *l = lease(&s, clock_boot_ns());

    while (atomic_load(&s.renewed) < 1)
        clock_sleep_until(clock_now_ns() + S / 100, 0);
    s.answer = 0;
    assert_true(lease_valid(l));
    s.answer = -EAGAIN;
    while (!lease_lost(l))
        clock_sleep_until(clock_now_ns() + S / 100, 0);
    assert_false(lease_valid(l));
    lease_close(l);
}

static void seconds(void **state)
{
    (void)state;
    unsetenv("KVTRACE_TEST_LEASE");
    assert_int_equal(lease_seconds(), CARD_LEASE_S);
    setenv("KVTRACE_TEST_LEASE", "2", 1);
    assert_int_equal(lease_seconds(), 2);
    setenv("KVTRACE_TEST_LEASE", "1", 1);
    assert_int_equal(lease_seconds(), CARD_LEASE_S);
    setenv("KVTRACE_TEST_LEASE", "2s", 1);
    assert_int_equal(lease_seconds(), CARD_LEASE_S);
    unsetenv("KVTRACE_TEST_LEASE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held),
        cmocka_unit_test(over),
        cmocka_unit_test(stopped_meanwhile),
        cmocka_unit_test(lost_meanwhile),
        cmocka_unit_test(seconds),
    };
    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
