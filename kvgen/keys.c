/* keys.c - texts beside the store of objects: the hierarchy knows identities, and rows about an
 * object that is moved or deleted need its key. */
#include "kvgen/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/sim/objects.h"
#include "lib/base/hash.h"

struct keys {
    struct objects *objects;
    struct trace_str *text; /* by number in objects */
    size_t cap;
};

struct keys *keys_create(void)
{
    struct keys *k = calloc(1, sizeof(*k));
    if (k && !(k->objects = objects_create())) {
        free(k);
        k = NULL;
    }
    return k;
}

void keys_free(struct keys *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->cap; i++)
        free((char *)(uintptr_t)k->text[i].p);
    free(k->text);
    objects_free(k->objects);
    free(k);
}

struct ident keys_ident(struct trace_str key)
{
    struct hash128 h = hash_128(key.p, key.len);
    return ident_text(h.hi, h.lo);
}

static int make_room(struct keys *k, uint32_t number)
{
    if (number < k->cap)
        return 0;
    size_t cap = k->cap * 2 > number ? k->cap * 2 : (size_t)number + 1024;
    struct trace_str *grown = realloc(k->text, cap * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    memset(grown + k->cap, 0, (cap - k->cap) * sizeof(*grown));
    k->text = grown;
    k->cap = cap;
    return 0;
}

int keys_hold(struct keys *k, struct ident id, struct trace_str key)
{
    uint32_t number;
    if (objects_add(k->objects, id, &number) < 0)
        return -ENOMEM;
    char *copy = make_room(k, number) < 0 ? NULL : malloc((size_t)key.len + 1);
    if (!copy) {
        objects_remove(k->objects, number);
        return -ENOMEM;
    }
    if (key.len > 0)
        memcpy(copy, key.p, key.len);
    k->text[number].p = copy;
    k->text[number].len = key.len;
    return 0;
}

struct trace_str keys_text(const struct keys *k, struct ident id)
{
    uint32_t number = objects_find(k->objects, id);
    struct trace_str none = {0};
    return number == OBJECT_NONE ? none : k->text[number];
}

void keys_drop(struct keys *k, struct ident id)
{
    uint32_t number = objects_find(k->objects, id);
    free((char *)(uintptr_t)k->text[number].p);
    k->text[number] = (struct trace_str){0};
    objects_remove(k->objects, number);
}
