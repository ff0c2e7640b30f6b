/* answer_knee.h - of the drive that an answer is about: how many objects in flight it takes before
 * more only wait, and how many the load keeps. */
#ifndef KVSTAT_ANSWER_ANSWER_KNEE_H
#define KVSTAT_ANSWER_ANSWER_KNEE_H

#include "kvstat/answer/answer.h"

/* One ladder of the drive's points: of the size that has the most of them, and of the mix that is
 * nearest to the load's. */
struct answer_knee {
    double size_bytes, read_share;
    bool found; /* false: the last step still gave more, and what follows is that step */
    double in_flight, bytes_s;
    double p95_s; /* of an object; NAN: not known */
};

/* The size of objects whose points are drawn and searched for a knee. NAN: none has two. */
double answer_knee_size(const struct answer *a);
/* The points of that size and mix by objects in flight. Returns how many there are: 0, too, when
 * there is no memory. *point is the caller's to free. */
size_t answer_knee_ladder(struct answer_point **point, const struct answer *a, double size,
                          double read_share);
/* The knee is the first step that ladder_knee_below makes one, here without intervals. False: there
 * are no two points. */
bool answer_knee_find(struct answer_knee *k, const struct answer *a);

#endif
