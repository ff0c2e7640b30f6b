#!/bin/sh
# answer.t - kvgen --answer finds how many users hold with the drive, without it and with one that takes no time. The last is
# no worse than the drive, and the drive no worse than none; a tier without a limit is that ideal one. A number asked about
# passes up to the interval and fails above it, in another process, too. Threads change nothing. The window that is written
# can be replayed. A bug looked like an answer that depended on the number asked about, or on which thread was first.
# builds: plain (small_loads.t runs its code)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# A slow GPU, so that few users make few requests.
answer() {
    file=$1
    shift
    "$BIN/kvgen" --answer "$file" --model llama3.1-8b --population mlperf --config input_len=64 --config output_len=4 \
        --cache vllm:block_size=64 --gpu-profile h100:eta=0.01,eta_a=0.01,b=0.05 --gpu-mem 1.5GiB --cpu-mem 1GiB \
        --storage-capacity 100GiB --ttft 3s --tpot 1s --answer-window 2s "$@" 2>"$TMP/err"
}
drive='--tier-model 2=read:7GB/s,write:5GB/s,lat:80us'

answered() {
    ok "$1" with "$3" answer "$TMP/$2" -o none
}

ok 'an answer, and its window' with "$drive" answer "$TMP/a.json" -o "$TMP/window.csv.zst" --seeds 5 --tbw 7000 --config threads=1
json_like "$TMP/a.json" <<'END'
what it is | .program, .answer | kvgen 1
its settings | .settings | .model, .gpu, .by, .engine, .population, .on_full, .unit | llama3.1-8b h100 calculation vllm mlperf evict users
END
json_like "$TMP/a.json" <<'END'
the targets | .settings.ttft_s, .settings.tpot_s, .settings.goodput, .settings.seeds | 3 1 0.95 5
the drive | .settings.drive.text | read:7GB/s,write:5GB/s,lat:80us
nothing was asked | .asked, .verdict, .why | null null null
each interval has its value | [.users[] | .low <= .value and .value <= .high] | all | true
an ideal drive is no worse, none no better | .users | .ideal.high >= .this.low and .this.high >= .none.low | true
here it gives something | .gain.low > 0 | true
which is the difference, and within its interval | .gain as $g | .users | .this.value - .none.value | . == $g.value and . >= $g.low and . <= $g.high | true
as many seeds hold a number as hold more | [.tried | group_by(.variant)[] | map(.held) | . == (sort | reverse)] | all | true
each has all seeds | [.tried[] | .of] | unique | tojson | [[]5[]]
each number stands once | .tried | (map([.variant, .users]) | unique | length) == length | true
the figures of a number are one fact | .variants.this as $f | .at as $n | .tried[] | select(.variant == "this" and .users == $n) | .goodput == $f.goodput and .first_token_p95_s == $f.first_token_s.p95 and .requests_s == $f.requests_s | true
without the drive, too | .variants.none as $f | .at as $n | .tried[] | select(.variant == "none" and .users == $n) | .first_token_p95_s == $f.first_token_s.p95 | true
so is what ends it | (.limit.text | split(":")[0]) as $what | .at as $n | [.tried[] | select(.variant == "this" and .users > $n)][0].limit == $what | true
its number held with its seeds | .users.this as $u | [.tried[] | select(.variant == "this" and .users <= $u.low) | .held == .of] | all | true
a number above failed | .users.this as $u | [.tried[] | select(.variant == "this" and .users > $u.high) | .held] | add | 0
the ends of the interval and the number itself have their rows | [.tried[] | select(.variant == "this") | .users] as $t | .users.this | [.low, .value, .high] - $t | length | 0
the drive spares the GPUs prompts, and of the time in which they are busy it tells another member | [.variants.none, .variants.this] | .[0].prefill_gpu_s / .[0].requests > .[1].prefill_gpu_s / .[1].requests and .[0].gpu_busy_s > 0 and .[0].gpu_s == null | true
figures at that number | .at == .users.this.value | true
enough requests | .variants.this.requests >= 400 and .variants.none.requests >= 400 | true
the drive holds them, none does not | .variants.this.goodput >= 0.95 and .variants.none.goodput < 0.95 | true
classes | .variants.this.classes | keys | sort | join(",") | batch,interactive,responsive
shares of tokens | .origin | .gpu + .host + .storage + .computed | . > 0.999 and . < 1.001 | true
what the drive is asked, and can | .drive | .write.asked_bytes_s > 0 and .read.can_bytes_s == 7000000000 and .write.can_bytes_s == 5000000000 | true
a day | .drive.written_bytes_day / .drive.write.asked_bytes_s | round | 86400
wear | .wear | .drive_writes_day > 0 and .years > 0 | true
something ends it | .limit.kind != "none" | true
and that is said | .limit.text | [a-zA-Z ']+: (a faster drive adds at most [0-9]+ users?)?(even an ideal drive holds no more)?
it was reached | .drive.reached | true
the busiest part is no quieter than the whole | .window.seconds * (.drive.read.asked_bytes_s + .drive.write.asked_bytes_s) <= .window.read_bytes + .window.written_bytes | true
how far the GPU may be off | .holds_while.prefill | .low >= 0.5 and .low <= 1 and .high >= 1 and .high <= 2 | true
tokens saved | .worth.prefill_tokens_day > 0 and .worth.gpu_s_day > 0 | true
each at 2 x 7.0e9 operations (8.0e9 weights less the table of tokens and the head) of 989e12 / 100 a second | .worth.gpu_s_day / .worth.prefill_tokens_day * 9.89e12 / 2 | . > 6.9e9 and . < 7.1e9 | true
no price | .worth.money_day | null
END

# In other processes, and with other threads.
low=$(json "$TMP/a.json" .users.this.low)
high=$(json "$TMP/a.json" .users.this.high)
answered 'the low end' low.json "--seeds 5 --config threads=2 --users $low --price gpu=2/h,dram=0/h,nvme=0/h $drive"
is 'passes' "$(json "$TMP/low.json" '.verdict, .why, .asked, .at')" "PASS null $low $low"
is 'a faster GPU holds them, too' "$(json "$TMP/low.json" '.holds_while.prefill.high >= 1')" true
ok 'the price of a day' [ "$(json "$TMP/low.json" '.worth | .money_day / .gpu_s_day * 1800 | round')" = 1 ]
of_others=".users, .gain, [.tried[] | select(.users != $low)] | tojson"
is 'with the users found alike' "$(json "$TMP/low.json" "$of_others")" "$(json "$TMP/a.json" "$of_others")"
answered 'above the high end' high.json "--seeds 5 --users $((high + 1)) $drive"
is 'fails' "$(json "$TMP/high.json" '.verdict, .asked, .at')" "FAIL $((high + 1)) $((high + 1))"
is 'kvstat says why' "$(json "$TMP/high.json" .why)" null
is 'a slower GPU fails, too' "$(json "$TMP/high.json" '.holds_while.prefill.low <= 1')" true
ok 'an answer' answer "$TMP/b.json" -o none --seeds 2 --config threads=2 --tier-model 2=lat:0
is 'a tier without a limit is the ideal one' "$(json "$TMP/b.json" '.users.this | tojson')" "$(json "$TMP/b.json" '.users.ideal | tojson')"
jq '.points[0].p95_us = 1234.5' "$DATA/drive_model.json" >"$TMP/drive.json"
ok 'a measured drive' answer "$TMP/m.json" -o none --seeds 1 --config threads=2 --tier-model "2=$TMP/drive.json"
json_like "$TMP/m.json" <<'END'
has its points | .settings.drive.points | length, ([.[] | select(.size_bytes == 262144 and .read_share == 1 and .in_flight == 4) | .bytes_per_s] | .[0]) | 33 720000000
and their times | [.settings.drive.points[] | select(.p95_us) | .in_flight, .read_share, .p95_us] | tostring | \[1,1,1234.5\]
the load keeps objects in flight | .drive.in_flight > 0 | true
END

# The window has the rows that the answer says, and a replay finds what it reads.
is 'rows of Tier-2 only' "$("$BIN/kvgen" --input "$TMP/window.csv.zst" --no-notes -o - 2>/dev/null | sed 1d | cut -d , -f 4 | sort -u)" Tier-2
exits 'the window is replayed' 0 "$BIN/kvreplay" --timing asap --tier-engine 2=sim:bw=1GB/s -o "$TMP/result.csv.zst" \
    --summary "$TMP/replay.json" "$TMP/window.csv.zst"
is 'all rows of it' "$(json "$TMP/replay.json" '.rows.ok')" "$(json "$TMP/a.json" .window.rows)"

# What ended a number that was tried, with the seed of the figures.
json_like "$TMP/a.json" <<'END'
no number without an end | [.tried[] | select(.held == .of) | .limit] | unique | tojson | [[]null[]]
most have one | [.tried[] | select(.held < .of) | .limit] | map(select(. != null)) | length > 0 | true
END

# A slow drive, for which an engine waits: what holds without it is not ended by the GPU. A bug looked like "decoding on the
# GPU: a faster drive adds at most 132 users".
ok 'a slow drive' "$BIN/kvgen" --answer "$TMP/slow.json" --model llama3.1-8b --gpu-profile l40s --gpu-mem 20GiB --cpu-mem 24GiB \
    --cache vllm:block_size=4096 --population chat --seeds 1 -o none --tier-model 2=bw:0.5GB/s,lat:80us --progress none
json_like "$TMP/slow.json" <<'END'
it holds fewer than none | .users | .this.value < .none.value | true
so it is what ends them | .limit.kind | storage_.*
each number that holds without it is ended by it | .users.none.value as $n | [.tried[] | select(.variant == "this" and .limit and .users <= $n) | .limit] | unique | length == 1 and (.[0] | endswith("the drive")) | true
END

# Why nobody is held: for people and in the file.
about_nobody() {
    with "$drive" "$BIN/kvgen" --answer "$TMP/nobody.json" --model llama3.1-8b --cache vllm:block_size=512 --seeds 1 -o none \
        --storage-capacity 100GiB "$@" 2>"$TMP/err"
}
nobody() {
    what=$1 kind=$2 why=$3
    shift 3
    ok "$what: an answer" about_nobody "$@"
    is "$what: nobody is held" "$(json "$TMP/nobody.json" '.users.this.value, .limit.kind')" "0 $kind"
    like "$what: why" "$(json "$TMP/nobody.json" .why)" "^$why\$"
    like "$what: it is what ends it" "$(json "$TMP/nobody.json" .limit.text)" ": $why\$"
    like "$what: for people" "$(cat "$TMP/err")" "why +$why\$"
}
nobody 'host memory below a prompt' host_memory \
    'host memory of 2.00 GiB is less than one prompt takes \([0-9]+ tokens: [0-9.]+ [GM]iB\), so what lies on the drive is never loaded' \
    --population documents --spec-tokens 16 --cpu-mem 2GiB --gpu-mem 20GiB
nobody 'GPU memory below a prompt' gpu_memory \
    'GPU memory of 1.00 GiB is less than one prompt takes \([0-9]+ tokens: [0-9.]+ [GM]iB\)' --cpu-mem 20GiB --gpu-mem 1GiB
nobody 'a target that an idle engine misses' decode 'on an idle engine a token takes [0-9.]+ ms \(p95; limit 1.00 ms\)' \
    --cpu-mem 20GiB --gpu-mem 20GiB --tpot 1ms

# A trace is asked at one speed after the other.
awk 'BEGIN {
    for (i = 0; i < 400; i++)
        printf "{\"timestamp\": %d, \"input_length\": 1536, \"output_length\": 4, \"hash_ids\": [%d, %d, %d]}\n", i * 1000, 3 * (i % 60),
            3 * (i % 60) + 1, 3 * (i % 60) + 2
}' >"$TMP/trace.jsonl"
trace() {
    file=$1
    shift
    with "$drive" "$BIN/kvgen" --answer "$file" --model llama3.1-8b --input "$TMP/trace.jsonl" --cache vllm:block_size=64 \
        --gpu-profile h100:eta=0.05,eta_a=0.05 --gpu-mem 1.5GiB --cpu-mem 1GiB --storage-capacity 100GiB "$@" 2>"$TMP/err"
}
ok 'an answer about a trace' trace "$TMP/t.json" -o "$TMP/window2.csv.zst" --answer-window 5s
json_like "$TMP/t.json" <<'END'
in requests a second | .settings | .unit, .seeds, .population | requests_s 1 null
of that trace | .settings.source | .*/trace[.]jsonl
a drive holds more | .users | .this.value > .none.value | true
what was tried is rates, too | .users.this.value as $v | [.tried[].users] | contains([$v]) | true
at that rate | .at == .users.this.value | true
END
ok 'about a speed' trace "$TMP/t2.json" -o none --speed "$(json "$TMP/t.json" '.users.this.value * 2')"
is 'twice as fast as it holds' "$(json "$TMP/t2.json" '.verdict')" FAIL
is 'and the same rates' "$(json "$TMP/t2.json" '.users | tojson')" "$(json "$TMP/t.json" '.users | tojson')"
# What is beyond the most that is tried has no verdict. A bug looked like PASS for 131 requests/s where 200 were asked about.
while IFS='|' read -r words why; do
    for dry in '' ' --dry-run'; do
        with "$words$dry" exits "$words$dry" 2 "$BIN/kvgen" --answer "$TMP/t3.json" --seeds 1 -o none --tier-model 2=bw:7GB/s \
            --model llama3.1-8b --cpu-mem 20GiB
        stderr_like 'is refused' "^kvgen: $why"
    done
