#!/bin/sh
# fill.t - kvprecond over several targets: each gets its bytes, with contents of its own, at the same time; figures of each
# that add up; steady state over all of them; guards and clean-up on each. A bug looked like a fill of two drives that
# wrote the same blocks to both, or one of them that was left full.
# builds: plain address (threads of a fill: ../kvprecond/fill.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
fill() { "$BIN/kvprecond" --progress none --size 1MiB --summary s.json "$@"; }
three='--target a --target b --target c'

for mode in sequential random kv stream; do
    case $mode in # few buffers: most of the time would be theirs
    stream) how='--config chunk_size=256KiB' ;;
    kv) how='--model tiny-1b --kv-dtype int4 --threads 2 --config iodepth=2' ;;
    *) how='--config iodepth=2' ;;
    esac
    with "$how $three" exits "$mode" 0 fill --mode $mode --keep
    json_like s.json <<END
$mode: three targets | [.targets[].path] | join(" ")                                   | a b c
$mode: no single one | .target                                                          | null
$mode: bytes add up  | ([.targets[].written_bytes] | add) == .written_bytes            | true
$mode: writes too    | ([.targets[].service_us.count] | add) == .service_us.count      | true
$mode: and the whole | .written_bytes == .size_bytes and .complete                      | true
$mode: all the same  | [.targets[].written_bytes] | unique | length                   | 1
END
    read -r blocks unlike _ <<END
$("$TOP/tests/cli/kvprecond/blocks.py" a/*.kv b/*.kv c/*.kv)
END
    is "$mode: no block is on two of them" "$unlike" "$blocks"
    with "$how $three" exits "$mode: what was kept goes when asked for" 0 fill --mode $mode --destroy-data
    is "$mode: nothing is left" "$(ls -d a b c 2>/dev/null)" ''
done
stdout_like 'the text names each' '^    b'

"$BIN/kvprecond" --progress none --size 512KiB --summary s.json --target a --target b --until-steady --round 20ms >/dev/null 2>&1
is 'rounds write on, on both' "$(json s.json '.total_written_bytes > .written_bytes, (.steady_state.rounds | length >= 5)')" 'true true'
is 'and leave nothing' "$(ls -d a b 2>/dev/null)" ''

: >f
truncate -s 0 f
exits 'a file and a folder' 0 fill --target f --target a
is 'the file is cut again' "$(wc -c <f)$(ls -d a 2>/dev/null)" 0
exits 'the same place twice' 2 fill --target a --target ./a
exits 'by two names, once it is there' 2 sh -c "mkdir d && ln -s d e && '$BIN/kvprecond' --size 1M --target d --target e"
stderr_like 'is named' 'd and e are the same place'
exits 'operands are one' 2 fill a b
mkdir other && echo x >other/mine
exits 'other data in one' 3 fill --target a --target other
is 'nothing is left of the other' "$(ls -d a 2>/dev/null)$(cat other/mine)" x
exits 'no size' 2 "$BIN/kvprecond" --target a --target b
exits 'pages= of one only' 2 fill --target a --target 'file:b?pages=small'
stderr_like 'pages=: why' 'pages= must be the same for all targets'
exits 'pages= of both' 0 fill --target 'file:a?pages=small' --target 'file:b?pages=small'
exits 'a server and a path' 2 fill --mode stream --target redis://localhost --target a
stderr_like 'a server: why' 'is filled alone'
exits 'a path and a server' 2 fill --mode stream --target a --target redis://localhost
is 'nothing was made' "$(ls -d a b 2>/dev/null)" ''
exits 'no engine is imitated' 2 "$BIN/kvprecond" --size 1M --target 'file:fill?like=vllm-fs'
stderr_like 'no engine is imitated: why' 'like= is for a replay'
done_testing
