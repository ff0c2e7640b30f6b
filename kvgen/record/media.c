/* Names of media by engine: GPU (vLLM, SGLang), device (Dynamo); CPU, CPU_PINNED, CPU_TIER1,
 * host_pinned; DISK, STORAGE, EXTERNAL, FS, OBJ, SHARED_STORAGE, CPU_TIER2. --config medium adds
 * others.
 */
#include "kvgen/record/media.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

enum {
    MEDIA_GIVEN = 20 /* known, and of --config medium: the others are learned */
};

int media_find(const struct media *m, const char *name, size_t len)
{
    if (len == 6 && strncasecmp(name, "device", 6) == 0)
        return MEDIA_GPU;
    for (unsigned i = 0; i < m->count; i++)
        if (strlen(m->medium[i].name) == len && strncasecmp(m->medium[i].name, name, len) == 0)
            return (int)i;
    return -1;
}

unsigned media_learn(struct media *m, const char *name, size_t len)
{
    char text[MEDIA_NAME] = "?";
    int found = media_find(m, name, len);
    if (found >= 0)
        return (unsigned)found;
    if (len > 0 && len < sizeof(text) && m->count < MEDIA_MAX - 1) {
        for (size_t i = 0; i < len; i++) {
            unsigned char c = (unsigned char)name[i];
            text[i] = (char)(isalnum(c) || strchr("-_.", c) ? toupper(c) : '?');
        }
        text[len] = '\0';
    }
    found = media_find(m, text, strlen(text));
    if (found >= 0)
        return (unsigned)found;
    struct medium *to = &m->medium[m->count];
    memcpy(to->name, text, sizeof(text));
    to->tier = TRACE_NO_TIER;
    return m->count++;
}

int media_init(struct media *m, const struct opt_list *given, struct err *e)
{
    static const struct medium known[] = {{"GPU", TRACE_GPU},
                                          {"CPU", TRACE_CPU},
                                          {"CPU_PINNED", TRACE_CPU},
                                          {"CPU_TIER1", TRACE_CPU},
                                          {"HOST_PINNED", TRACE_CPU},
                                          {"DISK", TRACE_STORAGE},
                                          {"STORAGE", TRACE_STORAGE},
                                          {"EXTERNAL", TRACE_STORAGE},
                                          {"FS", TRACE_STORAGE},
                                          {"OBJ", TRACE_STORAGE},
                                          {"SHARED_STORAGE", TRACE_STORAGE},
                                          {"CPU_TIER2", TRACE_STORAGE}};
    *m = (struct media){.count = sizeof(known) / sizeof(*known)};
    memcpy(m->medium, known, sizeof(known));
    for (size_t i = 0; i < given->count; i++) {
        const char *text = given->item[i], *is = strchr(text, '=');
        size_t len = is ? (size_t)(is - text) : 0;
        if (len == 0 || len >= MEDIA_NAME || is[1] < '0' || is[1] > '2' || is[2] != '\0')
            return err_set(e, -EINVAL, ERR_INPUT, "--config medium",
                           "\"%s\" is not NAME=TIER with a tier from 0 to 2", text);
        int at = media_find(m, text, len);
        if (at < 0 && m->count == MEDIA_GIVEN)
            return err_set(e, -EINVAL, ERR_INPUT, "--config medium", "more than %d media",
                           MEDIA_GIVEN);
        struct medium *to = &m->medium[at < 0 ? (int)m->count++ : at];
        for (size_t k = 0; at < 0 && k < len; k++)
            to->name[k] = (char)(text[k] >= 'a' && text[k] <= 'z' ? text[k] - 32 : text[k]);
        to->tier = (uint8_t)(is[1] - '0');
    }
    return 0;
}