done <<END
--users 131073|--users: --answer tries no more than 131072 users
--input $TMP/trace.jsonl --speed 132|--speed: --answer tries no more than 131.072 times the speed
--input $DATA/sharegpt_dummy_250.json.zst --request-rate 200|--request-rate: --answer tries no more than 131.072 requests a second
END
exits 'a trace that can be read once' 2 trace "$TMP/t3.json" -o none --input - <"$TMP/trace.jsonl"
like 'and is read many times' "$(cat "$TMP/err")" '^kvgen: --input: --answer reads it many times: give a file'
head -n 100 "$TMP/trace.jsonl" >"$TMP/short.jsonl"
mv "$TMP/short.jsonl" "$TMP/trace.jsonl"
exits 'a short trace' 2 trace "$TMP/t3.json" -o none
like 'how short' "$(cat "$TMP/err")" '^kvgen: .*/trace.jsonl: 100 requests in 99 s: --answer needs at least 200'

# Recorded agents are users: so many sessions are under way. A dataset of conversations is asked at one rate after the other.
mkdir "$TMP/agents"
awk -v folder="$TMP/agents" 'BEGIN {
    for (s = 0; s < 10; s++) {
        file = folder "/" s ".json"
        printf "{\"block_size\": 640, \"requests\": [" >file
        for (i = 1; i <= 10; i++) {
            printf "%s{\"in\": %d, \"out\": 4, \"think_time\": 5, \"hash_ids\": [", i == 1 ? "" : ", ", i * 640 >file
            for (b = 1; b <= i; b++) printf "%s%d", b == 1 ? "" : ",", s * 1000 + b >file
            printf "]}" >file
        }
        print "]}" >file
    }
}'
people() {
    file=$1
    shift
    with "$drive" "$BIN/kvgen" --answer "$file" --model llama3.1-8b --cache vllm:block_size=640 --gpu-mem 2GiB --cpu-mem 1GiB \
        --storage-capacity 100GiB --seeds 2 -o "$TMP/people.csv.zst" "$@" 2>"$TMP/err"
}
ok 'an answer about agents' people "$TMP/agents.json" --input "$TMP/agents" --gpu-profile h100:eta=0.05,eta_a=0.05 --users 2
json_like "$TMP/agents.json" <<'END'
in users | .settings | .unit, .seeds, .population | users 1 null
so many are held | .users.this.value | . >= 2 and . < 1000 | true
more than without the drive | .users.this.low > .users.none.high | true
as asked | .asked, .verdict | 2 PASS
END
ok 'an answer about conversations' people "$TMP/talks.json" --input "$DATA/sharegpt_dummy_250.json.zst" \
    --gpu-profile h100:eta=0.002,eta_a=0.002 --request-rate 0.1
