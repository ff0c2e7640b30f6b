/* Where the bytes of a file lie: exact where the file system tells, and not known in a hole, in
 * memory, or in more pieces than there is room for. A bug looked like sectors of another file. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/io/disk_map.h"

enum {
    PIECE = 65536
};

static int scratch(const char *folder)
{
    char path[64];

    strcpy(path, folder);
    strcat(path, "/kvtrace-map-XXXXXX");
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static void write_piece(int fd, off_t at)
{
    static const char bytes[PIECE] = {1};

    assert_int_equal(pwrite(fd, bytes, PIECE, at), PIECE);
}

static struct disk_where where(const struct disk_map *m, int fd, uint64_t offset, uint64_t len)
{
    struct disk_where w = {.known = true};

    disk_map_add(m, fd, offset, len, &w);
    return w;
}

static uint64_t sectors(const struct disk_where *w)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < w->count; i++)
        sum += w->at[i].sectors;
    return sum;
}

static void files(void **state)
{
    int fd = scratch("."), other = scratch(".");
    struct disk_map m;

    (void)state;
    assert_true(fd >= 0 && other >= 0);
    disk_map_find(fd, &m);
    if (m.kind != DISK_MAP_FILES)
        skip(); /* the file system here is another */
    write_piece(fd, 0);
    write_piece(other, 0);
    write_piece(fd, PIECE);
    struct disk_where all = where(&m, fd, 0, 2 * PIECE), half = where(&m, fd, PIECE / 2, PIECE),
                      others = where(&m, other, 0, PIECE);
    assert_true(all.known && half.known && others.known);
    assert_int_equal(sectors(&all), 2 * PIECE / DISK_SECTOR);
    assert_int_equal(sectors(&half), PIECE / DISK_SECTOR);
    assert_int_equal(half.at[0].sector, all.at[0].sector + PIECE / 2 / DISK_SECTOR);
    assert_int_equal(half.at[0].disk, all.at[0].disk);
    assert_int_not_equal(others.at[0].sector, all.at[0].sector);

    /* A hole behind it, and one between. */
    assert_int_equal(ftruncate(fd, 4 * PIECE), 0);
    assert_false(where(&m, fd, 0, 3 * PIECE).known);
    write_piece(fd, 3 * PIECE);
    assert_false(where(&m, fd, 0, 4 * PIECE).known);
    assert_true(where(&m, fd, 3 * PIECE, PIECE).known);
    close(fd);
    close(other);
}

static void not_known(void **state)
{
    struct disk_map m = {.kind = DISK_MAP_DEVICE, .disk = 1, .begin = 100};
    struct disk_where w = {.known = true};
    int fd = scratch("/dev/shm");

    (void)state;
    disk_map_add(&m, -1, 4096, 8192, &w);
    disk_map_add(&m, -1, 12288, 4096, &w); /* behind it: one piece */
    assert_true(w.known && w.count == 1);
    assert_true(w.at[0].sector == 108 && w.at[0].sectors == 24);
    for (unsigned i = 0; i < DISK_EXTENTS; i++)
        disk_map_add(&m, -1, 1000000 + i * 100000, 4096, &w);
    assert_false(w.known);
    if (fd < 0)
        return;
    disk_map_find(fd, &m);
    assert_int_equal(m.kind, DISK_MAP_NONE);
    assert_false(where(&m, fd, 0, 4096).known);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files), cmocka_unit_test(not_known)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
