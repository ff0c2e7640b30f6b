/* SGLang's cache, rule by rule, with pages of 16 tokens. A bug looked like a part of a node that
 * was evicted, a match that counted as an insertion, a load that took what fitted, or files that
 * were looked up behind a hole, or another page that had got the number of one in the tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "kvgen/cache/chain_numbers.h"
#include "kvgen/cache/sglang.h"
#include "kvgen/rng.h"
#include "lib/base/hash.h"
#include "tests/unit/caches/op_text.h"

enum {
    PAGE = 16
};

static void told(void *arg, enum sglang_op op, uint64_t page)
{
    op_text_add(arg, sglang_op_names[op], page);
}

static struct sglang *cache(struct op_text *t, uint64_t device, uint64_t host,
                            struct sglang_settings set)
{
    set.page_tokens = set.page_tokens > 0 ? set.page_tokens : PAGE;
    set.device_pages = device;
    set.host_pages = host;
    set.load_back_threshold = 10;
    *t = (struct op_text){0};
    struct sglang *c = sglang_create(&set, told, t);
    assert_non_null(c);
    return c;
}

static int admit(struct sglang *c, struct sglang_request *r)
{
    assert_int_equal(sglang_match(c, r), 0);
    return sglang_admit(c, r);
}

static int compute(struct sglang *c, struct sglang_request *r, uint64_t from, uint64_t to)
{
    const int rc = sglang_reserve(c, r, from, to);
    sglang_loaded(c);
    return rc ? rc : sglang_insert(c, r, to);
}

/* A prompt of those pages and one token, up to the end of its prefill. */
static struct sglang_request begin(struct sglang *c, const uint64_t *page, uint64_t n)
{
    struct sglang_request r = {.page = page, .prompt = n * PAGE + 1};
    assert_int_equal(sglang_arrive(c, &r), 0);
    assert_int_equal(admit(c, &r), 0);
    assert_int_equal(compute(c, &r, r.hit_device + r.loaded, r.prompt), 0);
    return r;
}

