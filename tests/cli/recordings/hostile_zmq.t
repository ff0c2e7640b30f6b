#!/bin/sh
# hostile_zmq.t - publishers of KV events and replay sockets that say what no engine says: media, messages, frames, numbers,
# times and greetings that are wrong, too large, without end or a byte a second. What is good before and behind them becomes
# rows; the rest is counted, and told by the exit status; memory is bounded. A bug looked like an output that was removed, a
# publisher that was never heard again, or memory of 4 GB.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
# shellcheck source=tests/recordings.sh
. "$TOP/tests/recordings.sh"
command -v python3 >/dev/null || skip_all 'no python3, which plays the engine'
! without_libzmq || skip_all 'built without libzmq'

hostile zmq kvgen 50 5 # after the end of --duration
is 'of a message that is too large there is no row' "$(grep -c ,Write, __config_max_message_2kib_and_one_of_4_kib.csv)" 4
# What is noted of them.
is 'an unknown medium is in the capture' "$(grep -c '"medium":"SOMEWARE"' an_unknown_medium.jsonl)" 1
is 'a damaged message, too' "$(grep -c '"damage":"no MessagePack' no_messagepack.jsonl)" 1
is 'no escape is' "$(grep -c "$(printf '\033')" a_medium_with_an_escape.jsonl)" 0
exits 'the capture can be read with that medium' 0 "$BIN/kvgen" -m tiny-1b --no-notes --config medium=SOMEWARE=2 \
    --input an_unknown_medium.jsonl -o again.csv
is 'and gives its rows' "$(grep -c Tier-2 again.csv)" 1
done_testing
