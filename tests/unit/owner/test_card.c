/* test_card.c - the text of a marker, and what it says about a process. Expected: a text comes back
 * as it was written, those of earlier versions are understood, nothing else is; a process counts as
 * there only in its own namespaces, and only the very one. A bug looked like a dead process that
 * held a store because a later one had its number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/owner/card.h"

static int parse(const char *text, struct card *c)
{
    return card_parse(text, strlen(text), c);
}

static void text_of_a_card(void **state)
{
    (void)state;
    const struct card c = {.keeps = true,
                           .unsure = true,
                           .created = true,
                           .program = "kvreplay",
                           .host = "a host",
                           .boot = "0123-ab",
                           .pid = 12,
                           .start_s = 34,
                           .renewed_s = 56,
                           .data_seed = UINT64_MAX,
                           .pid_ns = 4026531836,
                           .time_ns = 4026531834,
                           .born = 77,
                           .epoch = 0xdeadbeef,
                           .lease_s = 60,
                           .part_from = 1024,
                           .part_to = 4096};
    struct card back;
    char text[OWNER_BYTES], full[OWNER_BYTES];

    card_format(&c, text);
    assert_int_equal(parse(text, &back), 0);
    assert_memory_equal(&c, &back, sizeof(c));
    /* As in a folder, where newlines fill the file. */
    memset(full, '\n', sizeof(full));
    memcpy(full, text, strlen(text));
    assert_int_equal(card_parse(full, sizeof(full), &back), 0);
    assert_memory_equal(&c, &back, sizeof(c));
    for (size_t cut = strlen(text); cut-- > 0;)
        assert_int_equal(card_parse(text, cut, &back), -EINVAL);
    strcat(text, "x");
    assert_int_equal(parse(text, &back), -EINVAL);
}

static void longest(void **state)
{
    (void)state;
    struct card c = {
        .kept = true, .pid = INT64_MAX, .start_s = 9000000000, .renewed_s = 9000000000};
    struct card back;
    char text[OWNER_BYTES];

    memset(c.program, 'p', sizeof(c.program) - 1);
    memset(c.host, 'h', sizeof(c.host) - 1);
    memset(c.boot, 'b', sizeof(c.boot) - 1);
    c.data_seed = c.pid_ns = c.time_ns = c.born = UINT64_MAX;
    c.epoch = UINT32_MAX;
    c.lease_s = 3600;
    c.part_to = 4096;
    card_format(&c, text);
    assert_int_equal(parse(text, &back), 0);
    assert_memory_equal(&c, &back, sizeof(c));
}

static void earlier_versions(void **state)
{
    (void)state;
    struct card c;

    assert_int_equal(parse("kvtrace runs\nprogram kvreplay\npid 12\nhost a host\nboot 0-a\nstart 34"
                           "\nseed 78\nkeeps 1\nunsure 0\nrenewed 56\n",
                           &c),
                     0);
    assert_true(!c.kept && c.keeps && !c.unsure && c.pid == 12 && c.renewed_s == 56);
    assert_true(c.epoch == 0 && c.lease_s == CARD_LEASE_S && c.data_seed == 78);
    assert_string_equal(c.host, "a host");
    assert_int_equal(parse("running 123\nkvreplay\ncreated\nkeep\npart 1024 2048\nseed "
                           "18446744073709551615\n\n\n",
                           &c),
                     0);
    assert_true(!c.kept && c.keeps && c.created && c.pid == 123 && c.data_seed == UINT64_MAX);
    assert_true(c.part_from == 1024 && c.part_to == 2048 && c.epoch == 0);
    assert_int_equal(parse("kept\nkvprecond\nunsure\n", &c), 0);
    assert_true(c.kept && c.unsure && c.part_to == 0);
    assert_string_equal(c.program, "kvprecond");
}

static void others(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "\n",
        "x",
        "kept",
        "kept\n",
        "running\nkvreplay\n",
        "running -1\nkvreplay\n",
        "running 99999999999999999999\nkvreplay\n",
        "kept\nKVREPLAY\n",
        "kept\nkvreplay\npart 5 5\n",
        "kept\nkvreplay\npart 0 4097\n",
        "kept\nkvreplay\npart 0 4096 \n",
        "kept\nkvreplay\nmore\n",
        "kvtrace\n",
        "kvtrace runs\n",
        "kvtrace lies\nprogram a\n",
        "kvtrace runs\nprogram a\npid 99999999999999999999999\n",
        "kvtrace runs\nprogram a\npid 1\nhost a\nboot 0\nstart 1\nseed 1\nkeeps 2\nunsure 0\n"
        "renewed 1\n",
        "kvtrace runs\nprogram a\npid 1\nhost a\nboot 0\nstart 9223372036854775807\nseed 1\n"
        "keeps 0\nunsure 0\nrenewed 1\n",
        "kvtrace runs\nprogram a\npid 1\nhost a\nboot 0\nstart 1\nseed 1\nkeeps 0\nunsure 0\n"
        "renewed -1\n",
    };
    struct card c;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (parse(bad[i], &c) != -EINVAL)
            fail_msg("taken: %s", bad[i]);
    }
    assert_int_equal(card_parse("kept\0kvreplay\n", 14, &c), -EINVAL);
}

static void processes(void **state)
{
    (void)state;
    struct card me, c, next;

    card_here(&me, "kvreplay");
    card_here(&next, "kvreplay");
    assert_int_not_equal(me.epoch, 0);
    assert_int_not_equal(me.epoch, next.epoch);
    assert_true(card_same(&me, &me) && !card_same(&me, &next));
    if (!me.pid_ns || !me.born)
        skip();
    assert_int_equal(card_life(&me, &next), CARD_LIVES);
    c = me;
    c.born--; /* a later process has its number */
    assert_int_equal(card_life(&c, &me), CARD_DEAD);
    c = me;
    c.pid_ns++;
    assert_int_equal(card_life(&c, &me), CARD_UNKNOWN);
    c = me;
    c.time_ns++;
    assert_int_equal(card_life(&c, &me), CARD_UNKNOWN);
    c = me;
    c.host[0]++;
    assert_int_equal(card_life(&c, &me), CARD_UNKNOWN);
    c = me;
    c.born = c.pid_ns = 0; /* of an earlier version */
    assert_int_equal(card_life(&c, &me), CARD_UNKNOWN);
}

/* Also one that nobody waits for, as under a PID 1 that is no init. */
static void dead_processes(void **state)
{
    (void)state;
    struct card me, child;
    siginfo_t info;
    int fd[2];

    card_here(&me, "kvreplay");
    if (!me.pid_ns || !me.born)
        skip();
    assert_int_equal(pipe(fd), 0);
    pid_t pid = fork();
    if (pid == 0) {
        card_here(&child, "kvreplay");
        _exit(write(fd[1], &child, sizeof(child)) != sizeof(child));
    }
    assert_int_equal(read(fd[0], &child, sizeof(child)), sizeof(child));
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(card_life(&child, &me), CARD_DEAD);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(card_life(&child, &me), CARD_DEAD);
    close(fd[0]);
    close(fd[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_of_a_card),   cmocka_unit_test(longest),
        cmocka_unit_test(earlier_versions), cmocka_unit_test(others),
        cmocka_unit_test(processes),        cmocka_unit_test(dead_processes),
    };
    return cmocka_run_group_tests_name("card", tests, NULL, NULL);
}