/* A whole request whose answer is one token. Returns what it found. */
static struct sglang_request run(struct sglang *c, const uint64_t *page, uint64_t n)
{
    struct sglang_request r = begin(c, page, n);
    assert_int_equal(sglang_finish(c, &r, r.prompt), 0);
    assert_int_equal(sglang_poll(c), 0);
    return r;
}
#define RUN(c, ...)                                                                                \
    run(c, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static void test_a_whole_prompt_loses_its_last_page(void **state)
{
    (void)state;
    struct op_text t;
    struct sglang *c = cache(&t, 20, 0, (struct sglang_settings){0});
    RUN(c, 1, 2, 3);
    struct sglang_request r = {.page = (const uint64_t[]){1, 2, 3}, .prompt = 3 * PAGE};
    assert_int_equal(admit(c, &r), 0);
    assert_int_equal(r.hit_device, 2 * PAGE);
    sglang_abort(c, &r);
    assert_int_equal(sglang_device_free(c), 17);
    r.prompt++;
    assert_int_equal(admit(c, &r), 0);
    assert_int_equal(r.hit_device, 3 * PAGE);
    sglang_abort(c, &r);
    assert_int_equal(sglang_device_free(c), 17);
    sglang_free(c);
}

static void test_nodes_go_whole_leaves_first(void **state)
{
    (void)state;
    struct op_text t;
    struct sglang *c = cache(&t, 8, 0, (struct sglang_settings){0});
    RUN(c, 1, 2, 3, 4);
    RUN(c, 1, 2, 5); /* splits at the end of the match */
    op_text_is(&t, "dev.store 1 2 3 4 5");
    RUN(c, 9); /* five are taken; a page more than its two is asked for */
    op_text_is(&t, "dev.store 9");
    RUN(c, 10); /* the node of 3 and 4 is the oldest leaf; one page would do */
    op_text_is(&t, "dev.drop 3 4, dev.store 10");
    sglang_free(c);
}

static void test_a_running_request_keeps_its_path(void **state)
{
    (void)state;
    struct op_text t;
    struct sglang *c = cache(&t, 6, 0, (struct sglang_settings){0});
    const uint64_t page[] = {1, 2};
    struct sglang_request a = begin(c, page, 2);
    struct sglang_request b = {.page = (const uint64_t[]){7, 8, 9}, .prompt = 3 * PAGE + 1};
    assert_int_equal(admit(c, &b), 0);
    assert_int_equal(compute(c, &b, 0, b.prompt), -EAGAIN);
    assert_int_equal(sglang_finish(c, &a, a.prompt), 0);
    assert_int_equal(compute(c, &b, 0, b.prompt), 0);
    op_text_is(&t, "dev.store 1 2, dev.drop 1 2, dev.store 7 8 9");
    assert_int_equal(sglang_finish(c, &b, b.prompt), 0);
    sglang_free(c);
}

static void test_selective_counts_insertions_of_others(void **state)
{
    (void)state;
    struct op_text t;
    struct sglang *c =
        cache(&t, 20, 20, (struct sglang_settings){.write = SGLANG_WRITE_THROUGH_SELECTIVE});
    RUN(c, 1, 2); /* inserted twice by one request: once */
    op_text_is(&t, "dev.store 1 2");
    struct sglang_request r = {.page = (const uint64_t[]){1, 2}, .prompt = 2 * PAGE + 1};
    assert_int_equal(admit(c, &r), 0); /* a match alone */
    sglang_abort(c, &r);
    op_text_is(&t, "");
    RUN(c, 1, 3);
    op_text_is(&t, "host.store 1, dev.store 3");
    RUN(c, 1, 3);
    op_text_is(&t, "host.store 3");
    sglang_free(c);
}

static void test_write_through_skips_without_room(void **state)
{
    (void)state;
    struct op_text t;
    struct sglang *c = cache(&t, 8, 2, (struct sglang_settings){0});
    RUN(c, 1, 2, 3); /* the host has two */
    op_text_is(&t, "dev.store 1 2 3");
    RUN(c, 4);
    RUN(c, 5); /* both are on the device: their copies cannot go */
    RUN(c, 6);
    op_text_is(&t, "dev.store 4, host.store 4, dev.store 5, host.store 5, dev.store 6");
    RUN(c, 7, 8); /* 1 to 3 are nowhere else */
    op_text_is(&t, "dev.drop 1 2 3, dev.store 7 8");
    sglang_free(c);
}

static void test_loads_are_whole_and_not_too_small(void **state)
{
    (void)state;
    struct op_text t;
    struct sglang *c = cache(&t, 6, 20, (struct sglang_settings){0});
    RUN(c, 1, 2, 3);
    RUN(c, 7, 8, 9);
    op_text_is(&t,
               "dev.store 1 2 3, host.store 1 2 3, dev.demote 1 2 3, dev.store 7 8 9, host.store "
               "7 8 9");
    struct sglang_request r = begin(c, (const uint64_t[]){7, 8, 9}, 3);
    t = (struct op_text){0};
    struct sglang_request other = {.page = (const uint64_t[]){1, 2, 3}, .prompt = 3 * PAGE + 1};
    assert_int_equal(admit(c, &other), 0); /* two free: nothing, not two */
    assert_int_equal(other.hit_host, 3 * PAGE);
    assert_int_equal(other.loaded, 0);
    sglang_abort(c, &other);
    op_text_is(&t, "");
    assert_int_equal(sglang_finish(c, &r, r.prompt), 0);
    r = RUN(c, 1, 2, 3);
    assert_int_equal(r.loaded, 3 * PAGE);
    op_text_is(&t, "dev.load 1 2 3, dev.demote 7 8 9");
    sglang_free(c);

    /* Below 10 tokens it is computed again, and the host's copy stays. */
    c = cache(&t, 4, 20, (struct sglang_settings){.page_tokens = 4});
    uint64_t a = 1, b = 2;
    for (int i = 0; i < 3; i++) {
        r = (struct sglang_request){.page = i == 1 ? &b : &a, .prompt = i == 1 ? 12 : 5};
        uint64_t pages[3] = {i == 1 ? b : a, 10, 11};
        r.page = pages;
        assert_int_equal(admit(c, &r), 0);
        assert_int_equal(r.hit_host, i == 2 ? 4 : 0);
        assert_int_equal(r.loaded, 0);
        assert_int_equal(compute(c, &r, r.hit_device, r.prompt), 0);
        assert_int_equal(sglang_finish(c, &r, r.prompt), 0);
    }
    assert_non_null(strstr(t.text, "dev.restore 1"));
    sglang_free(c);
}

static void test_write_back_reclaims_copies_first(void **state)
{
    (void)state;
    struct op_text t;
    struct sglang *c = cache(&t, 6, 6, (struct sglang_settings){.write = SGLANG_WRITE_BACK});
    RUN(c, 1, 2, 3);
    op_text_is(&t, "dev.store 1 2 3");
    RUN(c, 4, 5, 6);
    op_text_is(&t, "host.store 1 2 3, dev.demote 1 2 3, dev.store 4 5 6");
    RUN(c, 1, 2, 3); /* loaded: the host has a copy of what the device has */
    op_text_is(&t, "dev.load 1 2 3, host.store 4 5 6, dev.demote 4 5 6");
    /* The device's copy goes without a second one of the host. */
    RUN(c, 7, 8, 9);
    op_text_is(&t, "dev.demote 1 2 3, dev.store 7 8 9");
    /* While the load is not acknowledged, its copy on the host is spared. */
    RUN(c, 1, 2, 3, 10);
    op_text_is(&t, "dev.load 1 2 3, host.evict 4 5 6, host.store 7 8 9, dev.demote 7 8 9, "
                   "dev.store 10");
    RUN(c, 11);
    op_text_is(&t, "host.evictdup 1 2 3, host.store 10, dev.demote 10, dev.store 11");
    sglang_free(c);
}

static void test_files_ignore_prefixes(void **state)
{
    (void)state;
    struct op_text t;
    struct sglang *c = cache(
        &t, 4, 4,
        (struct sglang_settings){
            .files = true, .files_max_pages = 5, .files_ratio = 0.6, .prefetch_threshold = 1});
    RUN(c, 1, 2);
    op_text_is(&t, "dev.store 1 2, host.store 1 2, l3.store 1 2");
    RUN(c, 3, 4);
    op_text_is(&t, "dev.demote 1 2, dev.store 3 4, host.store 3 4, l3.store 3 4");
    RUN(c, 5, 6);
    /* 6 would be the sixth: down to three, 6 included. 1 and 2 are gone, then 3. */
    op_text_is(&t, "dev.demote 3 4, dev.store 5 6, host.evict 1 2, host.store 5 6, l3.store 5, "
                   "l3.evict 1 2 3, l3.store 6");
    RUN(c, 7, 8);
    t = (struct op_text){0};
    struct sglang_request r = {.page = (const uint64_t[]){3, 4}, .prompt = 2 * PAGE + 1};
    assert_int_equal(sglang_arrive(c, &r), 0); /* 4 has a file, behind the hole of 3 */
    assert_int_equal(r.prefetched, 0);
    op_text_is(&t, "");
    sglang_free(c);
}

static void test_a_prefetch_needs_its_threshold(void **state)
{
    (void)state;
    struct op_text t;
    for (int enough = 0; enough < 2; enough++) {
        struct sglang *c =
            cache(&t, 4, 4,
                  (struct sglang_settings){.files = true,
                                           .prefetch_threshold = enough ? 2 * PAGE : 2 * PAGE + 1});
        RUN(c, 1, 2);
        RUN(c, 3, 4);
        RUN(c, 5, 6);
        t = (struct op_text){0};
        struct sglang_request r = {.page = (const uint64_t[]){1, 2}, .prompt = 2 * PAGE + 1};
        assert_int_equal(sglang_arrive(c, &r), 0);
        op_text_is(&t, enough ? "host.evict 3 4, l3.load 1 2, host.prefetch 1 2" : "");
        sglang_free(c);
    }
}

static void test_memory_of_a_page(void **state)
{
    (void)state;
    struct page_tree *tree = page_tree_create(PAGE_LRU, NULL);
    assert_non_null(tree);
    enum {
        RUNS = 20000,
        PAGES = 32
    };
    uint64_t page[PAGES];
    for (uint64_t r = 0; r < RUNS; r++) {
        for (uint64_t i = 0; i < PAGES; i++)
            page[i] = r * PAGES + i + 1;
        uint32_t n = page_tree_add(tree, PAGE_NODE_ROOT, page, PAGES);
        page_tree_set_device(tree, n, true);
        if (r > 100)
            assert_true(page_tree_memory(tree) <= 96 * PAGES * (r + 1));
    }
    page_tree_free(tree);
}

/* What a cache told, by keys. */
struct account {
    struct chain_numbers *numbers; /* NULL: pages are keys */
    uint64_t told, digest, highest, ops[SGLANG_OPS];
};

static void note(void *arg, enum sglang_op op, uint64_t page)
{
    struct account *a = arg;
    const uint64_t key = a->numbers ? chain_numbers_key(a->numbers, page) : page;
    a->told++;
    a->ops[op]++;
    a->digest = hash_mix(a->digest ^ hash_mix(key + (uint64_t)op));
    a->highest = a->numbers && page > a->highest ? page : a->highest;
}

static void check_numbers(struct sglang_settings set, uint64_t seed)
{
    enum {
        TURNS = 3000,
        TALKS = 12,
        COMMON = 3,
        LONGEST = 40
    };
    struct account by_key = {0}, by_number = {.numbers = chain_numbers_create()};
    set.page_tokens = PAGE;
    set.device_pages = 80;
    set.host_pages = 120;
    set.files = true;
    set.files_max_pages = 300;
    set.files_ratio = 0.9;
    struct sglang *plain = sglang_create(&set, note, &by_key);
    set.numbers = by_number.numbers;
    struct sglang *numbered = sglang_create(&set, note, &by_number);
    struct rng rng;
    uint64_t name[TALKS] = {0}, pages[TALKS] = {0}, fresh = 0, key[LONGEST];
    rng_seed(&rng, seed, 0);
    for (int turn = 0; turn < TURNS; turn++) {
        const uint64_t talk = rng_below(&rng, TALKS);
        pages[talk] += 1 + rng_below(&rng, 6);
        if (!name[talk] || pages[talk] > LONGEST) {
            name[talk] = ++fresh;
            pages[talk] = COMMON + 1 + rng_below(&rng, 6);
        }
        for (uint64_t i = 0; i < pages[talk]; i++)
            key[i] = hash_mix((i < COMMON ? 0 : name[talk]) << 8 | i);
        run(plain, key, pages[talk]);
        assert_int_equal(chain_numbers_take(by_number.numbers, key, pages[talk]), 0);
        run(numbered, key, pages[talk]);
        chain_numbers_release(by_number.numbers, key, pages[talk]);
        assert_int_equal(by_number.told, by_key.told);
        assert_true(by_number.digest == by_key.digest);
    }
    assert_true(by_key.ops[SGLANG_DEVICE_LOAD] && by_key.ops[SGLANG_FILE_LOAD]);
    assert_true(by_key.ops[SGLANG_HOST_EVICT] && by_key.ops[SGLANG_FILE_EVICT]);
    assert_true(by_number.highest < 1500); /* of many more keys */
    assert_true(fresh * LONGEST / 2 > 5000);
    sglang_free(plain);
    sglang_free(numbered);
    chain_numbers_free(by_number.numbers);
}

static void test_numbers_in_place_of_keys(void **state)
{
    (void)state;
    for (int w = 0; w < SGLANG_WRITES; w++)
        check_numbers((struct sglang_settings){.write = (enum sglang_write)w,
                                               .order = w == 1 ? PAGE_SLRU : PAGE_LRU},
                      (uint64_t)w + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_prompt_loses_its_last_page),
        cmocka_unit_test(test_nodes_go_whole_leaves_first),
        cmocka_unit_test(test_a_running_request_keeps_its_path),
        cmocka_unit_test(test_selective_counts_insertions_of_others),
        cmocka_unit_test(test_write_through_skips_without_room),
        cmocka_unit_test(test_loads_are_whole_and_not_too_small),
        cmocka_unit_test(test_write_back_reclaims_copies_first),
        cmocka_unit_test(test_files_ignore_prefixes),
        cmocka_unit_test(test_a_prefetch_needs_its_threshold),
        cmocka_unit_test(test_memory_of_a_page),
        cmocka_unit_test(test_numbers_in_place_of_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
