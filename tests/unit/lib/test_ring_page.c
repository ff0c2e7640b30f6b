/* The kernel's own pages of block events, recorded on a loop device, against the kernel's own text
 * of the same events: every one at its place, and joined to requests. Damaged pages end, and never
 * lead outside. A bug looked like a request whose two halves were two, or a time of another's. */
/* builds: plain address arm64 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/drive/request_join.h"
#include "lib/drive/ring_page.h"

#define DATA "tests/data/block_events/"

enum {
    PAGE = 4096,
    EVENTS_MAX = 1000
};

static size_t load(const char *name, void *to, size_t room)
{
    char path[128];

    snprintf(path, sizeof(path), DATA "%s", name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(to, 1, room - 1, f);
    ((char *)to)[n] = '\0';
    fclose(f);
    return n;
}

struct kind {
    const char *name;
    uint16_t id;
    struct event_field type, device, sector, sectors, what;
};

static void learn(struct ring_page_format *page, struct kind kind[3])
{
    static const char *const names[] = {"issue", "complete", "requeue"};
    char text[4096];

    load("header_page", text, sizeof(text));
    assert_int_equal(ring_page_format(page, text), 0);
    for (unsigned i = 0; i < 3; i++) {
        kind[i].name = names[i];
        load(names[i], text, sizeof(text));
        assert_int_equal(event_format_id(text, &kind[i].id), 0);
        assert_int_equal(event_format_field(text, "common_type", &kind[i].type), 0);
        assert_int_equal(event_format_field(text, "dev", &kind[i].device), 0);
        assert_int_equal(event_format_field(text, "sector", &kind[i].sector), 0);
        assert_int_equal(event_format_field(text, "nr_sector", &kind[i].sectors), 0);
        assert_int_equal(event_format_field(text, "rwbs", &kind[i].what), 0);
    }
}

static void where_fields_are(void **state)
{
    struct event_field f;
    uint64_t value;
    char text[4096];
    uint16_t id;

    (void)state;
    load("issue", text, sizeof(text));
    assert_int_equal(event_format_field(text, "sector", &f), 0);
    assert_true(f.offset == 16 && f.size == 8 && !f.is_signed);
    assert_int_equal(event_format_field(text, "common_pid", &f), 0);
    assert_true(f.offset == 4 && f.size == 4 && f.is_signed);
    assert_int_equal(event_format_field(text, "rwbs", &f), 0);
    assert_true(f.size == 10 || f.size == 8);
    assert_int_equal(event_format_field(text, "cmd", &f), 0);
    assert_int_equal(event_format_field(text, "sect", &f), -ENOENT);
    assert_int_equal(event_format_field(text, "", &f), -ENOENT);
    assert_int_equal(event_format_field("field:int a;\toffset:1;\tsize:-1;\tsigned:0;", "a", &f),
                     -EINVAL);
    assert_int_equal(
        event_format_field("field:int a;\toffset:99999999999;\tsize:1;\tsigned:0;", "a", &f),
        -EINVAL);
    assert_int_equal(event_format_field("field:int a;\tsize:4;\tsigned:1;", "a", &f), -EINVAL);
    assert_int_equal(event_format_id("name: x\nID: 65536\n", &id), -EINVAL);
    assert_int_equal(event_format_id("name: x\nID: \n", &id), -EINVAL);
    assert_int_equal(event_format_id("name: x\n", &id), -EINVAL);

    static const unsigned char event[] = {0xff, 0xfe, 3, 4, 5, 6, 7, 8};
    f = (struct event_field){.offset = 0, .size = 2, .is_signed = true};
    assert_int_equal(event_field_get(&f, event, sizeof(event), &value), 0);
    assert_true((int64_t)value == -257);
    f.is_signed = false;
    assert_int_equal(event_field_get(&f, event, sizeof(event), &value), 0);
    assert_true(value == 0xfeff);
    f = (struct event_field){.offset = 1, .size = 8};
    assert_int_equal(event_field_get(&f, event, sizeof(event), &value), -EINVAL);
    f = (struct event_field){.offset = UINT32_MAX, .size = 4};
    assert_int_equal(event_field_get(&f, event, sizeof(event), &value), -EINVAL);
    f = (struct event_field){.offset = 0, .size = 3};
    assert_int_equal(event_field_get(&f, event, sizeof(event), &value), -EINVAL);
}

static int earlier(const void *a, const void *b)
{
    const struct request_event *x = a, *y = b;

    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns ? 1 : x->kind - y->kind;
}

/* All events of the recorded pages, in order of time. */
static size_t recorded(struct request_event *out)
{
    static unsigned char bytes[16 * PAGE];
    static const char *const files[] = {"cpu0", "cpu1"};
    struct ring_page_format format;
    struct kind kind[3];
    size_t n = 0;

    learn(&format, kind);
    for (unsigned i = 0; i < 2; i++) {
        size_t len = load(files[i], bytes, sizeof(bytes));
        assert_int_equal(len % PAGE, 0);
        for (size_t at = 0; at < len; at += PAGE) {
            struct ring_page page;
            struct ring_event e;
            assert_int_equal(ring_page_open(&page, &format, bytes + at, PAGE), 0);
            assert_int_equal(page.lost, 0);
            while (ring_page_next(&page, &e)) {
                uint64_t type, device, sector, sectors;
                unsigned k = 0;
                assert_int_equal(event_field_get(&kind[0].type, e.data, e.len, &type), 0);
                while (kind[k].id != type)
                    assert_true(++k < 3);
                assert_int_equal(event_field_get(&kind[k].device, e.data, e.len, &device), 0);
                assert_int_equal(event_field_get(&kind[k].sector, e.data, e.len, &sector), 0);
                assert_int_equal(event_field_get(&kind[k].sectors, e.data, e.len, &sectors), 0);
                char what = (char)e.data[kind[k].what.offset];
                assert_true(n < EVENTS_MAX);
                out[n++] = (struct request_event){.time_ns = e.time_ns,
                                                  .sector = sector,
                                                  .device = (uint32_t)device,
                                                  .sectors = (uint32_t)sectors,
                                                  .kind = (uint8_t)k,
                                                  .what = what == 'R'   ? REQUEST_READ
                                                          : what == 'W' ? REQUEST_WRITE
                                                                        : REQUEST_OTHER};
            }
            assert_false(page.broken);
        }
    }
    qsort(out, n, sizeof(*out), earlier);
    return n;
}

