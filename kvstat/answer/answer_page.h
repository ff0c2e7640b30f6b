/* answer_page.h - an answer as one HTML page: the question, the answer, pictures, and tables. */
#ifndef KVSTAT_ANSWER_ANSWER_PAGE_H
#define KVSTAT_ANSWER_ANSWER_PAGE_H

#include "kvstat/answer/view.h"
#include "lib/base/err.h"

struct answer_page {
    const struct conclusion *conclusion; /* lent */
    enum view view;                      /* not VIEW_COMPARE */
    int argc;                            /* of the program that makes the page */
    char *const *argv;
};

/* Writes the page to path, whole or not at all. Without gnuplot it has no pictures and says so. 0
 * or a negative errno, class ERR_OUTPUT. */
int answer_page_save(const char *path, const struct answer_page *page, struct err *e);

#endif
