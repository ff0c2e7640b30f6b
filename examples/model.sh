#!/bin/sh
# model.sh - How fast is this drive under any load? Measured once, for simulations.
#
# Usage: model.sh [OPTION]... TARGET
#
#   TARGET       a folder on the drive, redis://HOST:PORT/DB or s3://BUCKET/PREFIX?endpoint=URL
#                (see kvreplay(1), --target); what is written there is removed at the end
#   -o FILE      the measurement (default: drive.json)
#   --full       all sizes, in ten minutes at most (the default)
#   --quick      one size, 4 MiB, in 30 s at most, and 3 s at most for each point
#   --reuse TIME take the measurement in FILE again, if it is younger, and of the same drive,
#                kernel and settings
#   -t TIME      longest time for all points (default: 600; with --quick 30)
#   --point TIME          longest time for one point (default: 20; with --quick 3)
#   --sizes SIZE,...      sizes of objects, from 4 KiB (default: 256KiB,4MiB,64MiB)
#   --in-flight N,...     objects in flight, up to 4096 (default: 1,4,16,64)
#   --storage-capacity SIZE     largest room to use (default: the free space minus a reserve;
#                on a server 4)
#   --print      show the commands, run nothing
#
# Each point is a size, a number of objects in flight and a mix: reads, writes, or 70 % reads
# by bytes. Its kvreplay runs repeat until its rate is known to 5 % (95 % confidence), or its
# time is over. When more objects in flight give less than 5 % more rate, still more of them
# are not tried. A point is also skipped when its objects do not fit in half of the free memory
# or in the room, or need more time than there is. P50, P95 and P99 of the objects' times are
# those of all runs of the point.
#
# kvgen --tier-model 2=drive.json simulates with the measurement; kvreplay --tier-engine
# 2=sim:model=drive.json replays against it. There, deletes take no time. A drive that is new
# or was idle is faster than it will be later: see kvtrace precondition.
#
# Example: the drive under /mnt/nvme
#   examples/model.sh /mnt/nvme/kv -o drive.json
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

# in_bytes OPTION SIZES: sets text to the sizes of a list in bytes; one without a unit is bytes.
in_bytes() {
    text=$(printf '%s\n' "$2" | tr -s ', ' '[\n*]' | awk '
        /^[0-9]*$/ { printf "%s,", $0; next }
        !/^[0-9]+([.][0-9]+)?[KMGT](iB|B)?$/ { exit bad = 1 }
        {
            match($0, /^[0-9.]+/)
            size = substr($0, 1, RLENGTH)
            for (power = index("KMGT", substr($0, RLENGTH + 1, 1)); power > 0; power--) size *= /[^i]B$/ ? 1000 : 1024
            printf "%.0f,", size
        }
        END { exit bad }') || die 2 "$1: \"$2\" is not a list of sizes (such as 256KiB,4MiB)"
}

takes='-d -o -t --storage-capacity'
out=drive.json seconds='' most_s='' sizes='' flights=1,4,16,64 quick=no reuse=0
given=''
for word; do given="$given, $(json "$word")"; done
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    --quick) quick=yes words=1 ;;
    --full) quick=no words=1 ;;
    --reuse) value "$@" && time_of "$1" "$text" && reuse=$text ;;
    --point) value "$@" && time_of "$1" "$text" && most_s=$text ;;
    --sizes) value "$@" && sizes=$text ;;
    --in-flight) value "$@" && flights=$text ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
# within: an unknown rate is one that is known worse than to so many percent.
if [ "$quick" = yes ]; then
    : "${seconds:=30}" "${most_s:=3}" "${sizes:=4MiB}"
    shares='0 1 0.7' least_ms=1500 within=15
else
    : "${seconds:=600}" "${most_s:=20}" "${sizes:=256KiB,4MiB,64MiB}"
    shares='1 0 0.7' least_ms=2500 within=5
fi
in_bytes --sizes "$sizes"
numbers --sizes "$text" 4096 1099511627776 && sizes=$text
numbers --in-flight "$flights" 1 4096 && flights=$text
need kvreplay kvstat
if [ -z "$target" ]; then
    if ! printing; then die 2 "name a folder on the drive, or a server (try --help)"; fi
    target=folder
