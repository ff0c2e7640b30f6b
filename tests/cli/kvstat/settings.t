#!/bin/sh
# settings.t - pairs of runs with settings changed: the comparison begins with each setting and both values, before any
# percentage; JSON has the same sentence. Where nothing but files, folders and what is shown differs, no setting
# is named. A bug looked like "+809 %, worse" of two depths, or a setting that stood behind the figures.
# builds: plain (trials.t compares runs under sanitizers)
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat

# Three users, so that parts of the trace are there to be left out.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,Arrival"
    for (i = 0; i < 8; i++)
        printf "%.3f,%s,4096,Tier-%d,k%d,Decode,%d,u%d,%.3f\n", i * 0.001, i < 4 ? "Write" : "Read", i % 4 ? 2 : 1, i % 4, i,
            i % 3, i * 0.001
}' >"$TMP/t.csv"
ran() { # NAME OPTIONS...: a replay; its target is a folder of its own unless the options name one
    name=$1
    shift
    case " $* " in
    *' --target '* | *' --null '* | *' --tier-engine 2='*) ;;
    *) set -- "$@" --target "$TMP/$name.d" ;;
    esac
    told "$BIN/kvreplay" --progress none "$@" -o "$TMP/$name.zst" "$TMP/t.csv"
}
# told_first NAME WORDS: the verdict on the screen begins with these words alone.
told_first() {
    verdict=$("$kvstat" --compare "$TMP/a.zst" "$TMP/b.zst" | tr -s '\n ' ' ')
    like "$1" "$verdict" " Verdict (settings differ: $2|the loads differ, by their timing [(]$2[)]): "
}
echo 'kvreplay: {rings: 2}' >"$TMP/two.yaml"
echo 'kvreplay: {rings: 4}' >"$TMP/four.yaml"
printf 'kvreplay:\n  rings: 2\n  sqpoll: true\n  compress_ratio: 2\n  threads: 3\n' >"$TMP/more.yaml"
long=$(printf '%0150d' 0)
mkdir "$TMP/$long"
# Lines "base | new | the words".
ran a
cp "$TMP/a.zst" "$TMP/plain.zst"
before=
while IFS='|' read -r base new words; do
    case $base in
    "$before") ;;
    '') cp "$TMP/plain.zst" "$TMP/a.zst" ;;
    *) with "$base" ran a ;;
    esac
    before=$base
    with "$new" ran b
    told_first "$base against $new" "$words"
done <<END
|--buffered --sync object --config compress_ratio=2 --config dedup_ratio=4 --iodepth 1|buffered default, yes; sync default, object; \
compress-ratio default, 2; dedup-ratio default, 4; iodepth default, 1
|--only-tier 2 --limit 6 --config loops=2 --duration 1s --max-concurrent-allocs 1|only-tier default, 2; limit default, 6; \
loops default, 2; duration default, 1s; max-concurrent-allocs default, 1
|--config only_users=1 --config sqpoll=true --warmup 1ms --tier-map 1=2|only-users default, 1; sqpoll default, yes; \
warmup default, 1ms; tier-map default, 1=2
|--overflow wrap --on-absent skip|overflow default, wrap; on-absent default, skip
|--null|null default, yes
|--config rings=2|rings default, 2
|--config $TMP/two.yaml|rings default, 2
--inflight 8|--inflight=1|inflight 8, 1
--inflight=8 --chunk-size 4KiB --config ioengine=psync --sync end --verify none --layout files --order none|\
--inflight 64 --chunk-size 64KiB --config ioengine=auto --sync object --verify full --layout slab --order key --storage-capacity 16MiB|\
inflight 8, 64; chunk-size 4KiB, 64KiB; ioengine psync, auto; sync end, object; verify none, full; layout files, slab; \
order none, key; storage-capacity default, 16MiB
-c rings=2|-crings=4|rings 2, 4
--rings 2|--config rings=4|rings 2, 4
--rings 2 --config rings=4|--config rings=4|rings 2, 4
--timing asap|--timing trace --speed 2|base: --timing asap; new: --timing trace --speed 2
--timing trace|--timing trace --speed 2|base: --timing trace; new: --timing trace --speed 2
--timing trace|--timing trace --config spin=1ms|spin default, 1ms
--timing served --workers 1|--timing served --workers 4|base: --timing served --workers 1; new: --timing served --workers 4
--timing served --workers 1|--timing served --workers 1 --config admit=fifo|admit default, fifo
--tier-engine 2=sim:lat=1ms|--tier-engine 2=sim:lat=2ms|tier-engine 2=sim:lat=1ms, 2=sim:lat=2ms
--tier-engine 1=null|--tier-engine 2=null|tier-engine 1=null, 2=null
--cpu-mem 8MiB|--cpu-mem 16MiB|cpu-mem 8MiB, 16MiB
--target $TMP/one.d|--target $TMP/one.d --target $TMP/two.d|targets 1, 2
--target $TMP/one.d|--target file:$TMP/three.d?like=lmcache-fs|target file, file[?]like=lmcache-fs
--target $TMP/one.d|--target file:$TMP/$long/three.d?like=lmcache-fs|target file, file[?]like=lmcache-fs
--config $TMP/two.yaml|--config $TMP/four.yaml|rings 2, 4
--config $TMP/two.yaml|--config $TMP/more.yaml|sqpoll default, yes; compress-ratio default, 2
--config $TMP/two.yaml --config rings=1|--config $TMP/two.yaml|rings 1, 2
--config rings=4 --config $TMP/two.yaml|--rings 4|rings 2, 4
--config ioengine=psync|--config $TMP/more.yaml --config ioengine=auto|ioengine psync, auto; rings default, 2; sqpoll default, yes; compress-ratio default, 2
END

