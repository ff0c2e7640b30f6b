/* fuzz_s3_xml.c - any answer of an object store: events pair up and the text stays within the
 * answer; a page of a listing that is taken says all that a page says. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/remote/s3_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int truth)
{
    if (!truth)
        abort();
}

static int take(void *ctx, const char *key, bool longer, uint64_t size)
{
    (void)size;
    need(key[0] != '\0' && strlen(key) < S3_KEY_CAP);
    need(!longer || strlen(key) > S3_KEY_CAP - 2);
    ++*(uint64_t *)ctx;
    return 0;
}

static void events(const char *text, size_t len)
{
    struct s3_xml x;
    unsigned depth = 0, steps = 0;
    int event;
    char own[16] = "";

    s3_xml_begin(&x, text, len);
    while ((event = s3_xml_next(&x)) > 0) {
        size_t chars = 0;
        need(++steps <= 2 * len); /* each moves on; <a/> has two */
        depth += event == S3_XML_OPEN;
        need(x.depth == depth && depth >= 1 && depth <= S3_XML_DEPTH);
        depth -= event == S3_XML_CLOSE;
        if (event == S3_XML_TEXT) {
            need(x.text_len > 0 && x.text >= text && x.text + x.text_len <= text + len);
            (void)s3_xml_append(&x, own, sizeof(own), &chars);
            need(strlen(own) < sizeof(own));
            own[0] = '\0';
        }
    }
    need(event == S3_XML_DONE ? depth == 0 : event == -EBADMSG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1), to[40];
    struct s3_page p;
    uint64_t keys = 0;

    if (!text)
        abort();
    memcpy(text, data, size);
    events(text, size);
    int rc = s3_page_read(&p, text, size, take, &keys);
    need(rc == 0 ? !p.wrong && (!p.more || p.token[0]) && keys == p.keys : p.wrong != NULL);
    rc = s3_xml_find(text, size, "Error/Code", to, sizeof(to));
    need((rc == 0 || rc == -ENOENT || rc == -EBADMSG || rc == -ENAMETOOLONG) && strlen(to) < 40);
    free(text);
    return 0;
}