fi
asked_storage=$storage
case $target in
redis://* | rediss://* | redis+unix:* | s3://*) where=$target storage=${storage:-4} ;;
*)
    where=${target#file:}
    if [ -e "$where" ] && [ ! -d "$where" ]; then die 2 "$where: not a folder"; fi
    # Objects that someone keeps in the folder stay apart.
    target=${where%/}/kvtrace-model storage=${storage:-$(room "$where")}
    ;;
esac

if printing; then
    tell "a trace for each point: reads, writes or both, of objects of one size; then, until its rate is known:"
    for n in $flights; do
        typed kvreplay --target "$target" --keep --inflight "$n" --summary run.json -o run.csv trace.csv
    done
    tell "the rates of all runs go to $out; at the end what was written is removed:"
    typed kvreplay --target "$target" --destroy-data -o none trace.csv
    exit 0
fi

# ---- what is measured, and with what ----

case $out in */*) if [ ! -d "${out%/*}" ]; then die 2 "-o: parent directory ${out%/*} does not exist"; fi ;; esac
if [ -e "$out" ] && ! head -c 300 <"$out" | grep -q '"kvtrace model"'; then
    die 2 "-o: $out is there and not a measurement of a drive"
fi
need_scratch
work=$scratch kept=no
# What this run wrote there goes again. kvreplay removes nothing but its own.
tidy() {
    if [ "$kept" = no ]; then return; fi
    kvreplay --target "$target" --destroy-data --progress none -o none "$work/first.csv" 2>/dev/null
}
# now: sets now_ms.
now() {
    read -r now_ms _ </proc/uptime
    now_ms=$((${now_ms%.*} * 1000 + 1${now_ms#*.}0 - 1000))
}
now
began_ms=$now_ms started=$(date -u +%Y-%m-%dT%H:%M:%SZ)
case $target in */kvtrace-model) if [ ! -d "$where" ]; then
    make_empty "$where" || not_made "$where"
fi ;; esac
# What the figures depend on besides the time: a later run with the same takes them again.
if [ -d "$where" ]; then file_system=$(stat -f -c '%T %i' -- "$where"); else file_system=server; fi
kernel=$(uname -r)
settings="sizes ${sizes% }, in flight ${flights% }, $most_s s a point, $seconds s in all${asked_storage:+, room $asked_storage GiB}"
room_bytes=$(awk -v gib="$storage" 'BEGIN { printf "%.0f\n", gib * 1073741824 }')
memory_bytes=''
while read -r name number _; do
    if [ "$name" = MemAvailable: ]; then memory_bytes=$((number * 512)); fi
done </proc/meminfo
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase

# A run that keeps nothing: the target works, and holds nothing of anybody.
printf '%s\n0,Write,4096,Tier-2,first,Prefill\n0,Delete,0,Tier-2,first,Evict\n' "$header" >"$work/first.csv"
kvreplay --target "$target" --progress none --summary "$work/first.json" -o "$work/run.csv" "$work/first.csv" \
    2>"$work/log" || {
    why=$(sed -n '/^kvreplay: /{s///p;q;}' <"$work/log")
    die 3 "${why:-$(last_line "$work/log")}"
}

# trace SIZE N SHARE ROWS STORED LIVE: rows of objects of that size: reads of the first STORED objects, and writes of new
# ones, of which at most LIVE are there; with what is left of them removed at the end.
trace() {
    awk -v size="$1" -v share="$3" -v rows="$4" -v stored="$5" -v live="$6" -v header="$header" '
        BEGIN {
            OFS = ","; print header
            for (i = 0; i < rows; i++) {
                # The nearest mix after each row; objects are read in an order without pattern.
                if (int((i + 1) * share + 1e-9) > int(i * share + 1e-9)) {
                    print 0, "Read", size, "Tier-2", "r" size "-" (read++ * 7919) % stored, "Decode"
                } else {
                    if (written >= live) print 0, "Delete", 0, "Tier-2", "w" size "-" (written - live), "Evict"
                    print 0, "Write", size, "Tier-2", "w" size "-" written++, "Prefill"
                }
            }
            for (i = written > live ? written - live : 0; i < written; i++) print 0, "Delete", 0, "Tier-2", "w" size "-" i, "Evict"
        }'
}

