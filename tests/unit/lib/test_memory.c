/* A text that is written in memory is whole, or its stream says that it is not; arrays grow, and
 * memory for random access lies at huge pages. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

static int reallocs_left = -1; /* then one realloc fails; -1: none */

void *__real_realloc(void *p, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes)
{
    if (reallocs_left < 0 || reallocs_left-- > 0)
        return __real_realloc(p, bytes);
    return NULL;
}

static void a_text_is_whole_or_an_error(void **state)
{
    (void)state;
    char piece[1000], *text;
    size_t len;

    memset(piece, 'x', sizeof(piece));
    FILE *f = memory_stream(&text, &len);
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, "");
    free(text);
    for (int n = 0;; n++) {
        f = memory_stream(&text, &len);
        reallocs_left = n;
        for (int i = 0; i < 100; i++)
            fwrite(piece, 1, sizeof(piece), f);
        fputs("end", f);
        bool failed = fclose(f) != 0;
        bool did = reallocs_left < 0;
        reallocs_left = -1;
        assert_int_equal(failed, did);
        if (!did) {
            assert_true(n > 2);
            assert_int_equal(len, 100003);
            assert_string_equal(text + 100000, "end");
            free(text);
            return;
        }
        free(text);
    }
}

static void an_array_doubles(void **state)
{
    size_t room = 0, rooms = 0;
    int *array = NULL;

    (void)state;
    for (size_t count = 0; count < 100; count++) {
        size_t before = room;
        assert_int_equal(memory_room(&array, &room, count, sizeof(*array), 16), 0);
        assert_true(room > count);
        rooms += room != before;
        array[count] = (int)count;
    }
    assert_int_equal(room, 128);
    assert_int_equal(rooms, 4);
    assert_int_equal(memory_room(&array, &room, 128, SIZE_MAX / 2, 16), -ENOMEM);
    assert_int_equal(memory_resize(&array, SIZE_MAX / 2, sizeof(*array)), -ENOMEM);
    assert_int_equal(room, 128);
    assert_int_equal(array[99], 99);
    assert_int_equal(memory_resize(&array, 100, sizeof(*array)), 0);
    assert_int_equal(array[99], 99);
    const int *before = array;
    assert_int_equal(memory_room(&array, &room, 99, sizeof(*array), 16), 0);
    assert_ptr_equal(array, before);
    free(array);
}

/* Small and large, whole to the last byte. */
static void scattered_memory(void **state)
{
    (void)state;
    static const size_t huge = (size_t)2 << 20;
    const size_t sizes[] = {1, huge - 1, huge, huge + 1, 3 * huge};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *p = memory_scattered(sizes[i]);
        assert_non_null(p);
        memset(p, 'x', sizes[i]);
        assert_int_equal(p[sizes[i] - 1], 'x');
        assert_true(sizes[i] < huge || (uintptr_t)p % huge == 0);
        free(p);
    }
}

/* Large memory goes back to the system when it is freed, whatever was freed before. */
static void large_arrays_are_apart(void **state)
{
    (void)state;
    static const size_t large = (size_t)8 << 20;
    bool apart = true, back = true;
    memory_set_apart();
    for (int i = 0; i < 3; i++) {
        const size_t before = mallinfo2().hblkhd;
        char *p = malloc(large);
        assert_non_null(p);
        p[large - 1] = 'x';
        apart = apart && mallinfo2().hblkhd >= before + large;
        free(p);
        back = back && mallinfo2().hblkhd == before;
    }
    if (mallinfo2().arena == 0)
        skip(); /* another malloc, as of a sanitizer */
    assert_true(apart);
    assert_true(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_whole_or_an_error),
        cmocka_unit_test(an_array_doubles),
        cmocka_unit_test(scattered_memory),
        cmocka_unit_test(large_arrays_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
