/* test_s3_xml.c - answers of an object store in XML. Expected: what a server may send is read, with
 * its entities; whatever is cut, nests wrongly, repeats or is no such document is an error. A bug
 * looked like a page of HTML that was taken for an empty listing, or a key of many "&amp;" that hid
 * itself and all keys behind it. */
/* builds: plain address arm64 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/remote/s3_xml.h"

static char keys[8192]; /* those of a page, a line each */

static int note(void *ctx, const char *key, bool longer, uint64_t size)
{
    size_t len = strlen(keys);

    (void)ctx;
    if (size == UINT64_MAX)
        snprintf(keys + len, sizeof(keys) - len, "%s%s\n", key, longer ? "..." : "");
    else
        snprintf(keys + len, sizeof(keys) - len, "%s%s %llu\n", key, longer ? "..." : "",
                 (unsigned long long)size);
    return strcmp(key, "stop") == 0 ? -ECANCELED : 0;
}

/* The text in a block of its own, so that a sanitizer sees what is read past its end. */
static int read_page(struct s3_page *p, const char *text, size_t len)
{
    char *own = malloc(len ? len : 1);

    assert_non_null(own);
    memcpy(own, text, len);
    keys[0] = '\0';
    int rc = s3_page_read(p, own, len, note, NULL);
    free(own);
    return rc;
}

static void page(const char *text, const char *expected, const char *token)
{
    struct s3_page p;

    assert_int_equal(read_page(&p, text, strlen(text)), 0);
    assert_string_equal(keys, expected);
    assert_int_equal(p.more, token != NULL);
    if (token)
        assert_string_equal(p.token, token);
}

static void no_page(const char *text, const char *why)
{
    struct s3_page p;
    int rc = read_page(&p, text, strlen(text));

    if (rc != -EBADMSG || !strstr(p.wrong, why))
        fail_msg("%s: %d, %s", text, rc, rc == -EBADMSG ? p.wrong : "");
}

#define LIST(inside) "<ListBucketResult>" inside "</ListBucketResult>"
#define END          "<IsTruncated>false</IsTruncated>"
#define KEY(name)    "<Contents><Key>" name "</Key></Contents>"

static void pages(void **state)
{
    (void)state;
    page(LIST(END), "", NULL);
    page("\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- <x> -->\n"
         "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\" a = "
         "'b>'><Name>b</Name>"
         "<Prefix/><Contents><Key>p/a</Key><Owner><ID>x</ID></Owner><Size>12</Size></Contents>"
         "<Contents >\n<Key>p/b</Key ></Contents><KeyCount>2</KeyCount>" END
         "</ListBucketResult>\n<!-- end -->\n",
         "p/a 12\np/b\n", NULL);
    page(LIST(KEY("a&amp;&lt;&gt;&quot;&apos;&#38;&#x26;&#xE9;&#x20AC;&#x1F600;&#1;")
                  KEY("x<!-- y -->z") "<IsTruncated>true</IsTruncated>"
                                      "<NextContinuationToken>1/&amp;+=</NextContinuationToken>"),
         "a&<>\"'&&\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\x01\nxz\n", "1/&+=");
    /* A token of a page that is the last one is nobody's. */
    page(LIST(END "<NextContinuationToken>t</NextContinuationToken>"), "", NULL);
}

static void long_keys(void **state)
{
    static const char amp[] = "&amp;";
    char text[8192] = "<ListBucketResult>" KEY("a") "<Contents><Key>", expected[2048] = "a\n";
    struct s3_page p;

    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        strcat(text, amp);
        strcat(expected, "&");
    }
    strcat(text, "</Key></Contents>" KEY("b") END "</ListBucketResult>");
    strcat(expected, "\nb\n");
    page(text, expected, NULL);
    /* One that is longer than any key is handed out all the same, and said to be cut. */
    size_t head = (size_t)snprintf(text, sizeof(text), "<ListBucketResult><Contents><Key>");
    memset(text + head, 'k', S3_KEY_CAP);
    text[head + S3_KEY_CAP] = '\0';
    strcat(text, "</Key></Contents>" KEY("b") END "</ListBucketResult>");
    assert_int_equal(read_page(&p, text, strlen(text)), 0);
    assert_int_equal(strlen(keys), S3_KEY_CAP - 1 + strlen("...\nb\n"));
    assert_non_null(strstr(keys, "k...\nb\n"));
}