# judged: adds the run of $work/run.csv to those of its point ($step, lines), and sets what kvstat finds in them: rate (empty: the
# runs were too short), low, high, p50, p95, p99, spent (seconds), runs, last_ms (length of this run), known (1: low and high are
# within 5 % of it), known_to (percent) and flat (1: it is no more than that of the point before, $step_before).
judged() {
    kvstat --knee --csv "$work/run.csv" >"$work/rows" 2>"$work/log" || return
    {
        IFS= read -r names
        while IFS= read -r row; do step=$step$row$newline; done
    } <"$work/rows"
    printf '%s\n%s%s' "$names" "$step_before" "$step" >"$work/runs.csv"
    kvstat --knee --csv "$work/runs.csv" >"$work/rates" 2>"$work/log" || return
    # The last line.
    last=''
    while IFS= read -r row; do last=$row; done <"$work/rates"
    [ -n "$last" ] || return
    IFS=, read -r _ rate low high p50 p95 p99 spent runs last_ms known known_to flat <<END
$last
END
}

# reusable: the file that is there holds this measurement, of this drive, and is younger than --reuse.
reusable() {
    if [ "$reuse" = 0 ] || [ ! -e "$out" ]; then return 1; fi
    set -- "$(pick target file_system kernel settings <"$out")" \
        "$(json "$where" | sed 's/^"//; s/"$//')$newline$file_system$newline$kernel$newline$settings"
    if [ "$1" != "$2" ]; then return 1; fi
    was=$(date -d "$(pick started <"$out")" +%s 2>/dev/null) || return 1
    age_s=$(($(date +%s) - was))
    [ "$age_s" -ge 0 ] && [ "$age_s" -lt "$reuse" ]
}
if reusable; then
    say "$suite: $out was measured $(if [ "$age_s" -lt 7200 ]; then counted $((age_s / 60)) minute; else counted $((age_s / 3600)) hour; fi) ago and is taken again"
    exit 0
fi

# ---- the points ----

left=0
for _ in $sizes; do for _ in $flights; do left=$((left + 3)); done; done
points=0 unknown=0 doubtful=0 doubt='' undecided=0
: >"$work/points"
: >"$work/skipped"
# skip SIZE N SHARE WHY
skip() {
    printf '%s    {"size_bytes": %s, "in_flight": %s, "read_share": %s, "why": "%s"}' "$skipped_comma" "$@" >>"$work/skipped"
    skipped_comma=',
'
}
# measure SIZE N SHARE: runs until the rate is known; sets rate (empty: not measured).
measure() {
    size=$1 n=$2 share=$3 rate=''
    now
    left_ms=$((began_ms + seconds * 950 - now_ms))
    limit_ms=$((left_ms / (left + 1)))
    if [ "$limit_ms" -lt "$least_ms" ]; then limit_ms=$least_ms; fi
    if [ "$limit_ms" -gt $((most_s * 1000)) ]; then limit_ms=$((most_s * 1000)); fi
    if [ "$left_ms" -lt 500 ]; then
        skip "$size" "$n" "$share" "no time left"
        return
    fi
    if [ $((n * size)) -gt "$memory_bytes" ]; then
        skip "$size" "$n" "$share" "memory"
        return
    fi
    stored=$((1073741824 / size)) live=$((3 * n))
    if [ "$stored" -lt 64 ]; then stored=64; fi
    if [ "$quick" = yes ]; then
        # Objects to read are written in a second or two, and three objects for each place move in the time of two points.
        if [ "$share" != 0 ] && [ "$wrote" -gt 0 ]; then
            if [ $((stored * size)) -gt $((wrote * 3 / 2)) ]; then stored=$((wrote * 3 / 2 / size + 1)); fi
            if [ "$stored" -lt 16 ]; then stored=16; fi
        fi
        if [ "$before" != 0 ] && [ $((3 * n * size / (before / 1000 + 1))) -gt $((limit_ms * 2)) ]; then
            skip "$size" "$n" "$share" "too slow"
            return
        fi
    fi
    if [ $((stored * 3)) -gt $((room_bytes / size)) ]; then stored=$((room_bytes / size / 3)); fi
    if [ "$stored" -lt 1 ] || [ $(((stored + live + n) * size)) -gt "$room_bytes" ]; then
        skip "$size" "$n" "$share" "room"
        return
    fi
    if [ $((live * size)) -lt 4294967296 ] && [ $((stored * size + 4294967296)) -lt "$room_bytes" ]; then
        live=$((4294967296 / size))
    fi
    now
    step='' point_ms=$now_ms valid=true
    while :; do
        # A second of work, and at least three objects for each place.
        rows=$((guess / size))
        if [ "$rows" -lt $((3 * n)) ]; then rows=$((3 * n)); fi
        if [ "$rows" -gt 200000 ]; then rows=200000; fi
        trace "$size" "$n" "$share" "$rows" "$stored" "$live" >"$work/trace.csv"
        kept=yes
        kvreplay --target "$target" --keep --inflight "$n" --progress none --summary "$work/run.json" -o "$work/run.csv" \
            "$work/trace.csv" 2>"$work/log" || died $? "$size bytes, $n in flight: kvreplay failed: $(last_line "$work/log")"
        pick valid why_invalid.0 <"$work/run.json" >"$work/picked"
        { read -r run_valid && IFS= read -r run_doubt; } <"$work/picked"
        if [ "$run_valid" = false ]; then
            valid=false
            if [ -z "$doubt" ]; then doubt=$run_doubt; fi
        elif [ "$run_valid" = - ] && [ "$valid" = true ]; then
            valid=null
        fi
        judged || died $? "$size bytes, $n in flight: kvstat failed: $(last_line "$work/log")"
        if [ -n "$rate" ]; then guess=$rate; fi
        now
        if [ "$known" = 1 ] || [ $((now_ms - point_ms + last_ms + 100)) -gt "$limit_ms" ]; then break; fi
    done
    if [ -z "$rate" ]; then
        skip "$size" "$n" "$share" "too short"
        return
    fi
    step_before=$step
    points=$((points + 1))
    case $share in 1) missing_reads=no ;; 0) missing_writes=no ;; esac
    if [ "$share" = 0 ] && [ "$rate" -gt "$wrote" ]; then wrote=$rate; fi
    if [ "$known" = 0 ] && [ "$known_to" -gt "$within" ]; then unknown=$((unknown + 1)); fi
    case $valid in false) doubtful=$((doubtful + 1)) ;; null) undecided=$((undecided + 1)) ;; esac
    printf '%s    {"size_bytes": %s, "in_flight": %s, "read_share": %s, "bytes_per_s": %s, "low": %s, "high": %s, "p50_us": %s, "p95_us": %s, "p99_us": %s, "seconds": %s, "runs": %s, "valid": %s}' \
        "$points_comma" "$size" "$n" "$share" "$rate" "$low" "$high" "$p50" "$p95" "$p99" "$spent" "$runs" "$valid" >>"$work/points"
    points_comma=',
