/* The GPU tier's own logic (chunks, ring of staging buffers, streams, errors) over an emulated CUDA
 * runtime: the functions below stand in for the library's, keep "device" memory on the host and
 * complete events late, so the test runs without a GPU. As the real one does, they refuse what is
 * not of the device that is current in the calling thread. The real runtime is tested by tests/gpu.
 * A bug looked like a copy on the wrong device, or an object that did not fit although there was
 * room. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/tier/tier_checks.h"

#if KVTRACE_CUDA

#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DEVICES = 3
};
static atomic_int copies_left = -1;      /* copies until one fails; -1: none does */
static atomic_int copying, most_copying; /* copies that nobody has seen end; the most so far */
static atomic_int allocations;
static atomic_int misplaced;          /* calls for another device than the current one */
static atomic_ullong copied[DEVICES]; /* bytes, to and back */
static size_t memory[DEVICES] = {(size_t)1 << 32, (size_t)1 << 32, (size_t)1 << 32};
static _Thread_local int current; /* device of the thread */

/* Device memory in use; changes only while no thread runs. */
static struct {
    unsigned char *base;
    size_t bytes;
} arena[DEVICES];

/* The streams that a device has made; a host buffer lives as long as its device too. */
struct CUstream_st {
    int device;
};
/* An event is ready at the third look. */
struct CUevent_st {
    int device, looks;
    int64_t at_ns;
};

static bool elsewhere(int device)
{
    misplaced += device != current;
    return device != current;
}

cudaError_t cudaGetDeviceCount(int *n)
{
    *n = DEVICES;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= DEVICES)
        return cudaErrorInvalidDevice;
    current = device;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    memset(prop, 0, sizeof(*prop));
    snprintf(prop->name, sizeof(prop->name), "emulated GPU%s", device == 2 ? " Ti" : "");
    prop->pciBusID = 0x3b + device;
    return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory" : "emulated error";
}
cudaError_t cudaMalloc(void **p, size_t bytes)
{
    *p = bytes > memory[current] || arena[current].base ? NULL : malloc(bytes);
    if (!*p)
        return cudaErrorMemoryAllocation;
    arena[current].base = *p;
    arena[current].bytes = bytes;
    allocations++;
    return cudaSuccess;
}
cudaError_t cudaFree(void *p)
{
    misplaced += arena[current].base != p;
    arena[current].base = NULL;
    free(p);
    allocations--;
    return cudaSuccess;
}
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags)
{
    (void)flags;
    *p = aligned_alloc(4096, bytes);
    allocations++;
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void *p)
{
    free(p);
    allocations--;
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
    (void)flags;
    *s = calloc(1, sizeof(**s));
    (*s)->device = current;
    allocations++;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    (void)elsewhere(s->device);
    free(s);
    allocations--;
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ev, unsigned flags)
{
    (void)flags;
    *ev = calloc(1, sizeof(**ev));
    (*ev)->device = current;
    allocations++;
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t ev)
{
    (void)elsewhere(ev->device);
    free(ev);
    allocations--;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t ev, cudaStream_t s)
{
    if (elsewhere(ev->device) || elsewhere(s->device))
        return cudaErrorInvalidResourceHandle;
    ev->looks = 0;
    ev->at_ns = clock_now_ns();
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t ev)
{
    return ++ev->looks < 3 ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t ev)
{
    ev->looks = 3;
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t a, cudaEvent_t b)
{
    copying--;
    *ms = (float)(b->at_ns - a->at_ns) / 1e6f;
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                            cudaStream_t s)
{
    const unsigned char *at = kind == cudaMemcpyHostToDevice ? to : from;
    unsigned char *base = arena[current].base;
    if (elsewhere(s->device) || at < base || at + n > base + arena[current].bytes) {
        misplaced++;
        return cudaErrorInvalidValue;
    }
    if (copies_left > 0 && --copies_left == 0)
        return cudaErrorUnknown;
    memcpy(to, from, n);
    copied[current] += n;
    if (++copying > most_copying)
        most_copying = copying;
    return cudaSuccess;
}

