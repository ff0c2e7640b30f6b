/* Texts of a RESP server that both resp.c and resp_control.c use: names of keys, first words of
 * errors, INFO. */
#ifndef KVTRACE_REMOTE_RESP_TEXT_H
#define KVTRACE_REMOTE_RESP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash.h"
#include "lib/tier/tier.h"

enum {
    RESP_NAME_CAP = 80,       /* "kvtrace:STEM", ".PART" */
    RESP_LINE_MAX = 16 * 1024 /* bytes of a line that a server may send: a status, an error */
};
/* The name of a part of an object of that epoch. Part 0: "kvtrace:STEM" (lib/owner/stem.h). */
void resp_name(char name[RESP_NAME_CAP], struct hash128 object, uint32_t epoch, uint64_t part);
/* "RESP:WORD" from the text of an error reply. */
void resp_code(char code[TIER_CODE_CAP], const char *text);
/* An answer's value has come in part: text[0..len), behind its type. Whether the rest may follow:
 * of a string of at most most bytes, or of a line. Ask before memory is taken for the length that
 * the server announces. */
bool resp_may_grow(const char *text, size_t len, uint64_t most);

/* The value behind "NAME:" at the beginning of a line of INFO, in buf. */
bool resp_info_value(const char *text, const char *name, char *buf, size_t cap);
/* The server's INFO; negative: not known. */
struct resp_info {
    char server[64]; /* "redis 7.0.15" */
    char policy[32]; /* maxmemory-policy */
    int64_t max_bytes, used_bytes, evicted;
};
void resp_info_read(struct resp_info *i, const char *text);

#endif
