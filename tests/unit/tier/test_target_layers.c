/* The layers below a target are followed to the last devices, here in recorded trees of /sys and
 * mount tables: device mapper on two drives, RAID on parts of drives, btrfs and bcachefs on
 * several, a loop device with and without direct I/O, in memory, in a loop device, an overlay on a
 * disk, in memory, and in a container that does not see its folder, ZFS, whose devices no table
 * has. A bug looked like a loop device's page cache that was taken for a drive, and a btrfs without
 * a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/io/target_layers.h"

static const char mounts[] =
    "20 1 8:2 / / rw - ext4 /dev/root rw\n"
    "21 20 0:30 / /tmpfs rw - tmpfs tmpfs rw\n"
    "22 20 253:0 / /lvm rw - xfs /dev/mapper/vg-kv rw\n"
    "23 20 9:0 / /raid rw - ext4 /dev/md0 rw\n"
    "24 20 0:40 /@ /btrfs rw - btrfs /dev/sdb1 rw,compress=zstd:3,space_cache=v2,subvol=/@\n"
    "25 20 0:41 / /bcachefs rw - bcachefs /dev/sdb:/dev/sdc rw,compression=none\n"
    "26 20 7:0 / /loop rw - ext4 /dev/loop0 rw\n"
    "27 20 7:1 / /loop\\040dio rw - ext4 /dev/loop1 rw\n"
    "28 20 7:2 / /in_memory rw - ext4 /dev/loop2 rw\n"
    "29 20 7:3 / /nested rw - ext4 /dev/loop3 rw\n"
    "30 20 0:50 / /over rw - overlay overlay rw,lowerdir=/a,upperdir=/lvm/up,workdir=/lvm/w\n"
    "31 20 0:51 / /over_memory rw - overlay o rw,lowerdir=/a,upperdir=/tmpfs/up,workdir=/w\n"
    "32 20 0:52 / /hidden rw - overlay o rw,lowerdir=/a,upperdir=/not/here,workdir=/w\n"
    "33 20 0:53 / /tank rw - zfs tank/kv rw,xattr\n"
    "34 20 0:54 / /nfs rw - nfs4 host:/x rw\n"
    "35 20 0:55 / /fuse rw - fuse.sshfs host:/x rw\n"
    "36 20 253:3 / /vdo rw - xfs /dev/mapper/v rw\n"
    "37 20 7:4 / /circle rw - ext4 /dev/loop4 rw\n"
    "38 20 0:56 / /btrfs_one rw - btrfs /dev/mapper/vg-kv rw\n"
    "39 20 7:5 / /raw rw - ext4 /dev/loop5 rw\n"
    "40 20 7:6 / /covered rw - ext4 /dev/loop6 rw\n"
    "41 20 8:16 / /covered rw - ext4 /dev/sdb rw\n"
    "42 20 0:57 / /btrfs_plain rw - btrfs /dev/sde rw,compress=no,space_cache=v2\n"
    "43 20 0:58 / /bcachefs_lz4 rw - bcachefs /dev/sdb:/dev/sdc rw,background_compression=lz4\n"
    "44 20 8:16 / /f2fs rw - f2fs /dev/sdb rw,compress_algorithm=lz4,compress_extension=*\n"
    "45 20 8:16 / /f2fs_plain rw - f2fs /dev/sdb rw,compress_algorithm=lz4\n"
    "46 20 0:59 / /flash rw - ubifs ubi0:kv rw,ubi=0,vol=0\n"
    "47 20 0:60 / /flash_plain rw - ubifs ubi0:kv rw,compr=none,ubi=0\n"
    "48 20 7:7 / /on_btrfs rw - ext4 /dev/loop7 rw\n"
    "49 20 8:16 / /f2fs_txt rw - f2fs /dev/sdb "
    "rw,compress_extension=txt,nocompress_extension=jpg\n"
    "50 20 8:16 / /f2fs_kv rw - f2fs /dev/sdb rw,compress_extension=txt,compress_extension=kv\n"
    "51 20 8:16 / /f2fs_not_kv rw - f2fs /dev/sdb "
    "rw,compress_extension=*,nocompress_extension=kv\n"
    "52 20 0:61 / /btrfs_forced rw - btrfs /dev/sde rw,compress-force=zstd:1\n"
    "53 20 0:62 / /over_btrfs rw - overlay o rw,lowerdir=/a,upperdir=/btrfs/up,workdir=/w\n";

/* "name=text" is a file, "name>target" a link, "name/" a folder. */
static const char *const tree[] = {"sys/block/sda/sda2/partition=2",
                                   "sys/block/sdb/sdb1/partition=1",
                                   "sys/block/sdc/sdc1/partition=1",
                                   "sys/block/sdd/device/model=scsi_debug",
                                   "sys/block/zram0/",
                                   "sys/block/sde/",
                                   "sys/block/dm-0/slaves/sda2>../../sda/sda2",
                                   "sys/block/dm-0/slaves/sdb>../../sdb",
                                   "sys/block/dm-0/dm/uuid=LVM-x",
                                   "sys/block/md0/slaves/sdb1>../../sdb/sdb1",
                                   "sys/block/md0/slaves/sdc1>../../sdc/sdc1",
                                   "sys/block/md0/md/level=raid1",
                                   "sys/block/dm-3/slaves/dm-4>../../dm-4",
                                   "sys/block/dm-3/dm/uuid=VDO-1",
                                   "sys/block/dm-4/slaves/sde>../../sde",
                                   "sys/block/loop0/loop/backing_file=/images/a",
                                   "sys/block/loop0/loop/dio=0",
                                   "sys/block/loop1/loop/backing_file=/lvm/with blank (deleted)",
                                   "sys/block/loop1/loop/dio=1",
                                   "sys/block/loop2/loop/backing_file=/tmpfs/c",
                                   "sys/block/loop2/loop/dio=1",
                                   "sys/block/loop3/loop/backing_file=/loop/d",
                                   "sys/block/loop3/loop/dio=1",
                                   "sys/block/loop4/loop/backing_file=/circle/e",
                                   "sys/block/loop4/loop/dio=1",
                                   "sys/block/loop5/loop/backing_file=/dev/sde",
                                   "sys/block/loop5/loop/dio=1",
                                   "sys/block/loop6/loop/backing_file=/covered/x",
                                   "sys/block/loop6/loop/dio=1",
                                   "sys/block/loop7/loop/backing_file=/btrfs/image",
                                   "sys/block/loop7/loop/dio=1",
                                   "sys/dev/block/7:7>../../block/loop7",
                                   "sys/dev/block/8:2>../../block/sda/sda2",
                                   "sys/dev/block/8:16>../../block/sdb",
                                   "sys/dev/block/8:48>../../block/sdd",
                                   "sys/dev/block/252:0>../../block/zram0",
                                   "sys/dev/block/253:0>../../block/dm-0",
                                   "sys/dev/block/253:3>../../block/dm-3",
                                   "sys/dev/block/9:0>../../block/md0",
                                   "sys/dev/block/7:0>../../block/loop0",
                                   "sys/dev/block/7:1>../../block/loop1",
                                   "sys/dev/block/7:2>../../block/loop2",
                                   "sys/dev/block/7:3>../../block/loop3",
                                   "sys/dev/block/7:4>../../block/loop4",
                                   "sys/dev/block/7:5>../../block/loop5",
                                   "sys/dev/block/7:6>../../block/loop6",
                                   "sys/fs/btrfs/features/x=1",
                                   "sys/fs/btrfs/11/devices/sde>../../../../block/sde",
                                   "sys/fs/btrfs/22/devices/sdb1>../../../../block/sdb/sdb1",
                                   "sys/fs/btrfs/22/devices/sdc>../../../../block/sdc",
                                   "sys/fs/bcachefs/33/dev-0/block>../../../../block/sdb",
                                   "sys/fs/bcachefs/33/dev-1/block>../../../../block/sdc",
                                   "sys/fs/bcachefs/33/options/x=1",
                                   "dev/dm-0=",
                                   "dev/mapper/vg-kv>../dm-0",
                                   "lvm/up/",
                                   "tmpfs/up/",
                                   "btrfs/up/",
                                   NULL};

