/* The only words of a user that reach kvtrace-trace. What is not exactly a number of a device ends
 * the program before it opens anything. */
#include "kvreplay/helper/request.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

/* Digits up to end, as the kernel writes numbers; *at is left behind them. */
static bool take_number(const char **at, char end, uint32_t limit, uint32_t *number)
{
    const char *s = *at;
    uint32_t value = 0;

    if (!isdigit((unsigned char)*s) || (*s == '0' && isdigit((unsigned char)s[1])))
        return false;
    for (; isdigit((unsigned char)*s); s++) {
        value = value * 10 + (uint32_t)(*s - '0');
        if (value >= limit)
            return false;
    }
    if (*s != end)
        return false;
    *at = s + (end != '\0');
    *number = value;
    return true;
}

static int refuse(struct err *e, int argument, const char *what)
{
    char where[32];

    snprintf(where, sizeof(where), "argument %d", argument);
    return err_set(e, -EINVAL, ERR_INPUT, where, "%s", what);
}

int trace_request_parse(struct trace_request *r, int argc, char *const *argv, struct err *e)
{
    *r = (struct trace_request){0};
    if (argc < 2)
        return err_set(e, -EINVAL, ERR_INPUT, "",
                       "no device: give the numbers of block devices, MAJOR:MINOR each");
    if (argc - 1 > BLOCK_EVENTS_DEVICES)
        return err_set(e, -EINVAL, ERR_INPUT, "", "%d devices are more than %d", argc - 1,
                       BLOCK_EVENTS_DEVICES);
    for (int i = 1; i < argc; i++) {
        const char *at = argv[i];
        uint32_t major, minor;
        if (!take_number(&at, ':', BLOCK_EVENTS_MAJORS, &major) || major == 0 ||
            !take_number(&at, '\0', BLOCK_EVENTS_MINORS, &minor))
            return refuse(e, i, "not MAJOR:MINOR of a block device");
        uint32_t device = major << 20 | minor;
        for (unsigned k = 0; k < r->devices; k++)
            if (r->device[k] == device)
                return refuse(e, i, "this device was given before");
        r->device[r->devices++] = device;
    }
    return 0;
}