/* On the first devices of 2, 0, 1. */
static struct tier_gpu_opts opts(unsigned gpus, uint64_t capacity, uint64_t chunk)
{
    return (struct tier_gpu_opts){.gpu = {2, 0, 1},
                                  .gpus = gpus,
                                  .capacity = capacity,
                                  .max_objects = 64,
                                  .chunk_bytes = chunk,
                                  .max_ops = 32};
}

static struct tier *open_tier(struct bell *b, const struct tier_gpu_opts *o)
{
    struct tier *t = NULL;
    struct err e = {0};
    for (int i = 0; i < DEVICES; i++)
        copied[i] = 0;
    assert_int_equal(tier_gpu_open(&t, o, b, &e), 0);
    return t;
}

static void close_tier(struct tier *t)
{
    assert_int_equal(t->ops->close(t, NULL), 0);
    assert_int_equal(allocations, 0);
    assert_int_equal(misplaced, 0);
}

static void objects_keep_their_bytes(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    for (unsigned gpus = 1; gpus <= DEVICES; gpus++) {
        for (uint64_t chunk = 4096; chunk <= 1 << 20; chunk *= 16) {
            struct tier_gpu_opts o = opts(gpus, (uint64_t)CHECKS_OBJECTS * CHECKS_MAX, chunk);
            struct tier *t = open_tier(b, &o);
            checks_object_life(t, b);
            checks_many(t, b, 16, 1000);
            for (unsigned i = 0; i < DEVICES; i++)
                assert_int_equal(copied[o.gpu[i]] > 0, i < gpus);
            close_tier(t);
        }
    }
    bell_free(b);
}

/* 99 blocks in all, 33 a device; the objects of 40 fit whole on none. */
static void no_object_fails_as_long_as_all_devices_have_room_for_it(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct tier_gpu_opts o = opts(DEVICES, 98 * DATA_BLOCK, 2 * DATA_BLOCK);
    o.max_objects = 0;
    struct tier *t = open_tier(b, &o);
    struct tier_op op[3];
    for (uint64_t round = 0; round < 50; round++) {
        for (unsigned i = 0; i < 3; i++) {
            op[i] = checks_op(i + 1, round, (i < 2 ? 20 : 40) * DATA_BLOCK - round);
            op[i].verb = TIER_WRITE;
            assert_int_equal(checks_run(t, b, &op[i]), 0);
        }
        for (unsigned i = 0; i < 3; i++) {
            op[i].verb = TIER_READ;
            assert_int_equal(checks_run(t, b, &op[i]), 0);
            op[i].verb = TIER_DELETE;
            assert_int_equal(checks_run(t, b, &op[i]), 0);
        }
    }
    close_tier(t);
    bell_free(b);
}

/* Blocks that op copies to or from each of two devices. */
static void expect_copies(struct tier *t, struct bell *b, struct tier_op *op, int status,
                          uint64_t on_2, uint64_t on_0)
{
    copied[0] = copied[2] = 0;
    assert_int_equal(checks_run(t, b, op), status);
    assert_int_equal(copied[2], on_2 * DATA_BLOCK);
    assert_int_equal(copied[0], on_0 * DATA_BLOCK);
}

static struct tier_op write_op(uint64_t key, uint64_t blocks)
{
    struct tier_op op = checks_op(key, 1, blocks * DATA_BLOCK);
    op.verb = TIER_WRITE;
    return op;
}

