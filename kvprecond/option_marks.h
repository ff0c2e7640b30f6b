/* Marks of kvprecond's options, for the modes in options.c. */
#ifndef KVPRECOND_OPTION_MARKS_H
#define KVPRECOND_OPTION_MARKS_H

#include <stdint.h>

enum {
    KV_ONLY = 1 << 0,
    NOT_KV = 1 << 1,
    STEADY_ONLY = 1 << 2,
    NOT_DEVICE = 1 << 3,
    NOT_FILE = 1 << 4,
    STREAM_ONLY = 1 << 5,
    NOT_STREAM = 1 << 6,
    BUFFERED_ONLY = 1 << 7,
    REMOTE_ONLY = 1 << 8,
    NOT_REMOTE = 1 << 9
};

#endif
