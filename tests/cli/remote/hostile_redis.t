#!/bin/sh
# hostile_redis.t - a server that answers what no Redis would: at each command that kvreplay has, answers of another type or
# shape, longer than they may be, without end, a byte a second, or none. Each ends with a word of why, within --config timeout and
# five seconds, and in bounded memory. A bug looked like a crash on a name that was nil, 15 seconds for an array of 2^31
# elements, 10 GB of memory, or a listing that never ended.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
command -v python3 >/dev/null || skip_all 'no python3, which plays the server'
! made_without hiredis redis+unix:none || skip_all 'built without hiredis'

hostile redis kvreplay 50 6
done_testing
