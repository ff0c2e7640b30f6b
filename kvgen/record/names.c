/* Turns recorded names and hashes into keyed ones, while they are parsed: nothing behind the
 * parsers sees the recorded ones. */
#include "kvgen/record/names.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/base/descriptors.h"

enum {
    LEAST = 16, /* bytes of a key file */
    MOST = 1 << 20,
    MADE = 32 /* bytes of one that is made here */
};

static int draw(void *p, size_t len, struct err *e)
{
    if (getrandom(p, len, 0) == (ssize_t)len)
        return 0;
    return err_errno(e, -errno, ERR_FAILED, "--names", "no random key");
}

/* A new file with a random key. */
static int make(const char *path, struct err *e)
{
    unsigned char key[MADE];
    int rc = draw(key, sizeof(key), e);
    if (rc < 0)
        return rc;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, -errno, ERR_OUTPUT, path, "cannot be made");
    ssize_t n = write(fd, key, sizeof(key));
    rc = n < 0 ? -errno : n < (ssize_t)sizeof(key) ? -ENOSPC : 0;
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    if (rc < 0) {
        unlink(path);
        return err_errno(e, rc, ERR_OUTPUT, path, "cannot be written");
    }
    return 0;
}

static int load(struct hash_stream *s, const char *path, struct err *e)
{
    unsigned char buf[4096];
    size_t len = 0;
    ssize_t n;
    int fd = descriptors_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, fd, ERR_INPUT, path, "cannot be read");
    while ((n = descriptors_read(fd, buf, sizeof(buf))) > 0 && len <= MOST) {
        hash_stream_add(s, buf, (size_t)n);
        len += (size_t)n;
    }
    int rc = n < 0 ? (int)n : 0;
    close(fd);
    if (rc < 0)
        return err_errno(e, rc, ERR_INPUT, path, "cannot be read");
    if (len < LEAST || len > MOST)
        return err_set(e, -EINVAL, ERR_INPUT, path, "a key has 16 bytes to 1 MiB");
    return 0;
}

int names_init(struct names *n, const char *path, struct err *e)
{
    if (!path)
        return draw(n->key, sizeof(n->key), e);
    int rc = access(path, F_OK) < 0 && errno == ENOENT ? make(path, e) : 0;
    struct hash_stream *s = rc == 0 ? hash_stream_create() : NULL;
    if (rc == 0)
        rc = s ? load(s, path, e) : err_nomem(e, "key");
    if (rc == 0) {
        struct hash128 h = hash_stream_digest(s);
        n->key[0] = h.lo;
        n->key[1] = h.hi;
    }
    hash_stream_free(s);
    return rc;
}

/* ---- SipHash-2-4-128 ---- */

static uint64_t rotate(uint64_t x, int b)
{
    return x << b | x >> (64 - b);
}

static inline __attribute__((always_inline)) void round_once(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static inline __attribute__((always_inline)) void take_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    round_once(v);
    round_once(v);
    v[0] ^= word;
}

static inline __attribute__((always_inline)) uint64_t finish(uint64_t v[4])
{
    for (int i = 0; i < 4; i++)
        round_once(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* len bytes, fewer than 8, in little endian. */
static uint64_t load_rest(const unsigned char *p, size_t len)
{
    uint64_t w = 0;
    for (size_t i = 0; i < len; i++)
        w |= (uint64_t)p[i] << (8 * i);
    return w;
}

static inline __attribute__((always_inline)) void begin(const struct names *n, uint64_t v[4])
{
    v[0] = n->key[0] ^ UINT64_C(0x736f6d6570736575);
    v[1] = n->key[1] ^ UINT64_C(0x646f72616e646f6d) ^ 0xee;
    v[2] = n->key[0] ^ UINT64_C(0x6c7967656e657261);
    v[3] = n->key[1] ^ UINT64_C(0x7465646279746573);
}

struct hash128 names_hash(const struct names *n, const void *p, size_t len)
{
    const unsigned char *at = p;
    struct hash128 h;
    uint64_t v[4];
    size_t left = len;
    begin(n, v);
    for (; left >= 8; left -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        take_word(v, le64toh(word));
    }
    take_word(v, load_rest(at, left) | (uint64_t)len << 56);
    v[2] ^= 0xee;
    h.lo = finish(v);
    v[1] ^= 0xdd;
    h.hi = finish(v);
    return h;
}

struct hash128 names_publisher(const struct names *n, uint32_t source, const void *topic,
                               size_t len)
{
    struct {
        struct hash128 name;
        uint64_t source;
    } key = {names_hash(n, topic, len), source};
    return names_hash(n, &key, sizeof(key));
}

uint64_t names_number(const struct names *n, uint64_t number)
{
    uint64_t v[4];
    begin(n, v);
    take_word(v, number);
    take_word(v, (uint64_t)sizeof(number) << 56);
    v[2] ^= 0xee;
    return finish(v);
}

uint64_t names_fingerprint(const struct names *n)
{
    static const char text[] = "kvtrace key of names";
    uint64_t fingerprint = names_hash(n, text, sizeof(text)).lo;
    return fingerprint > 0 ? fingerprint : 1;
}
