#!/bin/sh
# compare_targets.t - examples/compare-targets.sh: one trace on several targets, one table, and a last line that says what may
# be concluded. Two folders, Redis where it is installed, and simulated targets that are a hundred times apart. A bug looked
# like a target that ended with fewer operations and seemed faster for it.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
script=$TOP/examples/compare-targets.sh
# Objects of a tenth of what tiny-1b has: filling memory for these takes longer than all that the script does.
echo '{"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 4,
    "torch_dtype": "bfloat16"}' >model.json
compare() { BUILD=$BUILD "$script" -m model.json -u 2 -n 4 --storage-capacity-gb 1 "$@"; }
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac

# ---- real targets ----

set -- one two
rows='1 folder 0 2 folder 0 '
if command -v redis-server >/dev/null && ! printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n' |
    "$BIN/kvreplay" --target redis+unix:none -o none.csv - 2>&1 | grep -q 'made without hiredis'; then
    redis-server --port 0 --unixsocket "$TMP/redis.sock" --save '' --appendonly no --dir "$TMP" >redis.log 2>&1 &
    redis=$!
    ends_too $redis
    until redis-cli -s "$TMP/redis.sock" ping 2>&1 | grep -q PONG; do
        kill -s 0 $redis 2>/dev/null || { cat redis.log; exit 1; }
        sleep 0.05
    done
    set -- one two "redis+unix:$TMP/redis.sock?db=1"
    rows="${rows}3 Redis 0 "
else
    diag 'no redis-server, or built without hiredis: two folders only'
fi
mkdir two
echo mine >two/file
exits 'real targets' 0 compare --trials 1 -o real "$@"
cp stdout answer
is 'a line for each' "$(awk '/^ *[0-9]+  / { print $1, $2, $8 }' answer | tr '\n' ' ')" "$rows"
is 'which names it' "$(awk '/^ *1  / { print $NF }' answer)" one
is 'a folder with files of others is not touched' "$(awk '/^ *2  / { print $NF }' answer) $(ls -A two)" 'two/kvtrace file'
like 'all did the same' "$(cat answer)" '^Each did the same: [1-9][0-9]* reads of [0-9.]+ GiB and [1-9][0-9]* writes of '
like 'one trial tells little' "$(tail -1 answer)" '^[^ ]+ read fastest .*use --trials 3 to 5\.$'
for n in $(seq $#); do ok "results of target $n" test -s "real/$n/trial-1.result.csv.zst"; done
not_ok 'nothing stays in the folders' test -e one
if [ -n "${redis-}" ]; then
    like 'what Redis is, is said' "$(cat answer)" '^redis\+unix:.*: times include the network; '
    is 'nothing stays in Redis' "$(redis-cli -s "$TMP/redis.sock" -n 1 dbsize)" 0
fi

# ---- simulated targets, whatever else the machine does ----

mkdir -p simulated/bin
ln -s "$BIN/kvgen" "$BIN/kvstat" simulated/bin
cat >simulated/bin/kvreplay <<END
#!/bin/sh
case \$2 in *slow) speed=lat=20ms ;; *) speed=lat=200us ;; esac
shift 2
exec "$BIN/kvreplay" --config spin=0 --config lateness_budget=1h --tier-engine "2=sim:\$speed" "\$@"
END
chmod +x simulated/bin/kvreplay
apart() {
    BUILD=$TMP/simulated "$script" -m tiny-1b -u 2 -n 30 --trials 3 -o apart --storage-capacity-gb 8 slow quick >answer || return
    tail -1 answer
    tail -1 answer | grep -Eq '^quick reads fastest \([0-9.]+ GiB/s\), by more than the noise: against slow\.$'
}
ok 'a hundred times apart: which is better' tries 3 apart
like 'and in what' "$(cat answer)" '^quick is better than slow by more than the noise: .*P95 of reads '

# ---- wrong use ----

exits 'one target' 2 compare -o wrong one
stderr_like 'says so' '^compare-targets.sh: two targets or more are needed'
exits 'the same twice' 2 compare -o wrong one file:one
stderr_like 'says so' '^compare-targets.sh: file:one: the same target twice$'
exits 'a tier' 2 compare -o wrong one 1=redis://h
stderr_like 'says so' '^compare-targets.sh: 1=redis://h: targets are compared as Tier-2: leave out 1=$'
exits 'no number' 2 compare -n x -o wrong one two
not_ok 'nothing was made' test -e wrong
exits 'a server that is not there' 3 compare --trials 1 -o gone one "redis+unix:$TMP/none.sock"
stderr_like 'is named' 'kvreplay failed: .*none\.sock'
exits 'a password in a URI' 2 compare --trials 1 -o gone redis://me:secret@h/1 one
stderr_unlike 'is not shown by kvreplay' 'kvreplay failed: .*secret'

done_testing
