/* Any bytes as a configuration file: refused with one line that names a place, or read so that
 * every key answers. Then as --config of one of the programs, with their first line as a setting
 * beside the file: what is refused is told, and what is taken can be told as JSON. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/conf/conf.h"
#include "lib/conf/given.h"
#include "lib/conf/texts.h"
#include "lib/model/find.h"
#include "lib/opt/opt.h"
#include "lib/opt/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct conf *c)
{
    const char *name;
    struct model m;

    if (conf_i64(c, "decode.batch_size") < 1 || conf_f64(c, "eviction.target_usage_ratio") > 1)
        abort();
    for (size_t i = 0; (name = conf_model_name(c, i)) != NULL; i++) {
        struct err e = {0};
        if (model_find(&m, name, c, NULL, &e) == 0 && model_bytes_per_token(&m) > (uint64_t)1 << 48)
            abort();
    }
    for (size_t i = 0; conf_warning(c, i); i++)
        if (!strstr(conf_warning(c, i), ": key "))
            abort();
}

/* Room for the fields of a table. */
static void *fields_of(const struct opt *table)
{
    size_t room = 0;
    void *fields;

    for (const struct opt *o = table; o->name || o->help; o++)
        if (o->offset + sizeof(struct opt_list) > room)
            room = o->offset + sizeof(struct opt_list);
    fields = calloc(1, room);
    if (!fields)
        abort();
    return fields;
}

/* The file, and the first line where it is KEY=VALUE, to a program. */
static void configure(const struct opt_program *program, const char *path, const char *line)
{
    static const char *const sections[] = {"decode", "eviction", "user_templates", "autoscaler",
                                           NULL};
    void *fields = fields_of(program->table);
    struct opt_parser *p = opt_open(program->name, "", program->table, fields);
    struct opt_list from = {.item = {path, line}, .count = conf_is_setting(line) ? 2 : 1};
    struct jsonout *j = jsonout_create();
    struct conf *c = NULL;
    struct err e = {0};

    if (!p || !j)
        abort();
    if (conf_read(&c, &from, p, &e) == 0) {
        jsonout_options(j, p);
        given_put(j, c, sections);
        if (!jsonout_text(j, false))
            abort();
    } else {
        opt_tell_place(p, &e);
        if (e.code == 0 || e.where[0] == '\0' || e.what[0] == '\0')
            abort();
    }
    conf_free(c);
    jsonout_free(j);
    opt_close(p);
    free(fields);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("conf", MFD_CLOEXEC);
    struct conf *c = NULL;
    struct err e = {0};
    char path[64], line[200];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (conf_open(&c, path, &e) == 0)
        ask(c);
    else if (e.code == 0 || e.where[0] == '\0' || e.what[0] == '\0')
        abort();
    conf_free(c);
    snprintf(line, sizeof(line), "%.*s", (int)(size < sizeof(line) ? size : sizeof(line) - 1),
             size ? (const char *)data : "");
    line[strcspn(line, "\n")] = '\0';
    configure(&opt_programs[size % OPT_PROGRAMS], path, line);
    close(fd);
    return 0;
}