static void an_object_lies_on_the_device_with_the_most_room(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    /* 100 blocks on each of devices 2 and 0; less one that arena_bytes adds */
    struct tier_gpu_opts o = opts(2, 199 * DATA_BLOCK, 3 * DATA_BLOCK);
    o.max_objects = 0;
    struct tier *t = open_tier(b, &o);
    struct tier_op first = write_op(1, 40), second = write_op(2, 30), third = write_op(3, 60),
                   fourth = write_op(4, 50), over = write_op(5, 17), more = write_op(6, 4);
    expect_copies(t, b, &first, 0, 40, 0); /* equal: the first named */
    expect_copies(t, b, &second, 0, 0, 30);
    expect_copies(t, b, &third, 0, 0, 60);
    expect_copies(t, b, &fourth, 0, 50, 0);
    expect_copies(t, b, &over, 0, 10, 7); /* whole on none */
    expect_copies(t, b, &more, -ENOSPC, 0, 0);
    over.verb = TIER_READ;
    expect_copies(t, b, &over, 0, 10, 7);
    over.size = 5 * DATA_BLOCK - 100; /* less than is stored: the second device has no part in it */
    expect_copies(t, b, &over, 0, 5, 0);
    over.size = 12 * DATA_BLOCK;
    expect_copies(t, b, &over, 0, 10, 2);
    over.size = 17 * DATA_BLOCK;
    over.id.generation = 2; /* found out on the first device: the second is not asked */
    over.verify = TIER_VERIFY_HEADER;
    expect_copies(t, b, &over, -EBADMSG, 10, 0);
    over.verb = TIER_WRITE;
    expect_copies(t, b, &over, 0, 10, 7);
    over.verb = TIER_READ;
    over.verify = TIER_VERIFY_FULL;
    over.drop = true;
    expect_copies(t, b, &over, 0, 10, 7);
    expect_copies(t, b, &over, -ENOENT, 0, 0);
    expect_copies(t, b, &more, 0, 4, 0);
    close_tier(t);
    bell_free(b);
}

/* Objects of one chunk, whose names one thread serves. A bug waited for each before it issued the
 * next. */
static void small_objects_are_copied_one_behind_the_other(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct tier_gpu_opts o = opts(1, 1 << 20, 4096);
    struct tier *t = open_tier(b, &o);
    struct tier_op op[8];

    most_copying = 0;
    for (unsigned i = 0; i < 8; i++) {
        op[i] = checks_op(2 * i + 2, 1, 4000);
        op[i].verb = TIER_WRITE;
        assert_int_equal(t->ops->submit(t, &op[i]), 0);
    }
    t->ops->kick(t);
    for (unsigned i = 0; i < 8; i++) {
        assert_ptr_equal(checks_wait(t, b), &op[i]);
        assert_int_equal(op[i].status, 0);
    }
    assert_in_range(most_copying, 3, 4);
    close_tier(t);
    bell_free(b);
}

static void space_is_used_again_on_every_device(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct tier_gpu_opts o = opts(DEVICES, 100000, 4096);
    o.wrap = true;
    struct tier *t = open_tier(b, &o);
    struct tier_info info;
    t->ops->describe(t, &info);
    assert_false(info.verifies);
    for (uint64_t i = 0; i < 60; i++) {
        struct tier_op op = checks_op(i + 1, 1, 50000);
        op.verb = TIER_WRITE;
        assert_int_equal(checks_run(t, b, &op), 0);
        op.verb = TIER_READ;
        op.verify = TIER_VERIFY_NONE;
        assert_int_equal(checks_run(t, b, &op), 0);
    }
    for (int i = 0; i < DEVICES; i++)
        assert_int_equal(copied[i], 40 * DATA_PADDED(50000));
    close_tier(t);
    bell_free(b);
}

static void every_device_is_named_with_its_share(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct tier_info info;
    struct tier_gpu_opts o = opts(1, (uint64_t)1 << 21, 4096);
    struct tier *t = open_tier(b, &o);
    t->ops->describe(t, &info);
    assert_string_equal(info.engine, "cuda");
    assert_string_equal(info.target, "GPU 2");
    assert_string_equal(info.device, "emulated GPU Ti");
    assert_int_equal(info.flags.count, 1);
    assert_string_equal(info.flags.text[0], "GPU 2: emulated GPU Ti, PCI 0000:3d:00.0, 0.00 GiB");
    close_tier(t);
    o.gpus = 2;
    t = open_tier(b, &o);
    struct tier_op op[2] = {write_op(1, 30), write_op(2, 10)};
    assert_int_equal(checks_run(t, b, &op[0]), 0);
    assert_int_equal(checks_run(t, b, &op[1]), 0);
    t->ops->describe(t, &info);
    assert_string_equal(info.target, "GPU 2, GPU 0");
    assert_string_equal(info.device, "emulated GPU Ti, emulated GPU");
    assert_int_equal(info.flags.count, 2);
    assert_string_equal(info.flags.text[0], "GPU 2: emulated GPU Ti, PCI 0000:3d:00.0, 0.00 GiB, "
                                            "75 % of the bytes moved");
    assert_string_equal(info.flags.text[1], "GPU 0: emulated GPU, PCI 0000:3b:00.0, 0.00 GiB, "
                                            "25 % of the bytes moved");
    assert_int_equal(info.threads, 6);
    close_tier(t);
    o.gpu[0] = 1;
    t = open_tier(b, &o);
    t->ops->describe(t, &info);
    assert_string_equal(info.device, "2 x emulated GPU");
    close_tier(t);
    bell_free(b);
}

