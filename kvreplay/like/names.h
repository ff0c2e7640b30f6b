/* Where an engine's file store has an object: names made of hashes of ours, never of the key. */
#ifndef KVREPLAY_LIKE_NAMES_H
#define KVREPLAY_LIKE_NAMES_H

#include "lib/base/hash.h"
#include "lib/io/target_files.h"

enum {
    LIKE_PATH_CAP = 128
};

/* Below the store's directory, or below TARGET_FILES_TREE in it. */
struct like_name {
    char path[LIKE_PATH_CAP];
    char temporary[LIKE_PATH_CAP]; /* while it is written */
};

/* "kvtrace@0x00000000@0@HASH.data" */
void like_name_flat(struct like_name *n, struct hash128 object);
/* "hhh/hh_g0/HASH.bin". writer: tells temporary names of several writers apart. */
void like_name_tree(struct like_name *n, struct hash128 object, unsigned writer);
/* The folders of a tree's path: "hhh", or with deep "hhh/hh_g0". */
void like_name_folder(const struct like_name *n, bool deep, char folder[LIKE_PATH_CAP]);

#endif
