/* drive.c - runs recorded scenarios through our caches and schedulers and compares every decision.
 * A line for each folder; exit 1 if one differs, 2 if one cannot be run. --write: writes what they
 * decide where the recording would be. */
#include <stdio.h>
#include <string.h>

#include "tests/engines/scenario.h"

/* By the beginning of "engine" in config.json. */
static const struct {
    const char *engine;
    scenario_driver drive;
} drivers[] = {
    {"LMCache", drive_lmcache},
    {"SGLang", drive_sglang},
    {"vllm", drive_vllm},
    {NULL, NULL},
};

static int run(const char *folder, bool writes, struct scenario_outcome *o, struct err *e)
{
    struct scenario s;
    int rc = scenario_open(&s, folder, e);
    if (rc)
        return rc;
    s.writes = writes;
    const char *engine = scenario_text(&s, "engine", "");
    scenario_driver drive = NULL;
    for (size_t i = 0; drivers[i].engine; i++)
        if (!strncmp(engine, drivers[i].engine, strlen(drivers[i].engine)))
            drive = drivers[i].drive;
    if (drive)
        rc = drive(&s, o, e);
    else
        rc = err_set(e, 0, ERR_INPUT, folder, "no cache of ours is that of the engine \"%s\"",
                     engine);
    if (!rc && !writes)
        printf("%-28s %8llu steps %10llu compared %8llu different%s%s\n", s.name,
               (unsigned long long)o->steps, (unsigned long long)o->compared,
               (unsigned long long)o->differences, o->differences ? ": " : "", o->first);
    scenario_close(&s);
    return rc;
}

int main(int argc, char **argv)
{
    int status = 0;
    const bool writes = argc > 1 && !strcmp(argv[1], "--write");
    for (int i = 1 + writes; i < argc; i++) {
        struct scenario_outcome o = {0};
        struct err e = {0};
        if (run(argv[i], writes, &o, &e)) {
            char text[1024];
            err_format(&e, "drive", text, sizeof(text));
            fprintf(stderr, "%s\n", text);
            status = 2;
        } else if (o.differences && !status) {
            status = 1;
        }
        fflush(stdout);
    }
    return status;
}