'
    echo "$size $n $share $rate" >>"$work/table"
    say "$suite: $(echo "$size $n $share $rate $low $high" | awk '{
        size = $1 >= 1048576 ? $1 / 1048576 " MiB" : $1 / 1024 " KiB"
        printf "%s, %d in flight, %d %% reads: %.3f GB/s (%.3f to %.3f)", size, $2, $3 * 100, $4 / 1e9, $5 / 1e9, $6 / 1e9 }')"
}
points_comma='' skipped_comma='' missing_reads=yes missing_writes=yes
: >"$work/table"
for size in $sizes; do
    wrote=0 # the greatest rate of writes
    for share in $shares; do
        before=0 flat=0 guess=$((size < 16384 ? size * 6000 : 100000000)) # the first run finds out
        step_before=''
        for n in $flights; do
            left=$((left - 1))
            if [ "$flat" = 1 ]; then
                skip "$size" "$n" "$share" "flat"
                continue
            fi
            measure "$size" "$n" "$share"
            if [ -z "$rate" ]; then continue; fi
            before=$rate
        done
    done
done
# why WORD MEANING: the meaning, if a point was skipped for it.
why() { if grep -q "\"why\": \"$1\"" <"$work/skipped"; then printf '; %s' "$2"; fi; }
if [ "$points" = 0 ]; then
    die 3 "no point could be measured$(
        why 'no time left' 'the time was over (-t)'
        why memory 'the objects do not fit in half of the free memory (--sizes, --in-flight)'
        why room 'the objects do not fit in the room (--storage-capacity)'
        why 'too short' 'the runs were too short'
    )"
fi

# ---- the file ----

