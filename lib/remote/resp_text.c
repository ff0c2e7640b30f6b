/* Beside resp.c and resp_control.c: makes and reads texts of the protocol. It does not need the
 * library that parses answers. */
#include "lib/remote/resp_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/units.h"
#include "lib/owner/owner.h"

void resp_name(char name[RESP_NAME_CAP], struct hash128 object, uint32_t epoch, uint64_t part)
{
    char stem[STEM_CAP];

    stem_format(stem, object, epoch);
    if (part == 0)
        snprintf(name, RESP_NAME_CAP, OWNER_PREFIX "%s", stem);
    else
        snprintf(name, RESP_NAME_CAP, OWNER_PREFIX "%s.%" PRIu64, stem, part);
}

void resp_code(char code[TIER_CODE_CAP], const char *text)
{
    size_t n = 0;

    while (isupper((unsigned char)text[n]) || (n > 0 && isdigit((unsigned char)text[n])))
        n++;
    if (n == 0 || n > TIER_CODE_CAP - sizeof("RESP:"))
        snprintf(code, TIER_CODE_CAP, "RESP:ERR");
    else
        snprintf(code, TIER_CODE_CAP, "RESP:%.*s", (int)n, text);
}

bool resp_may_grow(const char *text, size_t len, uint64_t most)
{
    const char *end = memchr(text, '\n', len < RESP_LINE_MAX ? len : RESP_LINE_MAX);
    uint64_t bytes;

    if (!end)
        return len < RESP_LINE_MAX;
    /* Only a string goes on behind its first line, which is its length. */
    return end > text && end[-1] == '\r' &&
           units_parse_digits(text, (size_t)(end - text) - 1, &bytes) == 0 && bytes <= most;
}

bool resp_info_value(const char *text, const char *name, char *buf, size_t cap)
{
    size_t len = strlen(name);

    for (const char *line = text, *end; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (strncmp(line, name, len) == 0 && line[len] == ':') {
            size_t n = strcspn(line + len + 1, "\r\n");
            snprintf(buf, cap, "%.*s", (int)(n < cap ? n : cap - 1), line + len + 1);
            err_make_harmless(buf);
            return true;
        }
    }
    return false;
}

static int64_t info_number(const char *text, const char *name)
{
    char buf[24];
    int64_t value;

    return resp_info_value(text, name, buf, sizeof(buf)) && units_parse_i64(buf, &value) == 0
               ? value
               : -1;
}

void resp_info_read(struct resp_info *i, const char *text)
{
    static const char *const servers[] = {"valkey", "dragonfly", "redis"};
    char name[24], version[32];

    *i = (struct resp_info){.max_bytes = info_number(text, "maxmemory"),
                            .used_bytes = info_number(text, "used_memory"),
                            .evicted = info_number(text, "evicted_keys")};
    resp_info_value(text, "maxmemory_policy", i->policy, sizeof(i->policy));
    for (size_t k = 0; !i->server[0] && k < sizeof(servers) / sizeof(servers[0]); k++) {
        snprintf(name, sizeof(name), "%s_version", servers[k]);
        if (resp_info_value(text, name, version, sizeof(version)))
            snprintf(i->server, sizeof(i->server), "%s %s", servers[k], version);
    }
}