like 'JSON begins with them, too' "$("$kvstat" --json --compare "$TMP/a.zst" "$TMP/b.zst" | json /dev/stdin .compare.sentence)" \
    '^settings differ: ioengine psync, auto; rings default, 2; sqpoll default, yes; compress-ratio default, 2[;:]'

# ---- no settings ----

ran a --inflight 8 --config data_seed=1
ran b --config data_seed=2 --inflight=8 --full --summary "$TMP/s.json" --zstd --config level=1
is 'files, folders and what is shown are none' \
    "$("$kvstat" --json --compare "$TMP/a.zst" "$TMP/b.zst" | json /dev/stdin .compare.settings_differ)" null
ran a --config sqpoll=true -c kvreplay.rings=2
ran b --sqpoll --rings 2
is 'an option that was is its key' \
    "$("$kvstat" --json --compare "$TMP/a.zst" "$TMP/b.zst" | json /dev/stdin .compare.settings_differ)" null
ran a --config "$TMP/two.yaml"
ran b --config "$TMP/four.yaml" --rings 2
is 'a key of a file is one of the command line' \
    "$("$kvstat" --json --compare "$TMP/a.zst" "$TMP/b.zst" | json /dev/stdin .compare.settings_differ)" null
# Keys of a shared section, which a search goes by.
echo 'autoscaler: {max_users: 2}' >"$TMP/search.yaml"
cat >"$TMP/gen" <<'END'
#!/bin/sh
exec awk -v n="$1" 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Tokens,Arrival,Duration_us"
    for (i = 0; i < 10 * n; i++) {
        printf "%.3f,Write,100000,Tier-1,c%d,Prefill,%d,,%.3f,\n", i * 0.01 / n, i % n, i, i * 0.01 / n
        printf "%.3f,Generate,0,,,,%d,10,%.3f,1000\n", i * 0.01 / n, i, i * 0.01 / n
    }
}'
END
chmod +x "$TMP/gen"
searched() { # NAME OPTIONS...
    name=$1
    shift
    "$BIN/kvreplay" --progress none --autoscale capacity --each "$TMP/gen {N}" --step-warmup 0 --step-duration 100ms --config spin=0 \
        --config lateness_budget=10s --tier-engine 1=sim:bw=10GB/s "$@" -o "$TMP/$name.zst" 2>"$TMP/stderr" || cat "$TMP/stderr"
}
differ() { "$kvstat" --json --compare "$TMP/a.zst" "$TMP/b.zst" | json /dev/stdin .compare.settings_differ; }
searched a --config "$TMP/search.yaml"
searched b --config autoscaler.max_users=2
is 'likewise of a shared section' "$(differ)" null
searched b --config autoscaler.max_users=3
is 'which differs from that of a file' "$(differ)" 'max-users 2, 3'
searched b --config autoscaler.max_users=2 --config saturation_detection.queue_depth_threshold=100
is 'and is none where it is the default' "$(differ)" null
ran a --config "$TMP/two.yaml"
ran b --config rings=2
for run in a b; do "$kvstat" --json -o "$TMP/$run.json" "$TMP/$run.zst"; done
is 'a report says the keys that were in force' "$(json "$TMP/a.json" .run.configuration)" rings=2
ran b --config "$TMP/more.yaml"
"$kvstat" --json -o "$TMP/b.json" "$TMP/b.zst"
is 'all of them' "$(json "$TMP/b.json" .run.configuration)" 'rings=2 sqpoll=true compress_ratio=2'
ran a
"$kvstat" --json -o "$TMP/a.json" "$TMP/a.zst"
is 'or that none was' "$(json "$TMP/a.json" .run.configuration)" default
done_testing