static void pages_against_the_kernels_text(void **state)
{
    static struct request_event e[EVENTS_MAX];
    size_t n = recorded(e);
    FILE *text = fopen(DATA "text", "r");
    char word[32], what[16];
    unsigned major, minor, sectors;
    unsigned long long sector, s, us;

    (void)state;
    assert_non_null(text);
    assert_true(n > 100);
    static const char *const names[] = {"issue", "complete", "requeue"};
    size_t lines = 0;
    while (fscanf(text, "%llu.%llu %31s %u %u %15s %llu %u", &s, &us, word, &major, &minor, what,
                  &sector, &sectors) == 8) {
        bool found = false;
        lines++;
        /* Events within a microsecond may stand in another order. */
        for (size_t i = 0; i < n && !found; i++) {
            int64_t off_ns = e[i].time_ns - (int64_t)(s * 1000000000 + us * 1000);
            found = off_ns > -1000 && off_ns < 1000 && e[i].sector == sector &&
                    e[i].sectors == sectors && e[i].device == (major << 20 | minor) &&
                    strcmp(names[e[i].kind], word) == 0 &&
                    (what[0] == 'R' || what[0] == 'W') == (e[i].what != REQUEST_OTHER);
        }
        if (!found)
            fail_msg("line %zu of the text is no event", lines);
    }
    fclose(text);
    assert_int_equal(lines, n);
}

static void requests_of_the_recording(void **state)
{
    static struct request_event e[EVENTS_MAX];
    struct request_join *j = request_join_create();
    struct request_counts counts;
    size_t n = recorded(e), issued = 0, joined = 0;
    uint64_t sectors = 0, issued_sectors = 0;
    struct request r;

    (void)state;
    assert_non_null(j);
    for (size_t i = 0; i < n; i++) {
        int rc = request_join_take(j, &e[i], &r);
        assert_true(rc == 0 || rc == 1);
        if (e[i].kind == REQUEST_ISSUED && e[i].what != REQUEST_OTHER && e[i].sectors) {
            issued++;
            issued_sectors += e[i].sectors;
        }
        if (rc == 0)
            continue;
        joined++;
        sectors += r.sectors;
        assert_true(r.done_ns == e[i].time_ns && r.issued_ns < r.done_ns);
        assert_true(r.done_ns - r.issued_ns < 1000000000);
    }
    request_join_count(j, &counts);
    assert_true(joined == issued && sectors == issued_sectors);
    assert_true(counts.joined == joined && counts.unjoined == 0 && counts.others > 0);
    request_join_free(j);
}

