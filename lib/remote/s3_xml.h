/* Reads an object store's answers in XML, strictly: an answer is whole and well-formed, or it is an
 * error. Nothing is copied or allocated but what the caller has room for, whatever the text says.
 * Of XML there is what such servers send: elements, attributes (not looked at), text with its
 * entities, comments and a declaration at the head; no DOCTYPE, no CDATA. Source: W3C, Extensible
 * Markup Language 1.0; Amazon S3 API Reference. */
#ifndef KVTRACE_REMOTE_S3_XML_H
#define KVTRACE_REMOTE_S3_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    S3_XML_DEPTH = 16,   /* elements inside each other */
    S3_KEY_CAP = 1100,   /* of a key; S3 has keys of up to 1024 bytes */
    S3_TOKEN_CAP = 2048, /* of what the server calls an upload or the next page */
};

/* ---- the reader ---- */

/* Plain state. The text is the caller's, and stays as long as the reader. */
struct s3_xml {
    const char *at, *end;
    unsigned depth;
    struct {
        const char *name;
        size_t len;
    } open[S3_XML_DEPTH];
    const char *text; /* of S3_XML_TEXT, as it stands */
    size_t text_len;
    bool rooted; /* the root element has begun */
    bool empty;  /* <NAME/>: its end comes next */
    bool closed; /* the last event was S3_XML_CLOSE */
};

enum s3_xml_event {
    S3_XML_DONE, /* the document has ended as it should */
    S3_XML_OPEN, /* an element begins: it is the innermost one */
    S3_XML_TEXT, /* of the innermost element; not empty. Several may follow each other */
    S3_XML_CLOSE /* the innermost element ends; it is still open[depth - 1] */
};

void s3_xml_begin(struct s3_xml *x, const char *text, size_t len);
/* The next event (enum s3_xml_event), or -EBADMSG: the text is not well-formed, is cut, or nests
 * too deep. Not to be called after that, or after S3_XML_DONE. */
int s3_xml_next(struct s3_xml *x);
/* Appends the text of S3_XML_TEXT to to, which holds *len bytes and a NUL in cap; *len becomes what
 * all of it takes, also where that is more than fits (to then holds the beginning). -EBADMSG: an
 * entity that is none. */
int s3_xml_append(const struct s3_xml *x, char *to, size_t cap, size_t *len);

/* ---- answers ---- */

/* The text of the element ROOT/NAME of a document with that root, into to, NUL-terminated. 0;
 * -ENOENT: there is none; -EBADMSG: no such document, or the element is there twice;
 * -ENAMETOOLONG: it does not fit, and to holds its beginning. */
int s3_xml_find(const char *text, size_t len, const char *path, char *to, size_t cap);

/* A page of a listing. */
struct s3_page {
    bool more;                /* another page follows: that of token */
    char token[S3_TOKEN_CAP]; /* "": none */
    uint64_t keys;
    const char *wrong; /* with -EBADMSG: what is wrong with it, for a message */
};
/* Reads a page and hands each key to take, with the size of the object (UINT64_MAX: not said). A
 * key that does not fit into S3_KEY_CAP is cut, and longer says so. take returns 0, or a negative
 * errno, which ends the reading. 0; -EBADMSG with p->wrong: it is no page of a listing, or not all
 * of one; what take returned. Keys were handed out before that. */
int s3_page_read(struct s3_page *p, const char *text, size_t len,
                 int (*take)(void *ctx, const char *key, bool longer, uint64_t size), void *ctx);

#endif
