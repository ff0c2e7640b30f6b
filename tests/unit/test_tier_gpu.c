/* The GPU tier's own logic (chunks, ring of staging buffers, streams, errors) over an emulated CUDA
 * runtime: the functions below stand in for the library's, keep "device" memory on the host and
 * complete events late, so the test runs without a GPU. The real runtime is tested by tests/gpu. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/tier_checks.h"

#if KVTRACE_CUDA

#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int copies_left = -1; /* copies until one fails; -1: none does */
static atomic_int allocations;

/* An event is ready at the third look. */
struct CUevent_st {
    int looks;
    int64_t at_ns;
};

cudaError_t cudaGetDeviceCount(int *n)
{
    *n = 1;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    (void)device;
    memset(prop, 0, sizeof *prop);
    snprintf(prop->name, sizeof prop->name, "emulated GPU");
    return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory" : "emulated error";
}
cudaError_t cudaMalloc(void **p, size_t bytes)
{
    *p = bytes > (size_t)1 << 32 ? NULL : malloc(bytes);
    allocations += *p != NULL;
    return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void *p)
{
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
    *s = malloc(1);
    allocations++;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    free(s);
    allocations--;
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ev, unsigned flags)
{
    (void)flags;
    *ev = calloc(1, sizeof **ev);
    allocations++;
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t ev)
{
    free(ev);
    allocations--;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t ev, cudaStream_t s)
{
    (void)s;
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
    *ms = (float)(b->at_ns - a->at_ns) / 1e6f;
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                            cudaStream_t s)
{
    (void)kind, (void)s;
    if (copies_left > 0 && --copies_left == 0)
        return cudaErrorUnknown;
    memcpy(to, from, n);
    return cudaSuccess;
}

static struct tier *open_tier(struct bell *b, uint64_t chunk)
{
    struct tier *t = NULL;
    struct err e = {0};
    struct tier_gpu_opts o = {.gpu = 0,
                              .capacity = (uint64_t)CHECKS_OBJECTS * CHECKS_MAX,
                              .max_objects = 64,
                              .chunk_bytes = chunk,
                              .max_ops = 32};
    assert_int_equal(tier_gpu_open(&t, &o, b, &e), 0);
    return t;
}

static void objects_keep_their_bytes(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    for (uint64_t chunk = 4096; chunk <= 1 << 20; chunk *= 16) {
        struct tier *t = open_tier(b, chunk);
        checks_object_life(t, b);
        checks_many(t, b, 16, 2000);
        assert_int_equal(t->ops->close(t, NULL), 0);
    }
    assert_int_equal(allocations, 0);
    bell_free(b);
}

static void a_failing_copy_is_eio_and_nothing_hangs(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct tier *t = open_tier(b, 4096);
    struct tier_op op = checks_op(1, 1, 100000);
    op.verb = TIER_WRITE;
    copies_left = 7;
    assert_int_equal(checks_run(t, b, &op), -EIO);
    assert_int_equal(checks_run(t, b, &op), -EIO);
    copies_left = -1;
    assert_int_equal(t->ops->close(t, NULL), 0);
    assert_int_equal(allocations, 0);
    bell_free(b);
}

static void too_large_an_arena_and_a_wrong_device_are_said(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct tier *t = NULL;
    struct err e = {0};
    struct tier_gpu_opts o = {.capacity = (uint64_t)1 << 40, .chunk_bytes = 4096, .max_ops = 1};
    assert_int_equal(tier_gpu_open(&t, &o, b, &e), -ENOMEM);
    assert_int_equal(err_exit_status(&e), 3);
    assert_non_null(strstr(e.what, "1024.00 GiB: out of memory"));
    o.gpu = 3;
    assert_int_equal(tier_gpu_open(&t, &o, b, &e), -ENODEV);
    assert_int_equal(allocations, 0);
    bell_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_keep_their_bytes),
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
    struct tier_gpu_opts o = {.capacity = 1};
    assert_int_equal(tier_gpu_count(why, sizeof why), 0);
    assert_string_equal(why, "built without CUDA");
    assert_int_equal(tier_gpu_open(&t, &o, NULL, &e), -ENODEV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_cuda_it_says_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