# list NAME: a list of texts of the first run, as JSON.
list() {
    pick "tiers.Tier-2.$1.*" <"$work/first.json" | {
        list_comma=''
        while IFS= read -r entry; do
            printf '%s' "$list_comma"
            json "$entry"
            list_comma=', '
        done
    }
}
pick version tiers.Tier-2.device tiers.Tier-2.engine evidence.file_system <"$work/first.json" >"$work/picked"
{ IFS= read -r version && IFS= read -r device && IFS= read -r engine && IFS= read -r type; } <"$work/picked"
if [ "$device" = - ]; then device=null; else device=$(json "$device"); fi
if [ "$type" = - ]; then type=null; else type=$(json "$type"); fi
why='' valid=true missing=''
if [ "$missing_reads" = yes ]; then missing=reads; fi
if [ "$missing_writes" = yes ]; then missing=writes; fi
if [ "$undecided" -gt 0 ]; then valid=null; fi
if [ "$doubtful" -gt 0 ]; then
    valid=false why=$(json "$(counted "$doubtful" point) of $points: $doubt")
elif [ -n "$missing" ]; then
    valid=false why=$(json "no $missing were measured")
elif [ "$unknown" -gt 0 ]; then
    why=$(json "rate of $(counted "$unknown" point) of $points not known to $within %")
    if [ $((unknown * 4)) -gt "$points" ]; then valid=false; fi
fi
now
took=$(((now_ms - began_ms) / 1000))
{
    printf '{\n  "program": "kvtrace model",\n  "version": %s,\n  "command": ["kvtrace", "model"%s],\n  "host": %s,\n' \
        "$(json "$version")" "$given" "$(json "$(uname -n)")"
    printf '  "started": "%s",\n  "elapsed_s": %s,\n  "target": %s,\n  "device": %s,\n  "engine": %s,\n' "$started" "$took" \
        "$(json "$where")" "$device" "$(json "$engine")"
    printf '  "file_system": %s,\n  "file_system_type": %s,\n  "kernel": %s,\n  "settings": %s,\n' "$(json "$file_system")" "$type" "$(json "$kernel")" "$(json "$settings")"
    flags=$(list flags) fallbacks=$(list fallbacks)
    printf '  "in_force": [%s%s%s],\n  "valid": %s,\n  "why_invalid": [%s],\n' "$flags" \
        "${flags:+${fallbacks:+, }}" "$fallbacks" "$valid" "${why:+
    $why
  }"
    printf '  "points": [\n%s\n  ],\n  "skipped": [\n%s\n  ]\n}\n' "$(cat "$work/points")" "$(cat "$work/skipped")"
} >"$work/drive.json"
# A script that runs this one says where it is to land first.
lands "$work/drive.json" "${KVTRACE_LANDS:-$out}"

# ---- the answer ----

sort -n -k 1,1 -k 2,2 <"$work/table" | awk '
    function size(n) { return n >= 1048576 ? n / 1048576 " MiB" : n / 1024 " KiB" }
    function show() { printf "%10s %10s %12s %12s %12s\n", size(was_size), was_n, cell[1], cell[0], cell["0.7"] }
    BEGIN { printf "%10s %10s %12s %12s %12s\n", "object", "in flight", "reads GB/s", "writes GB/s", "70:30 GB/s" }
    NR > 1 && ($1 != was_size || $2 != was_n) { show(); cell[1] = cell[0] = cell["0.7"] = "-" }
    NR == 1 { cell[1] = cell[0] = cell["0.7"] = "-" }
    { cell[$3] = sprintf("%.3f", $4 / 1e9); was_size = $1; was_n = $2 }
    END { show() }'
if [ "$valid" != true ]; then echo "Caution: the measurement is $(if [ "$valid" = null ]; then echo "of unknown validity"; else echo "unreliable: $(printf '%s' "$why" | tr -d '"')"; fi)."; fi
readable "$where"
where=$readable
readable "$out"
where=$where out=$readable awk -v points="$points" -v unknown="$unknown" -v within="$within" '
    function most(rate) { return rate ? sprintf("up to %.3g GB/s", rate / 1e9) : "at an unknown rate (not measured)" }
    $3 == 1 && $4 > read { read = $4 }
    $3 == 0 && $4 > written { written = $4 }
    END {
        printf "%s reads %s and writes %s; %s has %d point%s, %s.\n", ENVIRON["where"], most(read), most(written), ENVIRON["out"], points,
            points == 1 ? "" : "s", unknown ? points - unknown " of them known to " within " %" : "all known to " within " %"
    }' <"$work/table"
