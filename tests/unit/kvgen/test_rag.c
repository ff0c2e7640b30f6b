/* Documents and their chunks: lengths by model, cuts by tokens and bytes, which are kept, and which
 * chunks a retrieval picks. A bug looked like a chunk picked twice, a first chunk no likelier than
 * the last, or a document of a small model's length for a large one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "kvgen/source/rag.h"
#include "lib/model/find.h"

static const struct workload_rag usual = {.chunk_tokens = 512,
                                          .max_chunk_bytes = 256 << 20,
                                          .top_k = 5,
                                          .chance = 0.1,
                                          .zipfian = true,
                                          .large_model_tokens = {1024, 4096},
                                          .small_model_tokens = {4000, 12000}};

static struct rag *create(const struct workload_rag *w, const char *model, uint64_t documents)
{
    struct rag *r;
    struct model m;
    struct err e = {0};
    assert_int_equal(model_find(&m, model, NULL, NULL, &e), 0);
    struct rag_opts o = {.workload = w, .model = &m, .documents = documents, .seed = 1};
    assert_int_equal(rag_create(&r, &o, &e), 0);
    return r;
}

static int64_t length(const struct rag *r, uint32_t document, int64_t most)
{
    int64_t tokens = 0;
    uint32_t chunks = rag_chunks(r, document);
    for (uint32_t i = 0; i < chunks; i++) {
        int64_t n = rag_chunk_tokens(r, document, i);
        assert_true(n >= 1 && n <= most && (n == most || i + 1 == chunks));
        tokens += n;
    }
    return tokens;
}

/* 64 layers are many, 8,192 are wide; a chunk is as long as 256 MiB allow. */
static void lengths_suit_the_model(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int64_t lo, hi, chunk;
    } want[] = {{"llama3.1-8b", 4000, 12000, 512},
                {"llama3.1-70b-instruct", 1024, 4096, 512},
                {"qwen3-32b", 1024, 4096, 512},
                {"llama2-7b", 4000, 12000, 512}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct rag *r = create(&usual, want[i].model, 300);
        int64_t least = INT64_MAX, most = 0;
        for (uint32_t d = 0; d < rag_documents(r); d++) {
            int64_t n = length(r, d, want[i].chunk);
            least = n < least ? n : least;
            most = n > most ? n : most;
        }
        assert_true(least >= want[i].lo && least < want[i].lo + (want[i].hi - want[i].lo) / 10);
        assert_true(most <= want[i].hi && most > want[i].hi - (want[i].hi - want[i].lo) / 10);
        rag_free(r);
    }
    struct workload_rag w = usual;
    w.max_chunk_bytes = 100 * 131072 + 5;
    struct rag *r = create(&w, "llama3.1-8b", 3);
    length(r, 2, 100);
    rag_free(r);
    w.max_chunk_bytes = 1; /* less than a token */
    r = create(&w, "llama3.1-8b", 1);
    assert_int_equal(rag_chunk_tokens(r, 0, 0), 1);
    rag_free(r);
}

static void the_oldest_are_dropped(void **state)
{
    (void)state;
    struct workload_rag w = usual;
    w.max_documents = 3;
    struct rag *r = create(&w, "tiny-1b", 10);
    struct rng rng;
    unsigned seen = 0;
    rng_seed(&rng, 1, 1);
    assert_int_equal(rag_oldest(r), 7);
    assert_int_equal(rag_kept(r), 3);
    for (int i = 0; i < 200; i++)
        seen |= 1u << rag_document(r, &rng);
    assert_int_equal(seen, 7u << 7);
    rag_free(r);
    w.max_documents = 20;
    r = create(&w, "tiny-1b", 10);
    assert_int_equal(rag_oldest(r), 0);
    rag_free(r);
}

