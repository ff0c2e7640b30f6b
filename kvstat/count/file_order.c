/* Between the threads that read and the figures that need rows in file order. A piece waits in a
 * short sorted list until no thread can still hand in an earlier one. Since the numbers of each
 * thread's pieces only grow, the piece that each thread is at tells this. */
#include "kvstat/count/file_order.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kvstat/count/request_piece.h"

struct file_order_piece {
    uint64_t number, rows;
    struct occupancy occupancy;
    struct request_piece *requests;
    struct sequence_piece *sequences; /* NULL: nothing is followed */
    struct file_order_piece *next;    /* in a list: waiting, by number, or free */
};

struct file_order {
    bool result;
    int64_t warmup_ns;
    unsigned threads;
    pthread_mutex_t lock; /* guards all below; requests and occupancy are used under it */
    pthread_cond_t moved; /* an entry of at[] changed */
    struct file_order_piece *waiting, *free;
    unsigned waiting_count;
    int rc; /* the first error of appending */
    struct requests *requests;
    struct sequences *sequences; /* NULL: nothing is followed */
    struct occupancy occupancy;
    uint64_t at[]; /* by thread: it will hand in no earlier piece */
};

struct file_order *file_order_create(unsigned threads, bool result, int64_t warmup_ns,
                                     struct requests *requests, struct sequences *sequences)
{
    struct file_order *o = calloc(1, sizeof(*o) + threads * sizeof(o->at[0]));
    if (!o)
        return NULL;
    o->result = result;
    o->warmup_ns = warmup_ns;
    o->threads = threads;
    o->requests = requests;
    o->sequences = sequences;
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->moved, NULL);
    return o;
}

static void piece_free(struct file_order_piece *piece)
{
    request_piece_free(piece->requests);
    sequence_piece_free(piece->sequences);
    free(piece);
}

static void list_free(struct file_order_piece *piece)
{
    while (piece) {
        struct file_order_piece *next = piece->next;
        piece_free(piece);
        piece = next;
    }
}

void file_order_free(struct file_order *o)
{
    if (!o)
        return;
    list_free(o->waiting);
    list_free(o->free);
    pthread_cond_destroy(&o->moved);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

static int overflowed(struct err *e)
{
    return err_set(e, -EOVERFLOW, ERR_INPUT, "", "live bytes of a tier do not fit 63 bits");
}

int file_order_add(struct file_order_piece *piece, const struct trace_row *rows, size_t n,
                   struct err *e)
{
    piece->rows += n;
    if (occupancy_add(&piece->occupancy, rows, n) < 0)
        return overflowed(e);
    if (piece->sequences && sequence_piece_add(piece->sequences, rows, n) < 0)
        return err_nomem(e, "series");
    return request_piece_add(piece->requests, rows, n) < 0 ? err_nomem(e, "requests") : 0;
}

/* An empty piece, one that was used before if there is any. NULL: no memory. */
static struct file_order_piece *take_piece(struct file_order *o)
{
    struct file_order_piece *piece = o->free;
    if (piece) {
        o->free = piece->next;
        piece->rows = 0;
        piece->occupancy = (struct occupancy){0};
        piece->next = NULL;
        request_piece_clear(piece->requests);
        if (piece->sequences)
            sequence_piece_clear(piece->sequences);
        return piece;
    }
    piece = calloc(1, sizeof(*piece));
    if (!piece)
        return NULL;
    piece->requests = request_piece_create(o->result, o->warmup_ns);
    if (piece->requests && requests_lists(o->requests))
        request_piece_take_direct(piece->requests);
    if (piece->requests)
        request_piece_take_stops(piece->requests, requests_stops(o->requests));
    if (o->sequences)
        piece->sequences = sequence_piece_create(sequences_by(o->sequences), o->warmup_ns);
    if (!piece->requests || (o->sequences && !piece->sequences)) {
        piece_free(piece);
        return NULL;
    }
    return piece;
}

static uint64_t earliest_possible(const struct file_order *o)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < o->threads; i++)
        least = o->at[i] < least ? o->at[i] : least;
    return least;
}

/* Appends the waiting pieces that no earlier one can follow. */
static void append_ready(struct file_order *o)
{
    uint64_t before = earliest_possible(o);
    while (o->waiting && o->waiting->number < before) {
        struct file_order_piece *piece = o->waiting;
        o->waiting = piece->next;
        o->waiting_count--;
        if (o->rc == 0)
            o->rc = occupancy_append(&o->occupancy, &piece->occupancy);
        if (o->rc == 0)
            o->rc = requests_append(o->requests, piece->requests, piece->rows);
        if (o->rc == 0 && o->sequences)
            o->rc = sequences_append(o->sequences, piece->sequences);
        piece->next = o->free;
        o->free = piece;
    }
}

struct file_order_piece *file_order_next(struct file_order *o, unsigned thread,
                                         struct file_order_piece *filled, uint64_t number)
{
    struct file_order_piece *piece = NULL;

    pthread_mutex_lock(&o->lock);
    if (filled) {
        struct file_order_piece **link = &o->waiting;
        while (*link && (*link)->number < filled->number)
            link = &(*link)->next;
        filled->next = *link;
        *link = filled;
        o->waiting_count++;
    }
    o->at[thread] = number;
    append_ready(o);
    pthread_cond_broadcast(&o->moved);
    /* The thread at the earliest piece never waits here, so the list always gets shorter. */
    while (number != UINT64_MAX && o->waiting_count > o->threads * 2 &&
           earliest_possible(o) != number)
        pthread_cond_wait(&o->moved, &o->lock);
    if (number != UINT64_MAX)
        piece = take_piece(o);
    if (piece)
        piece->number = number;
    pthread_mutex_unlock(&o->lock);
    return piece;
}

int file_order_finish(struct file_order *o, struct occupancy *occupancy, struct err *e)
{
    *occupancy = o->occupancy;
    if (o->rc == -EOVERFLOW)
        return overflowed(e);
    return o->rc < 0 ? err_nomem(e, "requests") : 0;
}
