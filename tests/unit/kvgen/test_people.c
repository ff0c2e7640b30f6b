/* Users who behave as people: the draws against the table of habits, shares of users, sessions that
 * go on from their earlier turns, and users that do not change each other. A bug looked like a mean
 * that a tail made three times too large, like a sub-agent that began with its parent's text, or
 * like a user that asked something else when there were more of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/people/habits.h"
#include "kvgen/people/people.h"
#include "lib/base/units.h"
#include "lib/trace/trace.h"

enum {
    DRAWS = 20000
};

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Each table holds within its bounds, and its draws have its quantiles: at share p within 1.5 of
 * 100 shares, which is four deviations of 20,000 draws. */
static void draws_have_the_quantiles_of_their_table(void **state)
{
    (void)state;
    static int64_t v[DRAWS];
    for (int h = 0; h < HABITS; h++) {
        const struct habit_figure *f = &habits[h];
        if (!f->table)
            continue;
        struct rng r;
        rng_seed(&r, 5, (uint64_t)h);
        for (int i = 0; i < DRAWS; i++)
            v[i] = habits_draw((enum habit)h, &r);
        qsort(v, DRAWS, sizeof(*v), compare);
        assert_true(v[0] >= f->value[0] && v[DRAWS - 1] <= f->value[HABITS_POINTS - 1]);
        for (int k = 0; k < HABITS_POINTS; k++) {
            assert_true(f->value[k] >= 1 && (k == 0 || f->value[k] >= f->value[k - 1]));
            const int at = habits_share[k] * (DRAWS - 1) / 100, far = DRAWS * 15 / 1000;
            assert_true(v[at > far ? at - far : 0] <= f->value[k]);
            if (habits_share[k] < 100) /* which is never reached */
                assert_true(v[at + far < DRAWS ? at + far : DRAWS - 1] >= f->value[k]);
        }
    }
}

static void draws_repeat_on_every_host(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 1, 2);
    const int64_t chat = habits_draw(HABIT_CHAT_FIRST, &r);
    const int64_t pause = habits_draw(HABIT_CODE_TOOL, &r);
    const int64_t reading = habits_reading_ns(400, &r);
    assert_int_equal(chat, 9);
    assert_int_equal(pause, 11109);
    assert_int_equal(reading, 58610775972);
}

/* 400 tokens are 300 words, 75 s at 240 a minute; half of the readers are faster. */
static void reading_is_around_the_words(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 9, 9);
    int faster = 0, far = 0;
    for (int i = 0; i < DRAWS; i++) {
        const int64_t ns = habits_reading_ns(400, &r);
        faster += ns < 75 * UNITS_NS_PER_S;
        far += ns < 49 * UNITS_NS_PER_S || ns > 115 * UNITS_NS_PER_S; /* two deviations */
    }
    assert_in_range(faster, DRAWS * 48 / 100, DRAWS * 52 / 100);
    assert_in_range(far, DRAWS * 3 / 100, DRAWS * 6 / 100);
}

static void shares_hold_for_any_number_of_users(void **state)
{
    (void)state;
    const struct people_mix mix = {.share = {70, 20, 10}};
    struct mix_order order = {.mix = &mix};
    uint64_t of_kind[PEOPLE_KINDS] = {0};
    for (uint64_t users = 1; users <= 1000; users++) {
        of_kind[mix_next(&order)]++;
        for (int k = 0; k < PEOPLE_KINDS; k++) {
            const double want = (double)users * mix.share[k] / 100.0;
            assert_true((double)of_kind[k] > want - 1 && (double)of_kind[k] < want + 1);
        }
    }
}