json_like "$TMP/talks.json" <<'END'
in requests a second | .settings | .unit, .seeds, .population | requests_s 2 null
so many are held | .users.this.value | . >= 0.1 and . < 100 | true
as asked | .asked, .verdict | 0.1 PASS
END

exits 'agents once and again' 2 people "$TMP/t3.json" --input "$TMP/agents" --replay-cycles 3
like 'which begin again anyway' "$(cat "$TMP/err")" '^kvgen: --replay-cycles: does not apply with --answer'
exits 'a trace without its times' 2 trace "$TMP/t3.json" -o none --clients 4
like 'which decide the answer' "$(cat "$TMP/err")" '^kvgen: --clients: does not apply with --answer'
cp "$DATA/recordings/dynamo-1.6.1-agentic-mooncake-v2.jsonl" "$TMP/trace.jsonl"
exits 'turns of agents' 2 trace "$TMP/t3.json" -o none
like 'which wait for each other' "$(cat "$TMP/err")" '^kvgen: --answer: does not apply to turns of agents'

# Most requests of 15 agents are good, while half of the agents wait for hours for what others push out of host memory: a bug
# looked like 16 users held, more than with a drive of twice the speed.
ok 'agents, of whom some would stand still' "$BIN/kvgen" --answer "$TMP/still.json" --model mistral-7b --population code \
    --cache vllm:block_size=2048 --spec-tokens 16 --gpu-profile h100 --gpu-mem 40GiB --cpu-mem 24GiB --storage-capacity 1TiB --seeds 1 --on-full evict \
    --tier-model 2=read:0.5GB/s,write:0.25GB/s,lat:80us -o none --users 15
