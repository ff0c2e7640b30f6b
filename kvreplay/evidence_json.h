/* The evidence and what was judged from it, as members of the summary. */
#ifndef KVREPLAY_EVIDENCE_JSON_H
#define KVREPLAY_EVIDENCE_JSON_H

#include "kvreplay/evidence.h"
#include "kvreplay/validity.h"
#include "lib/json/jsonout.h"

/* Puts the facts of the evidence, and those of the drive's own log. */
void evidence_put(struct facts *f, const struct evidence *ev);
/* "evidence", "drive_times", "gaps", "scheduler_gaps" and "gaps_more". */
void evidence_json(struct jsonout *j, const struct facts *f, const struct evidence *ev);
/* "why_invalid", "validity", "notes". */
void validity_json(struct jsonout *j, const struct validity *v);

#endif
