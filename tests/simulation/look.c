/* The contents of stores, for the simulation: reads the files of kvreplay without kvreplay.
 *
 * look keys KEY...    the hash of each key, as the headers of blocks have it, the names of its
 *                     object in kvreplay's layout and in those of engines, and the key
 * look base SEED      the generation of the first object that a run with this data seed writes
 * look PATH...        a line for each object in a directory or a slab:
 *                     object HASH GENERATION BYTES whole|torn NAME PATH
 *                     where NAME is what the index of a slab calls it, and "-" in a directory
 *                     and for a slab before it: slab STATE UNSURE OBJECTS PATH */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/data/data.h"

enum {
    HEADER = 48, /* of a block */
    SLAB_BEGIN = 1 << 20,
    SLAB_SEGMENT = 1 << 20
};

/* An object in pieces: its blocks must be those of one write, from the first to the last. */
struct object {
    struct data_id id;
    uint64_t blocks, bytes;
    bool torn;
};

static void take(struct object *ob, int fd, uint64_t offset, uint64_t bytes)
{
    static _Alignas(4096) char block[DATA_BLOCK], expected[DATA_BLOCK];
    struct data_fault fault;
    uint64_t index;

    for (uint64_t at = 0; at < bytes; at += DATA_BLOCK, ob->blocks++) {
        uint64_t part = bytes - at < DATA_BLOCK ? bytes - at : DATA_BLOCK;
        bool there = pread(fd, block, part, (off_t)(offset + at)) == (ssize_t)part;

        if (ob->blocks == 0 &&
            part < HEADER) { /* an engine's layout does not pad: nothing to see */
            ob->torn |= !there;
            continue;
        }
        if (there && ob->blocks == 0 && data_identify(block, &ob->id, &index) < 0)
            there = false;
        if (there && part < DATA_BLOCK) {
            data_fill(expected, DATA_BLOCK, &ob->id, ob->blocks);
            ob->torn |= memcmp(block, expected, part) != 0;
            continue;
        }
        ob->torn |= !there || data_check_full(block, DATA_BLOCK, &ob->id, ob->blocks, &fault) < 0;
    }
    ob->bytes += bytes;
}

static void print(const struct object *ob, const char *name, const char *path)
{
    char hex[HASH_HEX_LEN + 1];

    hash_hex(ob->id.key, hex);
    printf("object %s %" PRIu64 " %" PRIu64 " %s %s %s\n", hex, ob->id.generation, ob->bytes,
           ob->torn || ob->blocks == 0 ? "torn" : "whole", name, path);
}

/* The objects that the index of a slab names; it is read where the header says. */
static void look_slab(int fd, const uint64_t *h, const char *path)
{
    static uint64_t words[SLAB_SEGMENT / 8], word[2];
    uint64_t at = SLAB_BEGIN + h[4] + h[5], left = 0, next = 0;
    struct object ob = {0};
    char hex[HASH_HEX_LEN + 1];

    printf("slab %s %" PRIu64 " %" PRIu64 " %s\n",
           h[1] == 0   ? "used"
           : h[1] == 1 ? "kept"
                       : "keeping",
           h[3], h[7], path);
    if (h[1] == 0)
        return;
    for (uint64_t i = 0, extents = 0, part = 0; i < h[6]; i++, left--, next++) {
        if (left == 0) {
            if (pread(fd, words, SLAB_SEGMENT, (off_t)at) != SLAB_SEGMENT || words[0] == 0 ||
                words[0] > SLAB_SEGMENT / 8 - 2 || words[1] != hash_64(words + 2, words[0] * 8)) {
                printf("broken index %s\n", path);
                return;
            }
            at += SLAB_SEGMENT;
            left = words[0];
            next = 2;
        }
        uint64_t w = words[next];
        static uint64_t offset;
        if (part < 2)
            word[part] = w;
        else if (part == 3) /* 2 is the generation, which the blocks have too */
            extents = w;
        else if (part > 3 && part % 2 == 0)
            offset = w;
        else if (part > 3)
            take(&ob, fd, SLAB_BEGIN + offset, w);
        part++;
        if (part >= 4 && part == 4 + extents * 2) {
            hash_hex((struct hash128){.lo = word[0], .hi = word[1]}, hex);
            print(&ob, hex, path);
            ob = (struct object){0};
            part = 0;
        }
    }
}

static bool ends(const char *path, const char *suffix)
{
    size_t len = strlen(path), n = strlen(suffix);

    return len >= n && strcmp(path + len - n, suffix) == 0;
}

static int look(const char *path, const struct stat *st, int kind, struct FTW *f)
{
    uint64_t head[16] = {0};
    struct object ob = {0};

    if (kind != FTW_F ||
        (f->level > 0 && !ends(path, ".kv") && !ends(path, ".data") && !ends(path, ".bin")))
        return 0;
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return 0;
    if (pread(fd, head, sizeof(head), 0) == sizeof(head) && memcmp(head, "KVTSLAB3", 8) == 0) {
        look_slab(fd, head, path);
    } else if (f->level > 0) {
        take(&ob, fd, 0, (uint64_t)st->st_size);
        print(&ob, "-", path);
    }
    close(fd);
    return 0;
}

static void print_key(const char *key)
{
    struct hash128 copy = hash_128(key, strlen(key)), name;
    uint64_t salted[3] = {copy.lo, copy.hi, 2};
    char hex[HASH_HEX_LEN + 1];

    hash_hex(copy, hex);
    printf("%s ", hex);
    name = hash_128(salted, sizeof(salted));
    hash_hex(name, hex);
    printf("%s ", hex);
    for (uint64_t seed = 0; seed < 2; seed++) {
        const uint64_t seeded[3] = {seed, name.lo, name.hi};

        hash_hex(hash_128(seeded, sizeof(seeded)), hex);
        printf("%s", hex);
    }
    printf(" %s\n", key);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "keys") == 0) {
        for (int i = 2; i < argc; i++) {
            print_key(argv[i]);
        }
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "base") == 0) {
        printf("%" PRIu64 "\n", (hash_mix(strtoull(argv[2], NULL, 10)) >> 2) + 1);
        return 0;
    }
    for (int i = 1; i < argc; i++)
        if (nftw(argv[i], look, 16, FTW_PHYS) != 0 && errno != ENOENT)
            return 1;
    return 0;
}