struct fixture {
    char root[64], name[7][128];
    struct target_facts facts;
};

static void make(const char *root, const char *entry)
{
    char path[256], *at;

    snprintf(path, sizeof(path), "%s/%s", root, entry);
    for (at = path + strlen(root) + 1; (at = strpbrk(at, "/=>")) && *at == '/'; at++) {
        *at = '\0';
        (void)mkdir(path, 0755);
        *at = '/';
    }
    if (!at)
        return;
    char kind = *at;
    *at++ = '\0';
    if (kind == '>') {
        assert_int_equal(symlink(at, path), 0);
        return;
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%s\n", at);
    assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
    static const char *const part[] = {"mountinfo", "sys/dev/block", "sys/block", "swaps",
                                       "none",      "sys/fs",        ""};
    struct fixture *f = calloc(1, sizeof(*f));
    const char *tmp = getenv("TMPDIR");

    assert_non_null(f);
    snprintf(f->root, sizeof(f->root), "%s/kvtrace-layers-XXXXXX",
             tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    assert_non_null(mkdtemp(f->root));
    for (size_t i = 0; tree[i]; i++)
        make(f->root, tree[i]);
    for (size_t i = 0; i < 7; i++)
        snprintf(f->name[i], sizeof(f->name[i]), "%s/%s", f->root, part[i]);
    FILE *out = fopen(f->name[0], "w");
    assert_non_null(out);
    fputs(mounts, out);
    assert_int_equal(fclose(out), 0);
    f->facts = (struct target_facts){.mountinfo = f->name[0],
                                     .sys_dev_block = f->name[1],
                                     .sys_block = f->name[2],
                                     .dev = f->name[4],
                                     .sys_fs = f->name[5],
                                     .files = f->root};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char command[128];

    snprintf(command, sizeof(command), "rm -rf '%s'", f->root);
    int rc = system(command);
    free(f);
    return rc;
}

/* The layers in words, the disks, and what is true of them: C complete, M memory, N network, R
 * copies (RAID), Z reduces, L the cache of a loop device, A that of ZFS. */
static void check_layers(const struct target_layers *l, const char *text, const char *disks,
                         const char *marks)
{
    char got[256] = "", mark[8] = "";

    for (unsigned i = 0; i < l->disks; i++)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "", l->disk[i]);
    snprintf(mark, sizeof(mark), "%s%s%s%s%s%s%s", l->complete ? "C" : "", l->memory ? "M" : "",
             l->network ? "N" : "", l->copies ? "R" : "", l->reduces ? "Z" : "",
             l->cache == TARGET_CACHE_LOOP ? "L" : "", l->cache == TARGET_CACHE_ARC ? "A" : "");
    assert_string_equal(l->text, text);
    assert_string_equal(got, disks);
    assert_string_equal(mark, marks);
}

static void check(void **state, int id, const char *text, const char *disks, const char *marks)
{
    struct fixture *f = *state;
    struct target_layers l;

    target_layers_find(&f->facts, id, 0, 0, &l);
    check_layers(&l, text, disks, marks);
}

static void test_one_disk(void **state)
{
    check(state, 20, "ext4 on sda", "sda", "C");
    check(state, 41, "ext4 on sdb", "sdb", "C");
}

static void test_mapper_and_raid(void **state)
{
    struct fixture *f = *state;
    struct target_layers l;

    target_layers_find(&f->facts, 22, 0, 0, &l);
    assert_string_equal(l.top, "dm-0");
    assert_int_equal(l.disks, 2);
    assert_true(l.complete && !l.copies);
    target_layers_find(&f->facts, 23, 0, 0, &l);
    assert_string_equal(l.top, "md0");
    assert_int_equal(l.disks, 2);
    assert_true(l.complete && l.copies);
    check(state, 36, "xfs on dm-3 on dm-4 on sde", "sde", "CZ");
}

static void test_several_devices(void **state)
{
    struct fixture *f = *state;
    struct target_layers l;

    target_layers_find(&f->facts, 24, makedev(0, 99), 0, &l);
    assert_int_equal(l.disks, 2);
    assert_true(l.complete && l.reduces);
    target_layers_find(&f->facts, 25, 0, 0, &l);
    assert_int_equal(l.disks, 2);
    assert_true(l.complete && !l.reduces);
    /* A btrfs that has no folder has the device that the mount names. */
    target_layers_find(&f->facts, 38, 0, 0, &l);
    assert_string_equal(l.top, "dm-0");
    assert_int_equal(l.disks, 2);
}

/* That of several devices, in any order. */
static void starts(void **state, int id, const char *text)
{
    struct fixture *f = *state;
    struct target_layers l;

    target_layers_find(&f->facts, id, 0, 0, &l);
    assert_int_equal(strncmp(l.text, text, strlen(text)), 0);
    assert_true(l.complete && l.reduces);
}

/* Wherever a file system compresses, at the top or below a loop device, its layer says so. */
static void test_compression(void **state)
{
    check(state, 42, "btrfs on sde", "sde", "C");
    starts(state, 43, "bcachefs (compresses) on sd");
    check(state, 44, "f2fs (compresses) on sdb", "sdb", "CZ");
    check(state, 45, "f2fs on sdb", "sdb", "C");
    check(state, 46, "ubifs (compresses)", "", "Z");
    check(state, 47, "ubifs", "", "");
    starts(state, 24, "btrfs (compresses) on sd");
    starts(state, 48, "ext4 on loop7 on btrfs (compresses) on sd");
    /* The names of our objects end in .kv. */
    check(state, 49, "f2fs on sdb", "sdb", "C");
    check(state, 50, "f2fs (compresses) on sdb", "sdb", "CZ");
    check(state, 51, "f2fs on sdb", "sdb", "C");
    check(state, 52, "btrfs (compresses) on sde", "sde", "CZ");
}

/* Attributes of the folder: chattr +c compresses, where the file system is able to; +C never, +m
 * but by force. An overlay has those of its upper folder, and a layer below has its own. */
static void test_attributes(void **state)
{
    static const struct {
        int id, attributes;
        bool reduces;
        const char *text;
    } cases[] = {
        {42, FS_COMPR_FL, true, "compressed folder on btrfs on sde"},
        {42, FS_COMPR_FL | FS_NOCOW_FL, false, "btrfs on sde"},
        {24, FS_NOCOW_FL, false, "btrfs on sd"},
        {52, FS_NOCOW_FL, false, "btrfs on sde"},
        {24, FS_NOCOMP_FL, false, "btrfs on sd"},
        {52, FS_NOCOMP_FL, true, "btrfs (compresses) on sde"},
        {44, FS_NOCOMP_FL, false, "f2fs on sdb"},
        {45, FS_COMPR_FL, true, "compressed folder on f2fs on sdb"},
        {20, FS_COMPR_FL, false, "ext4 on sda"},
        {36, FS_NOCOW_FL, true, "xfs on dm-3 on dm-4 on sde"},
        {48, FS_NOCOW_FL, true, "ext4 on loop7 on btrfs (compresses) on sd"},
        {53, 0, true, "overlay on btrfs (compresses) on sd"},
        {53, FS_NOCOW_FL, false, "overlay on btrfs on sd"},
        {53, FS_COMPR_FL, true, "overlay on compressed folder on btrfs (compresses) on sd"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct target_layers l;
        target_layers_find(&f->facts, cases[i].id, 0, cases[i].attributes, &l);
        l.text[strlen(cases[i].text)] = '\0';
        assert_string_equal(l.text, cases[i].text);
        assert_int_equal(l.reduces, cases[i].reduces);
    }
}

static void test_loops(void **state)
{
    check(state, 26, "ext4 on loop0 (no direct I/O) on ext4 on sda", "sda", "CL");
    check(state, 28, "ext4 on loop2 on tmpfs", "loop2", "CM");
    check(state, 29, "ext4 on loop3 on ext4 on loop0 (no direct I/O) on ext4 on sda", "sda", "CL");
    check(state, 39, "ext4 on loop5 on sde", "sde", "C");
    check(state, 40, "ext4 on loop6 on ext4 on sdb", "sdb", "C");

    struct fixture *f = *state;
    struct target_layers l;
    target_layers_find(&f->facts, 27, 0, 0, &l);
    assert_string_equal(l.top, "loop1");
    assert_int_equal(l.disks, 2);
    assert_true(l.complete && l.cache == TARGET_CACHE_NONE);
    /* A mount whose loop device's file lies in itself ends. */
    target_layers_find(&f->facts, 37, 0, 0, &l);
    assert_false(l.complete);
}

static void test_overlays(void **state)
{
    struct fixture *f = *state;
    struct target_layers l;

    target_layers_find(&f->facts, 30, 0, 0, &l);
    assert_int_equal(l.disks, 2);
    assert_true(l.complete);
    assert_int_equal(strncmp(l.text, "overlay on xfs on dm-0 on ", 26), 0);
    check(state, 31, "overlay on tmpfs", "", "CM");
    check(state, 32, "overlay", "", "");
}

static void test_no_device(void **state)
{
    check(state, 21, "tmpfs", "", "CM");
    check(state, 33, "zfs", "", "ZA");
    check(state, 34, "nfs4", "", "CN");
    check(state, 35, "fuse.sshfs", "", "");
}

static void test_raw_devices(void **state)
{
    struct fixture *f = *state;
    struct target_layers l;

    target_layers_find(&f->facts, -1, makedev(7, 0), 0, &l);
    check_layers(&l, "loop0 (no direct I/O) on ext4 on sda", "sda", "CL");
    target_layers_find(&f->facts, -1, makedev(8, 48), 0, &l);
    check_layers(&l, "sdd", "sdd", "CM");
    target_layers_find(&f->facts, -1, makedev(252, 0), 0, &l);
    check_layers(&l, "zram0", "zram0", "CM");
    /* Neither the mount nor the device is known. */
    target_layers_find(&f->facts, 99, makedev(8, 200), 0, &l);
    check_layers(&l, "a device that is hidden", "", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_disk),        cmocka_unit_test(test_mapper_and_raid),
        cmocka_unit_test(test_several_devices), cmocka_unit_test(test_loops),
        cmocka_unit_test(test_overlays),        cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_raw_devices),     cmocka_unit_test(test_compression),
        cmocka_unit_test(test_attributes),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