static void what_is_no_page(void **state)
{
    static const char good[] = LIST(KEY("a") "<IsTruncated>true</IsTruncated>"
                                             "<NextContinuationToken>t</NextContinuationToken>");
    struct s3_page p;

    (void)state;
    for (size_t n = 0; n < sizeof(good) - 1; n++)
        assert_int_equal(read_page(&p, good, n), -EBADMSG);
    assert_int_equal(read_page(&p, good, sizeof(good) - 1), 0);
    assert_int_equal(read_page(&p, good, sizeof(good)), -EBADMSG); /* a NUL behind it */
    no_page("", "cut");
    no_page("  \n", "cut");
    no_page("all is well", "not XML");
    no_page("<html><body>Welcome</body></html>", "not a ListBucketResult");
    no_page("<!DOCTYPE html><html></html>", "not XML");
    no_page("<Error><Code>X</Code></Error>", "not a ListBucketResult");
    no_page(LIST(END) LIST(END), "not XML");
    no_page(LIST(END) "x", "not XML");
    no_page(LIST("<a></b>" END), "not XML");
    no_page(LIST("<a b></a>" END), "not XML");
    no_page(LIST("<a b=c></a>" END), "not XML");
    no_page(LIST("<a b='<'></a>" END), "not XML");
    no_page(LIST("<a b='1'c='2'></a>" END), "not XML");
    no_page(LIST("<![CDATA[x]]>" END), "not XML");
    no_page(LIST("<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>"), "not XML");
    no_page(LIST(KEY("a")), "IsTruncated");
    no_page(LIST("<IsTruncated>maybe</IsTruncated>"), "IsTruncated");
    no_page(LIST("<IsTruncated/>"), "IsTruncated");
    no_page(LIST(END END), "repeated");
    no_page(LIST("<IsTruncated>true</IsTruncated>"), "token");
    no_page(LIST("<IsTruncated>true</IsTruncated><NextContinuationToken/>"), "token");
    no_page(LIST(KEY("a") "<KeyCount>2</KeyCount>" END), "KeyCount");
    no_page(LIST("<KeyCount>many</KeyCount>" END), "KeyCount");
    no_page(LIST("<Contents></Contents>" END), "no key");
    no_page(LIST(KEY("") END), "no key");
    no_page(LIST("<Contents><Key>a</Key><Key>b</Key></Contents>" END), "repeated");
    no_page(LIST("<Contents><Key>a</Key><Size>-1</Size></Contents>" END), "size");
    no_page(LIST(KEY("a&nbsp;b") END), "entity");
    no_page(LIST(KEY("a&amp") END), "entity");
    no_page(LIST(KEY("a&#0;") END), "entity");
    no_page(LIST(KEY("a&#xD800;") END), "entity");
    no_page(LIST(KEY("a&#x110000;") END), "entity");
    no_page(LIST(KEY("a&#99999999999;") END), "entity");
    no_page(LIST(KEY("a&#;") END), "entity");
    no_page(LIST(KEY("a&#x;") END), "entity");
    no_page(LIST("<EncodingType>url</EncodingType>" END), "EncodingType");
    no_page(LIST("<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes>" END), "CommonPrefixes");
    assert_int_equal(read_page(&p, LIST(KEY("stop") END), sizeof(LIST(KEY("stop") END)) - 1),
                     -ECANCELED);
}

static int find(const char *text, const char *path, char *to, size_t cap)
{
    return s3_xml_find(text, strlen(text), path, to, cap);
}

static void elements(void **state)
{
    char to[8];

    (void)state;
    assert_int_equal(find("<Error><Code>Slow</Code></Error>", "Error/Code", to, sizeof(to)), 0);
    assert_string_equal(to, "Slow");
    assert_int_equal(find(" \n<?xml?> <E><C>1&amp;<!-- 2 -->3</C></E>", "E/C", to, sizeof(to)), 0);
    assert_string_equal(to, "1&3");
    assert_int_equal(find("<E><C>1234567</C></E>", "E/C", to, sizeof(to)), 0);
    assert_int_equal(find("<E><C>12345678</C></E>", "E/C", to, sizeof(to)), -ENAMETOOLONG);
    assert_string_equal(to, "1234567");
    assert_int_equal(find("<E><D>1</D></E>", "E/C", to, sizeof(to)), -ENOENT);
    assert_int_equal(find("<E/>", "E/C", to, sizeof(to)), -ENOENT);
    assert_int_equal(find("<E><D><C>deeper</C></D></E>", "E/C", to, sizeof(to)), -ENOENT);
    assert_int_equal(find("<E><C/></E>", "E/C", to, sizeof(to)), 0);
    assert_string_equal(to, "");
    assert_int_equal(find("<E><C>1</C><C>2</C></E>", "E/C", to, sizeof(to)), -EBADMSG);
    assert_int_equal(find("<F><C>1</C></F>", "E/C", to, sizeof(to)), -EBADMSG);
    assert_int_equal(find("<E><C>1</C>", "E/C", to, sizeof(to)), -EBADMSG);
    assert_int_equal(find("<Ex><C>1</C></Ex>", "E/C", to, sizeof(to)), -EBADMSG);
    assert_int_equal(find("<E><Cx>1</Cx></E>", "E/C", to, sizeof(to)), -ENOENT);
    assert_int_equal(find("", "E/C", to, sizeof(to)), -EBADMSG);
    /* A root alone asks whether it is such a document. */
    assert_int_equal(find("<E><C>1</C></E>", "E", to, sizeof(to)), 0);
    assert_int_equal(find("<html></html>", "E", to, sizeof(to)), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages),
        cmocka_unit_test(long_keys),
        cmocka_unit_test(what_is_no_page),
        cmocka_unit_test(elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
