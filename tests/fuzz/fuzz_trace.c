/* Rows in memory, without files, threads and pieces (those are in fuzz_trace_files.c). The first
 * byte chooses the columns. What the vectorised parsers accept, the plain one reads as the same
 * row; of text without quotes, every scanner finds the same rows; a refused row has a reason; and a
 * row that was read can be written, packed and read again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trace/csv.h"
#include "lib/trace/csv_scan.h"
#include "lib/trace/format.h"
#include "lib/trace/parse.h"

enum {
    ISAS = CSV_ISA_AVX512 + 1,
    LAYOUTS = 5,
    ROWS = 256,
    /* Longer texts take longer, and show nothing new of rows. */
    TEXT = 4096
};
#define CORE     "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
#define EXTENDED ",Request,User,QoS,Class,Tokens,Arrival,Duration_us"
static const char *const header[LAYOUTS] = {
    CORE "\n",
    CORE EXTENDED "\n",
    CORE EXTENDED ",Due,Eligible,Start,Latency_us,Device_us,Slot_us,Status,First_byte_us,Rank,"
                  "Endpoint,Thread\n",
    "Key,Other,Phase,Tier,Object_Size_Bytes,Operation,Timestamp,Status\n",
    CORE EXTENDED ",Engine\n",
};

static struct {
    struct trace_layout layout[LAYOUTS], written[LAYOUTS]; /* read, and as the writer orders it */
    trace_parse_fn parse[LAYOUTS][ISAS];
    csv_scan_fn scan[ISAS];
    struct csv_index *index[ISAS];
    struct csv *csv, *again;
} fuzz;

struct seen {
    uint64_t sum;
    bool ok;
};

static uint64_t text_sum(uint64_t h, struct trace_str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        h = h * 31 + (unsigned char)s.p[i];
    return h * 33 + s.len;
}

static uint64_t row_sum(const struct trace_row *r)
{
    const struct trace_extra *x = r->extra;
    const int64_t numbers[] = {
        r->time_ns,    (int64_t)r->size, r->op,      r->tier,          r->phase,
        r->qos,        r->class,         r->status,  r->request,       r->tokens,
        r->arrival_ns, r->duration_ns,   r->due_ns,  r->start_ns,      r->eligible_ns,
        r->latency_ns, r->device_ns,     x->slot_ns, x->first_byte_ns, x->rank,
        x->queue_ns,   x->drive_ns,      r->engine};
    uint64_t h = 1;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        h = h * 41 + (uint64_t)numbers[i];
    h = text_sum(text_sum(h, r->key), r->user);
    return text_sum(text_sum(h, x->endpoint), x->thread);
}

static void clear(struct trace_row *row, struct trace_extra *extra)
{
    trace_row_clear(row);
    trace_extra_clear(extra);
    row->extra = extra;
}

static void layout_of(struct trace_layout *l, const char *text, size_t len)
{
    struct csv_row row;
    struct err e = {0};

    csv_set(fuzz.csv, text, len);
    if (csv_next(fuzz.csv, &row, &e) != 1 || trace_layout_init(l, &row, "fuzz", &e) < 0)
        abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    char text[1024];

    fuzz.csv = csv_create();
    fuzz.again = csv_create();
    if (!fuzz.csv || !fuzz.again)
        abort();
    for (unsigned i = 0; i < LAYOUTS; i++) {
        layout_of(&fuzz.layout[i], header[i], strlen(header[i]));
        const struct trace_format f = {.columns = fuzz.layout[i].present};
        layout_of(&fuzz.written[i], text, trace_format_header(&f, NULL, 0, text));
    }
    for (int isa = 0; isa < ISAS; isa++) {
        if (csv_force_isa((enum csv_isa)isa) < 0)
            continue;
        fuzz.scan[isa] = csv_scan_pick();
        fuzz.index[isa] = malloc(sizeof(*fuzz.index[isa]));
        for (unsigned i = 0; i < LAYOUTS; i++)
            fuzz.parse[i][isa] = trace_parse_pick(&fuzz.layout[i]);
    }
    return 0;
}