/* A page with these entries. */
static size_t page_of(unsigned char *page, uint64_t time_ns, uint64_t commit, const uint32_t *words,
                      size_t n)
{
    memset(page, 0, PAGE);
    memcpy(page, &time_ns, 8);
    memcpy(page + 8, &commit, 8);
    memcpy(page + 16, words, n * 4);
    return PAGE;
}

static void every_kind_of_entry(void **state)
{
    static unsigned char bytes[PAGE];
    struct ring_page_format format;
    struct kind kind[3];
    struct ring_page page;
    struct ring_event e;
    static const uint32_t words[] = {
        2 | 100 << 5,
        7,
        8, /* two words, 100 ns later */
        30 | 5 << 5,
        1, /* 2^27 + 5 ns later */
        0 | 1 << 5,
        12,
        9,
        9, /* a length of its own: 8 bytes */
        29 | 3 << 5,
        8,
        0, /* taken back: its length and 4 bytes, 3 ns later */
        31u | 77 << 5,
        2, /* at 2 * 2^27 + 77 */
        1 | 0 << 5,
        11, /* one word */
        29,
        0, /* nothing is behind this padding */
        1 | 1 << 5,
        3,
    };
    const size_t n = sizeof(words) / sizeof(words[0]);

    (void)state;
    learn(&format, kind);
    page_of(bytes, 1000, n * 4, words, n);
    assert_int_equal(ring_page_open(&page, &format, bytes, PAGE), 0);
    assert_true(ring_page_next(&page, &e) && e.time_ns == 1100 && e.len == 8 && e.data[0] == 7);
    assert_true(ring_page_next(&page, &e) && e.time_ns == 1100 + (1 << 27) + 5 + 1 && e.len == 8);
    assert_true(e.data[0] == 9);
    assert_true(ring_page_next(&page, &e) && e.time_ns == 2 * (1 << 27) + 77 && e.len == 4);
    assert_true(e.data[0] == 11);
    assert_false(ring_page_next(&page, &e));
    assert_false(page.broken);

    /* Lost events, with and without their number. */
    page_of(bytes, 1000, 8 | UINT64_C(1) << 31, words, 2);
    assert_int_equal(ring_page_open(&page, &format, bytes, PAGE), 0);
    assert_int_equal(page.lost, 1);
    page_of(bytes, 1000, 8 | UINT64_C(3) << 30, words, 2);
    bytes[16 + 8] = 41;
    assert_int_equal(ring_page_open(&page, &format, bytes, PAGE), 0);
    assert_int_equal(page.lost, 41);

    /* More than the page has, and less than an entry says. */
    page_of(bytes, 1000, PAGE, words, n);
    assert_int_equal(ring_page_open(&page, &format, bytes, PAGE), -EINVAL);
    page_of(bytes, 1000, 8, words, n);
    assert_int_equal(ring_page_open(&page, &format, bytes, PAGE), 0);
    assert_false(ring_page_next(&page, &e));
    assert_true(page.broken);
}

/* Cut anywhere, and each byte changed: it ends, and what it gives lies in the page. */
static void damaged_pages(void **state)
{
    static unsigned char bytes[16 * PAGE];
    unsigned char *copy;
    struct ring_page_format format;
    struct kind kind[3];
    struct ring_page page;
    struct ring_event e;

    (void)state;
    learn(&format, kind);
    assert_true(load("cpu1", bytes, sizeof(bytes)) >= PAGE);
    for (size_t len = 0; len <= PAGE; len++) {
        copy = malloc(len + 1); /* what is behind it is not ours */
        memcpy(copy, bytes, len);
        unsigned events = 0;
        if (ring_page_open(&page, &format, copy, len) == 0)
            while (ring_page_next(&page, &e)) {
                assert_true(e.data >= copy && e.data + e.len <= copy + len);
                assert_true(++events <= PAGE);
            }
        free(copy);
    }
    copy = malloc(PAGE);
    for (size_t at = 0; at < PAGE; at++) {
        memcpy(copy, bytes, PAGE);
        copy[at] ^= (unsigned char)(1u << at % 8);
        unsigned events = 0;
        if (ring_page_open(&page, &format, copy, PAGE) < 0)
            continue;
        while (ring_page_next(&page, &e)) {
            assert_true(e.data >= copy && e.data + e.len <= copy + PAGE);
            assert_true(++events <= PAGE);
        }
    }
    free(copy);
}

