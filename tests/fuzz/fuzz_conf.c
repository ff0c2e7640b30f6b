/* Any bytes as a configuration file: refused with one line that names a place, or read so that
 * every key answers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/conf/conf.h"
#include "lib/model/find.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct conf *c)
{
    const char *name;
    struct model m;

    if (conf_i64(c, "decode.batch_size") < 1 || conf_f64(c, "eviction.target_usage_ratio") > 1)
        abort();
    for (size_t i = 0; (name = conf_name(c, "model_configs", i)) != NULL; i++) {
        struct err e = {0};
        if (model_find(&m, name, c, NULL, &e) == 0 && model_bytes_per_token(&m) > (uint64_t)1 << 48)
            abort();
    }
    for (size_t i = 0; conf_warning(c, i); i++)
        if (!strstr(conf_warning(c, i), ": key "))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("conf", MFD_CLOEXEC);
    struct conf *c = NULL;
    struct err e = {0};
    char path[64];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (conf_open(&c, path, &e) == 0)
        ask(c);
    else if (e.code == 0 || e.where[0] == '\0' || e.what[0] == '\0')
        abort();
    conf_free(c);
    close(fd);
    return 0;
}
