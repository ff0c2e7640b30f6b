/* The scanner and csv_next against libcsv over the whole text: same verdict, same fields; and the
 * instruction sets against each other. The first byte picks the set. */
#include <csv.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trace/csv.h"
#include "lib/trace/csv_scan.h"

struct shown {
    char *p;
    size_t len;
};

static void show_field(void *field, size_t len, void *ctx)
{
    struct shown *s = ctx;
    s->p[s->len++] = '[';
    if (len)
        memcpy(s->p + s->len, field, len);
    s->len += len;
    s->p[s->len++] = ']';
}

static void show_row(int c, void *ctx)
{
    struct shown *s = ctx;
    (void)c;
    s->p[s->len++] = ';';
}

static int no_space(unsigned char c)
{
    (void)c;
    return 0;
}

static int is_newline(unsigned char c)
{
    return c == '\n';
}

static bool show_libcsv(const char *text, size_t len, struct shown *s)
{
    struct csv_parser p;
    csv_init(&p, CSV_STRICT | CSV_STRICT_FINI);
    csv_set_space_func(&p, no_space);
    csv_set_term_func(&p, is_newline);
    bool ok = csv_parse(&p, text, len, show_field, show_row, s) == len &&
              csv_fini(&p, show_field, show_row, s) == 0;
    csv_free(&p);
    return ok;
}

enum verdict {
    BAD,
    SOUND,
    OVER_LIMITS
};

/* All rows, bad ones skipped. A row over our limits is one that libcsv, which has none, may like.
 */
static enum verdict show_ours(const char *text, size_t len, struct shown *s)
{
    struct csv *c = csv_create();
    struct csv_row row;
    struct err e = {0};
    bool ok = true, over = false;
    uint64_t line = 0;
    if (!c)
        abort();
    csv_set(c, text, len);
    for (;;) {
        int rc = csv_next(c, &row, &e);
        if (rc == 0)
            break;
        if (row.number < line)
            abort();
        line = row.number;
        ok &= rc == 1;
        over |= rc == -E2BIG;
        for (size_t i = 0; rc == 1 && i < row.count; i++)
            show_field((void *)(uintptr_t)row.field[i].p, row.field[i].len, s);
        if (rc == 1)
            show_row(0, s);
    }
    csv_close(c);
    if (over)
        return OVER_LIMITS;
    return ok ? SOUND : BAD;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || csv_force_isa((enum csv_isa)(data[0] % 3)))
        return 0;
    char *text = malloc(size);
    size_t len = 0;
    /* A CR that ends a row belongs to its end for us, to its last field for this oracle. */
    for (size_t i = 1; i < size; i++)
        if (data[i] != '\r')
            text[len++] = (char)data[i];
    struct shown a = {malloc(size * 4 + 16), 0}, b = {malloc(size * 4 + 16), 0};
    bool sound = show_libcsv(text, len, &a);
    enum verdict ours = show_ours(text, len, &b);
    if (ours != OVER_LIMITS && sound != (ours == SOUND))
        abort();
    if (sound && ours == SOUND && (a.len != b.len || memcmp(a.p, b.p, a.len) != 0))
        abort();
    if (csv_last_row_end(text, len) > len)
        abort();
    free(a.p);
    free(b.p);
    free(text);
    return 0;
}