json_like "$TMP/still.json" <<'END'
requests are good | [.tried[] | select(.variant == "this" and .users == 15)][0].goodput | . >= 0.95 | true
but they are not held | .verdict, .users.this.high < 15, .users.this.high <= .users.none.high | FAIL true true
who waits for the drive is counted | .drive.hit_s.p95 | . > 1000 | true
but brings back nothing yet, so that the others' hits are not less | .drive.computing_s | . > 3 and . < 5 | true
END

# What does not apply.
refused() {
    exits "$1" 2 with "$2" answer "$TMP/c.json" -o none
    like "$1: why" "$(cat "$TMP/err")" "$3"
}
refused 'a drive is needed' '' '^kvgen: --answer: needs --tier-model 2='
refused 'an input' "$drive --input x.jsonl" 'x.jsonl|--input'
refused 'no Tier-2' "$drive --storage-capacity none" '--storage-capacity'
refused 'a duration' "$drive --duration 10s" '^kvgen: --duration: does not apply with --answer'
refused 'no engine' "$drive --cache waterfall" '^kvgen: --cache: --answer needs the cache of an engine'
exits 'a target without an answer' 2 "$BIN/kvgen" -o none --ttft 1s
stderr_like 'why' '^kvgen: --ttft: needs --answer FILE'
done_testing