/* A row that was read, written and packed is the same row. */
static void round_trip(unsigned layout, const struct trace_row *row, uint64_t sum)
{
    static char text[TEXT * 8 + 4096];
    const struct trace_format f = {.columns = fuzz.layout[layout].present};
    struct trace_extra extra;
    struct trace_row back;
    struct csv_row fields;
    size_t packed;

    if (trace_format_bound(row) > sizeof(text))
        abort(); /* of a text of this length */
    clear(&back, &extra);
    packed = trace_pack(&f, row, text);
    if (packed > 3 * trace_format_estimate(&f, row) ||
        trace_unpack(&f, text, &back, &extra) != packed)
        abort();
    back.extra = &extra; /* NULL: no such columns */
    if (row_sum(&back) != sum)
        abort();
    csv_set(fuzz.again, text, trace_format_row(&f, row, text));
    clear(&back, &extra);
    if (csv_next(fuzz.again, &fields, NULL) != 1 ||
        !trace_parse_fields(&fuzz.written[layout], fields.field, &back) || row_sum(&back) != sum)
        abort();
}

/* Row by row with the plain parser, which is the judge of the others. Returns the number of rows.
 */
static unsigned read_plain(unsigned layout, const char *text, size_t len, struct seen *seen)
{
    const struct trace_layout *l = &fuzz.layout[layout];
    struct csv_row row;
    struct trace_row t;
    struct trace_extra extra;
    unsigned n = 0;
    char why[256];
    int rc;

    csv_set(fuzz.csv, text, len);
    while (n < ROWS && (rc = csv_next(fuzz.csv, &row, NULL)) != 0) {
        clear(&t, &extra);
        seen[n].ok = rc == 1 && row.count == l->fields && trace_parse_fields(l, row.field, &t);
        seen[n].sum = seen[n].ok ? row_sum(&t) : 0;
        why[0] = '\0';
        if (rc == 1 && !seen[n].ok)
            trace_parse_explain(l, &row, why, sizeof(why));
        if (rc == 1 && !seen[n].ok && !why[0])
            abort();
        if (seen[n].ok)
            round_trip(layout, &t, seen[n].sum);
        n++;
    }
    return n;
}

/* The same of text without quotes by an index: rows begin behind newlines, blank lines are none. */
static void read_index(unsigned layout, int isa, const char *text, size_t len,
                       const struct seen *seen, unsigned rows)
{
    const struct trace_layout *l = &fuzz.layout[layout];
    struct csv_index *ix = fuzz.index[isa];
    uint32_t begin = 0;
    unsigned n = 0;

    if (fuzz.scan[isa](ix, text, len) != len || ix->quote)
        abort();
    for (size_t k = 0; k < ix->count && n < rows;) {
        size_t last = k;
        while (last < ix->count && ix->sep[last] != '\n')
            last++;
        if (last == ix->count)
            abort(); /* the text ends with a newline */
        uint32_t end = ix->pos[last];
        bool cr = end > begin && text[end - 1] == '\r', blank = end == begin + cr;
        if (!blank) {
            struct trace_extra extra;
            struct trace_row t;
            clear(&t, &extra);
            ix->pos[last] -= cr;
            bool ok = last - k + 1 == l->fields &&
                      fuzz.parse[layout][isa](l, text, begin, ix->pos + k, &t);
            ix->pos[last] = end;
            /* Without vectors it is the same; with them, unusual forms are left to the other. */
            if ((ok && (!seen[n].ok || row_sum(&t) != seen[n].sum)) ||
                (isa == CSV_ISA_PORTABLE && ok != seen[n].ok))
                abort();
            n++;
        }
        begin = end + 1;
        k = last + 1;
    }
    if (n != rows)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct seen seen[ROWS];

    if (size < 2 || size > TEXT)
        return 0;
    unsigned layout = data[0] % LAYOUTS, rows;
    char *text = malloc(size + TRACE_TEXT_PAD);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\n';
    memset(text + size, 0, TRACE_TEXT_PAD);
    rows = read_plain(layout, text, size, seen);
    for (int isa = 0; isa < ISAS && !memchr(text, '"', size); isa++) {
        if (fuzz.scan[isa])
            read_index(layout, isa, text, size, seen, rows);
    }
    free(text);
    return 0;
}
