#!/bin/sh
# each_silent.t - a command of --each that writes nothing ends the run with an error, and so does a signal meanwhile. A bug
# looked like a wait without end.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

exits "a command that says nothing" 1 timeout -k 5 60 "$BIN/kvreplay" --autoscale capacity --each 'sleep 300' \
    --config each_timeout=300ms --null
stderr_like "named, with the option" \
    '^kvreplay: .*--each: the command has written nothing for 300 ms [(]--config each_timeout allows more[)]'
exits "a signal ends the wait" 124 timeout --foreground -k 60 -s INT 1 "$BIN/kvreplay" --autoscale capacity \
    --each 'sleep 300' --null
done_testing