static void a_failing_copy_is_eio_and_nothing_hangs(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    for (unsigned gpus = 1; gpus <= 2; gpus++) {
        struct tier_gpu_opts o = opts(gpus, 1 << 20, 4096);
        struct tier *t = open_tier(b, &o);
        struct tier_op op = checks_op(1, 1, gpus == 1 ? 100000 : 900000); /* on both */
        op.verb = TIER_WRITE;
        copies_left = 7;
        assert_int_equal(checks_run(t, b, &op), -EIO);
        assert_int_equal(checks_run(t, b, &op), -EIO);
        copies_left = -1;
        close_tier(t);
    }
    bell_free(b);
}

static void too_large_an_arena_and_a_wrong_device_are_said(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct tier *t = NULL;
    struct err e = {0};
    struct tier_gpu_opts o = {
        .gpus = 1, .capacity = (uint64_t)1 << 40, .chunk_bytes = 4096, .max_ops = 1};
    assert_int_equal(tier_gpu_open(&t, &o, b, &e), -ENOMEM);
    assert_int_equal(err_exit_status(&e), 3);
    assert_non_null(strstr(e.what, "1024.00 GiB: out of memory"));
    o.gpu[0] = 3;
    assert_int_equal(tier_gpu_open(&t, &o, b, &e), -ENODEV);
    assert_string_equal(e.where, "GPU 3");
    /* The second of three: what the first was given goes back, the third is not touched. */
    o = opts(3, (uint64_t)3 << 20, 4096);
    memory[0] = 1 << 20;
    assert_int_equal(tier_gpu_open(&t, &o, b, &e), -ENOMEM);
    memory[0] = memory[1];
    assert_string_equal(e.where, "GPU 0");
    assert_non_null(strstr(e.what, "out of memory"));
    assert_int_equal(allocations, 0);
    o.gpu[1] = 3;
    assert_int_equal(tier_gpu_open(&t, &o, b, &e), -ENODEV);
    assert_string_equal(e.where, "GPU 3");
    assert_int_equal(allocations, 0);
    assert_int_equal(misplaced, 0);
    bell_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_keep_their_bytes),
        cmocka_unit_test(an_object_lies_on_the_device_with_the_most_room),
        cmocka_unit_test(no_object_fails_as_long_as_all_devices_have_room_for_it),
        cmocka_unit_test(small_objects_are_copied_one_behind_the_other),
        cmocka_unit_test(space_is_used_again_on_every_device),
        cmocka_unit_test(every_device_is_named_with_its_share),
        cmocka_unit_test(a_failing_copy_is_eio_and_nothing_hangs),
        cmocka_unit_test(too_large_an_arena_and_a_wrong_device_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void without_cuda_it_says_so(void **state)
{
    (void)state;
    char why[64];
    struct tier *t;
    struct err e = {0};
    struct tier_gpu_opts o = {.gpus = 1, .capacity = 1};
    assert_int_equal(tier_gpu_count(why, sizeof(why)), 0);
    assert_string_equal(why, "built without CUDA");
    assert_int_equal(tier_gpu_open(&t, &o, NULL, &e), -ENODEV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_cuda_it_says_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