/* How often each of the first eight chunks is among those picked, of 20,000 times. */
static void count_picks(struct rag *r, unsigned count[8])
{
    memset(count, 0, 8 * sizeof *count);
    for (uint64_t seed = 0; seed < 20000; seed++) {
        const uint32_t *chunk;
        uint64_t seen = 0;
        int64_t tokens = 0;
        uint32_t n = rag_pick(r, 0, seed, &chunk);
        assert_int_equal(n, 2);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(chunk[i] < rag_chunks(r, 0));
            assert_int_equal(seen >> chunk[i] & 1, 0);
            seen |= UINT64_C(1) << chunk[i];
            tokens += rag_chunk_tokens(r, 0, chunk[i]);
            if (chunk[i] < 8)
                count[chunk[i]]++;
        }
        assert_int_equal(rag_pick_tokens(r, 0, seed), tokens);
    }
}

/*
 * A document of four chunks, two picked one after the other. Weights 1, 1/2, 1/3, 1/4 (sum 25/12):
 * the first is among them with p = 12/25 + sum over j of w_j/S x 1/(S - w_j) = 0.7864, equal
 * weights give 0.5 to each. 20,000 draws have a standard deviation under 0.0036.
 */
static void picks_follow_their_weights(void **state)
{
    (void)state;
    struct workload_rag w = usual;
    unsigned count[8];
    w.top_k = 2;
    w.small_model_tokens[0] = w.small_model_tokens[1] = 2048;
    struct rag *r = create(&w, "tiny-1b", 1);
    assert_int_equal(rag_chunks(r, 0), 4);
    double p[4] = {0}, weight[4], sum = 0;
    for (int i = 0; i < 4; i++)
        sum += weight[i] = 1.0 / (i + 1);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            p[i] += i == j ? weight[i] / sum : weight[j] / sum * weight[i] / (sum - weight[j]);
    count_picks(r, count);
    for (int i = 0; i < 4; i++)
        assert_true(count[i] > (p[i] - 0.015) * 20000 && count[i] < (p[i] + 0.015) * 20000);
    rag_free(r);
    w.zipfian = false;
    r = create(&w, "tiny-1b", 1);
    count_picks(r, count);
    for (int i = 0; i < 4; i++)
        assert_true(count[i] > 0.485 * 20000 && count[i] < 0.515 * 20000);
    rag_free(r);
}

static void all_chunks_when_there_are_fewer(void **state)
{
    (void)state;
    struct workload_rag w = usual;
    const uint32_t *chunk;
    w.top_k = 1000000000;
    struct rag *r = create(&w, "tiny-1b", 4);
    for (uint32_t d = 0; d < 4; d++) {
        assert_int_equal(rag_pick(r, d, 9, &chunk), rag_chunks(r, d));
        assert_int_equal(rag_pick_tokens(r, d, 9), length(r, d, 512));
    }
    rag_free(r);
}

/* One more document changes none before it. */
static void documents_have_streams_of_their_own(void **state)
{
    (void)state;
    struct rag *few = create(&usual, "tiny-1b", 5), *many = create(&usual, "tiny-1b", 6);
    for (uint32_t d = 0; d < 5; d++)
        assert_int_equal(length(few, d, 512), length(many, d, 512));
    rag_free(few);
    rag_free(many);
}

static void too_many_chunks_are_refused(void **state)
{
    (void)state;
    struct workload_rag w = usual;
    struct rag *r;
    struct model m;
    struct err e = {0};
    w.chunk_tokens = 1;
    w.small_model_tokens[0] = w.small_model_tokens[1] = (1 << 20) + 1;
    assert_int_equal(model_find(&m, "tiny-1b", NULL, NULL, &e), 0);
    struct rag_opts o = {.workload = &w, .model = &m, .documents = 1, .seed = 1};
    assert_int_equal(rag_create(&r, &o, &e), -EINVAL);
    assert_null(r);
    rag_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_suit_the_model),
        cmocka_unit_test(the_oldest_are_dropped),
        cmocka_unit_test(picks_follow_their_weights),
        cmocka_unit_test(all_chunks_when_there_are_fewer),
        cmocka_unit_test(documents_have_streams_of_their_own),
        cmocka_unit_test(too_many_chunks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