static void mixes_are_read(void **state)
{
    (void)state;
    struct people_mix m;
    struct err e;
    assert_int_equal(mix_parse(&m, "mlperf", &e), 0);
    assert_false(mix_is_people(&m));
    assert_int_equal(mix_parse(&m, "chat", &e), 0);
    assert_true(mix_is_people(&m) && m.share[PEOPLE_CHAT] == 1 && m.share[PEOPLE_CODE] == 0);
    assert_int_equal(mix_parse(&m, "documents=10,chat=70,code", &e), 0);
    assert_true(m.share[PEOPLE_CHAT] == 70 && m.share[PEOPLE_CODE] == 1 &&
                m.share[PEOPLE_DOCUMENTS] == 10);
    static const char *const bad[] = {
        "",
        "chat,",
        ",chat",
        "chat=",
        "chat=0",
        "chat=1000001",
        "chat=-1",
        "chat=1.5",
        "chat=x",
        "chats",
        "cha",
        "chat,chat",
        "chat=1=2",
        "mlperf=1",
        "mlperf,chat",
        "chat code",
        "chat=99999999999999999999",
        "CHAT",
        "chat=70 ",
        "help,chat",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(mix_parse(&m, bad[i], &e), -EINVAL);
}

/* ---- the source ---- */

struct log {
    struct request *request;
    size_t count;
};

/* The first `most` requests of people whose answers take answer_ns each. */
static struct log run_from(bool midway, const char *mix, uint32_t users, size_t most,
                           int64_t answer_ns)
{
    struct people_opts o = {.users = users, .seed = 3, .midway = midway};
    struct source *s;
    struct err e;
    struct log l = {.request = calloc(most, sizeof(*l.request))};
    assert_non_null(l.request);
    assert_int_equal(mix_parse(&o.mix, mix, &e), 0);
    assert_int_equal(source_people_open(&s, &o, &e), 0);
    int64_t before_ns = 0, arrival_ns;
    while (l.count < most && s->ops->peek(s, &arrival_ns, &e) == 1) {
        struct request *r = &l.request[l.count++];
        s->ops->take(s, r);
        assert_int_equal(r->arrival_ns, arrival_ns);
        assert_true(arrival_ns >= before_ns);
        before_ns = arrival_ns;
        /* With answers that take no time, the next request of the user may come first. */
        s->ops->done(s, r, arrival_ns + answer_ns);
    }
    s->ops->close(s);
    assert_int_equal(l.count, most);
    return l;
}

static struct log run(const char *mix, uint32_t users, size_t most, int64_t answer_ns)
{
    return run_from(false, mix, users, most, answer_ns);
}

static bool same_conversation(const struct request *a, const struct request *b)
{
    return ident_equal(ident_other_turn(a->object, 0), ident_other_turn(b->object, 0));
}

static void sessions_go_on_from_their_turns(void **state)
{
    (void)state;
    static const char *const mix[] = {"chat", "code", "documents"};
    for (size_t k = 0; k < 3; k++) {
        struct log l = run(mix[k], 1, 5000, UNITS_NS_PER_S);
        size_t begun = 0, agents = 0;
        for (size_t i = 0; i < l.count; i++) {
            const struct request *r = &l.request[i];
            assert_int_equal(r->number, i + 1);
            assert_int_equal(r->qos, k == 1 ? TRACE_RESPONSIVE : TRACE_INTERACTIVE);
            assert_true(r->context_tokens >= 1 && r->generated_tokens >= 1);
            assert_true(r->shared > 0 && r->shared_tokens > 0 && r->prompt == -1);
            /* Its turn before, and what all of them asked. */
            int64_t tokens = r->shared_tokens + r->context_tokens + r->generated_tokens;
            uint32_t turn = r->turn;
            for (size_t b = i; turn > 1 && b-- > 0;)
                if (same_conversation(&l.request[b], r)) {
                    assert_int_equal(l.request[b].turn, --turn);
                    assert_int_equal(l.request[b].shared, r->shared);
                    tokens += l.request[b].context_tokens + l.request[b].generated_tokens;
                }
            assert_int_equal(turn, 1);
            assert_true(tokens <= HABITS_WINDOW_TOKENS);
            begun += r->turn == 1;
            agents += k == 1 && r->turn == 1 && r->shared == 3;
        }
        assert_true(begun > 50);
        assert_true(k != 1 || agents > 0);
        free(l.request);
    }
}

/* Means over 5,000 requests: turns of a chat 1 + 0.507 / (1 - 0.464) = 1.95; questions about a
 * document 1 / (1 - 0.686) = 3.19, but for those that the window ends. */
static void sessions_are_as_long_as_the_table_says(void **state)
{
    (void)state;
    static const struct {
        const char *mix;
        double least, most;
    } want[] = {{"chat", 1.8, 2.1}, {"documents", 2.8, 3.4}, {"code", 20, 48}};
    for (size_t k = 0; k < 3; k++) {
        struct log l = run(want[k].mix, 50, 10000, UNITS_NS_PER_S);
        double begun = 0;
        for (size_t i = 0; i < l.count; i++)
            begun += l.request[i].turn == 1;
        assert_true((double)l.count / begun > want[k].least);
        assert_true((double)l.count / begun < want[k].most);
        free(l.request);
    }
}

/* The n-th document is asked about 1/n as often, and has one length. */
static void documents_are_shared_by_their_rank(void **state)
{
    (void)state;
    struct log l = run("documents", 200, 60000, UNITS_NS_PER_S);
    uint32_t first = 0, tenth = 0;
    int64_t tokens = 0;
    for (size_t i = 0; i < l.count; i++) {
        const struct request *r = &l.request[i];
        assert_true(r->shared >= 4 && r->shared < 4 + 1585);
        if (r->turn == 1) {
            first += r->shared == 4;
            tenth += r->shared == 13;
        }
        if (r->shared == 4) {
            assert_true(tokens == 0 || tokens == r->shared_tokens);
            tokens = r->shared_tokens;
        }
    }
    assert_true(first > 1000);
    assert_in_range(tenth, first / 13, first / 8);
    free(l.request);
}

/* A user's questions are the same beside more users and with slower answers. */
static void users_do_not_change_each_other(void **state)
{
    (void)state;
    struct log few = run("chat=7,code=2,documents", 5, 4000, UNITS_NS_PER_S);
    struct log many = run("chat=7,code=2,documents", 12, 12000, 40 * UNITS_NS_PER_S);
    for (uint32_t user = 0; user < 5; user++) {
        size_t a = 0, b = 0, compared = 0;
        for (;; a++, b++) {
            while (a < few.count && few.request[a].user != user)
                a++;
            while (b < many.count && many.request[b].user != user)
                b++;
            if (a >= few.count || b >= many.count)
                break;
            const struct request *x = &few.request[a], *y = &many.request[b];
            assert_true(ident_equal(x->object, y->object));
            assert_int_equal(x->context_tokens, y->context_tokens);
            assert_int_equal(x->generated_tokens, y->generated_tokens);
            assert_int_equal(x->shared, y->shared);
            assert_int_equal(x->shared_tokens, y->shared_tokens);
            if (compared++ == 0)
                assert_int_equal(x->arrival_ns, y->arrival_ns);
        }
        assert_true(compared > 100);
    }
    free(few.request);
    free(many.request);
}

/* A hundred users do not ask at once: they begin within some minutes, about as fast as they go on.
 */
static void first_requests_are_spread(void **state)
{
    (void)state;
    static const char *const mix[] = {"chat", "code", "documents"};
    static const enum habit pause[] = {HABIT_CHAT_PAUSE, HABIT_CODE_BREAK, HABIT_DOCUMENTS_PAUSE};
    for (size_t k = 0; k < 3; k++) {
        struct log l = run(mix[k], 100, 100, UNITS_NS_PER_S * 86400);
        const int64_t spread_ns = habits_at(pause[k], 80) * 1000000;
        assert_in_range(l.request[49].arrival_ns, spread_ns * 3 / 10, spread_ns * 7 / 10);
        assert_true(l.request[9].arrival_ns > spread_ns / 50);
        assert_true(l.request[99].arrival_ns < spread_ns);
        free(l.request);
    }
}

/* Midway, caches get each session that goes on, once, and then the session does go on. */
static void sessions_are_under_way(void **state)
{
    (void)state;
    enum {
        USERS = 200
    };
    static const char *const mix[] = {"chat", "documents", "code"};
    for (size_t k = 0; k < 3; k++) {
        struct log l = run_from(true, mix[k], USERS, 6 * USERS, UNITS_NS_PER_S);
        struct log few = run_from(true, mix[k], USERS / 10, 2 * USERS / 10, UNITS_NS_PER_S);
        const struct request *recalled[USERS] = {0};
        size_t recalls = 0, went_on = 0, first[USERS] = {0};
        while (l.request[recalls].generated_tokens == 1 && !recalled[l.request[recalls].user]) {
            const struct request *r = &l.request[recalls++];
            recalled[r->user] = r;
            assert_true(r->turn > 0 && r->context_tokens > 0 && r->number == recalls);
            assert_true(r->arrival_ns < 30 * UNITS_NS_PER_S);
        }
        assert_in_range(recalls, USERS / 4, USERS - 1);
        for (size_t i = recalls; i < l.count; i++) {
            const struct request *r = &l.request[i], *before = recalled[r->user];
            assert_true(r->arrival_ns >= l.request[recalls - 1].arrival_ns);
            if (first[r->user]++ || !before || r->shared != before->shared)
                continue; /* a sub-agent, or a later one */
            assert_true(r->turn == before->turn + 1);
            const struct ident a = ident_other_turn(r->object, 0);
            const struct ident b = ident_other_turn(before->object, 0);
            assert_true(a.hi == b.hi && a.lo == b.lo);
            went_on++;
        }
        assert_true(went_on > recalls / 2);
        /* A user is the same, however many there are. */
        for (size_t i = 0; i < few.count && few.request[i].generated_tokens == 1; i++) {
            const struct request *r = recalled[few.request[i].user];
            if (r)
                assert_int_equal(r->context_tokens, few.request[i].context_tokens);
        }
        free(l.request);
        free(few.request);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_have_the_quantiles_of_their_table),
        cmocka_unit_test(draws_repeat_on_every_host),
        cmocka_unit_test(reading_is_around_the_words),
        cmocka_unit_test(shares_hold_for_any_number_of_users),
        cmocka_unit_test(mixes_are_read),
        cmocka_unit_test(sessions_go_on_from_their_turns),
        cmocka_unit_test(sessions_are_as_long_as_the_table_says),
        cmocka_unit_test(documents_are_shared_by_their_rank),
        cmocka_unit_test(users_do_not_change_each_other),
        cmocka_unit_test(first_requests_are_spread),
        cmocka_unit_test(sessions_are_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
