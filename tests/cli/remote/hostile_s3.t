#!/bin/sh
# hostile_s3.t - a server that answers what no object store would, in each kind of request: HTML, nothing, XML that is cut or
# means something else, headers, bodies and listings without end, a byte now and then, the keys sent back. Each ends with a
# word of why, within --config timeout and five seconds, in bounded memory, and no secret is told. A bug looked like "all ok" after a
# listing that was a page of HTML, with all objects left behind, or a run that a byte a second kept for hours.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
why=$(no_s3)
[ -z "$why" ] || skip_all "$why"

hostile s3 kvreplay 80
done_testing