static int take(struct request_join *j, int64_t time_ns, unsigned kind, uint64_t sector,
                uint32_t sectors, struct request *r)
{
    const struct request_event e = {.time_ns = time_ns,
                                    .sector = sector,
                                    .device = 7u << 20,
                                    .sectors = sectors,
                                    .kind = (uint8_t)kind,
                                    .what = REQUEST_READ};
    return request_join_take(j, &e, r);
}

static void requests_that_take_several_steps(void **state)
{
    struct request_join *j = request_join_create();
    struct request_counts n;
    struct request r;

    (void)state;
    assert_non_null(j);
    /* put back twice, then completed in three parts */
    assert_int_equal(take(j, 10, REQUEST_ISSUED, 100, 24, &r), 0);
    assert_int_equal(take(j, 20, REQUEST_REQUEUED, 100, 24, &r), 0);
    assert_int_equal(take(j, 30, REQUEST_ISSUED, 100, 24, &r), 0);
    assert_int_equal(take(j, 40, REQUEST_REQUEUED, 100, 24, &r), 0);
    assert_int_equal(take(j, 50, REQUEST_ISSUED, 100, 24, &r), 0);
    assert_int_equal(take(j, 60, REQUEST_COMPLETED, 100, 8, &r), 0);
    assert_int_equal(take(j, 70, REQUEST_COMPLETED, 108, 8, &r), 0);
    assert_int_equal(take(j, 80, REQUEST_COMPLETED, 116, 8, &r), 1);
    assert_true(r.issued_ns == 10 && r.done_ns == 80 && r.sector == 100 && r.sectors == 24);
    /* two reads of one place: of equal ones the first that was issued is the first completed */
    assert_int_equal(take(j, 100, REQUEST_ISSUED, 5, 8, &r), 0);
    assert_int_equal(take(j, 110, REQUEST_ISSUED, 5, 8, &r), 0);
    assert_int_equal(take(j, 120, REQUEST_COMPLETED, 5, 8, &r), 1);
    assert_true(r.issued_ns == 100);
    assert_int_equal(take(j, 130, REQUEST_COMPLETED, 5, 8, &r), 1);
    assert_true(r.issued_ns == 110);
    /* from before the recording; more than was issued */
    assert_int_equal(take(j, 140, REQUEST_COMPLETED, 5, 8, &r), 0);
    assert_int_equal(take(j, 150, REQUEST_ISSUED, 5, 8, &r), 0);
    assert_int_equal(take(j, 160, REQUEST_COMPLETED, 5, 16, &r), 0);
    request_join_count(j, &n);
    assert_true(n.joined == 3 && n.requeued == 2 && n.parts == 2 && n.unjoined == 2);
    request_join_free(j);

    /* As many at once as no device has, each completed in another order. */
    j = request_join_create();
    enum {
        MANY = 20011
    };
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(take(j, i, REQUEST_ISSUED, 8 * (uint64_t)i, 8, &r), 0);
    for (unsigned i = 0; i < MANY; i++) {
        unsigned k = (unsigned)((uint64_t)i * 7919 % MANY);
        assert_int_equal(take(j, 1000000 + i, REQUEST_COMPLETED, 8 * (uint64_t)k, 8, &r), 1);
        assert_true(r.issued_ns == k && r.sector == 8 * (uint64_t)k);
    }
    request_join_count(j, &n);
    assert_true(n.joined == MANY && n.unjoined == 0);
    request_join_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_fields_are),
        cmocka_unit_test(pages_against_the_kernels_text),
        cmocka_unit_test(requests_of_the_recording),
        cmocka_unit_test(every_kind_of_entry),
        cmocka_unit_test(damaged_pages),
        cmocka_unit_test(requests_that_take_several_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
