#!/bin/sh
# classes.t - --config admit: who is served first while storage is the bottleneck. The interactive requests alone would fit:
# they wait least and batch at least three times as long, though batch still gets a part of the admissions; with fifo all
# wait alike; and without load nobody waits. Requests still in line at the end count with their wait so far. The unit
# test is exact. A bug looked like mean waits of 6.9, 7.0 and 6.7 s for the three classes.
# builds: plain (waits; served.t and test_admission run the code under sanitizers)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

plan 22
# load PER_SECOND SECONDS: so many requests a second, 15 % interactive, 35 % responsive, 50 % batch, each of a read of an
# object of its own that is there, and a generation.
load() {
    awk -v rate="$1" -v seconds="$2" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,QoS,Arrival,Duration_us"
        srand(7)
        for (i = 0; i < rate * seconds; i++) {
            x = rand()
            qos = x < 0.15 ? "interactive" : x < 0.5 ? "responsive" : "batch"
            printf "%.6f,Read,4096,Tier-2,k%d,Decode,%d,%s,%.6f,\n", i / rate, i, i, qos, i / rate
            printf "%.6f,Generate,0,,,,%d,%s,%.6f,1000\n", i / rate, i, qos, i / rate
        }
    }'
}
# serve NAME OPTION...: a drive that reads one object after another, 4 ms each: 250 a second.
serve() {
    name=$1
    shift
    "$BIN/kvreplay" --full --timing served --workers 8 --tier-engine 2=sim:lat=4ms,servers=1 --config lateness_budget=10s \
        --summary "$TMP/$name.json" -o "$TMP/$name.csv" "$@" 2>"$TMP/stderr"
}
waits() { json "$TMP/$1.json" ".served.queue_by_qos_ms | $2"; }

load 500 2 >"$TMP/over.csv"
exits "twice as many requests as the drive can serve" 0 serve qos --duration 2s "$TMP/over.csv"
is "served by class" "$(json "$TMP/qos.json" '.served.admit')" qos
is "interactive waits less than responsive, responsive no longer than batch" \
    "$(waits qos '.interactive.mean < .responsive.mean and .responsive.mean <= .batch.mean')" true
is "batch three times as long as interactive" "$(waits qos '.batch.mean >= 3 * .interactive.mean')" true
is "every arrival counts" "$(waits qos '[.[] | select(.) | .count] | add >= 990')" true
is "those still in line too" "$(waits qos '.batch.waiting > 100 and .batch.unread == 0')" true
is "and nothing is out of order" "$(json "$TMP/qos.json" '.reads_before_write, .served.capacity_exceeded')" "0 0"
batch=$(awk -F, '$2 == "Read" && $8 == "batch"' "$TMP/qos.csv" | wc -l)
admitted=$(json "$TMP/qos.json" '.served.admitted')
ok "batch has 5 % of the admissions ($batch of $admitted)" test $((batch * 20)) -ge "$admitted"
is "for a part in turn" "$(json "$TMP/qos.json" '.served.admitted_in_turn > 10')" true
serve qos --duration 2s "$TMP/over.csv"
stderr_like "the waits by class are said" "^queue wait by class, with requests still waiting: interactive mean .*; responsive mean"
stderr_like "and the ways in" "let in with the class of a request that waited for them, [0-9]* as the tenth in turn"

exits "in the order of the trace" 0 serve fifo --config admit=fifo --duration 2s "$TMP/over.csv"
is "all wait about alike" "$(waits fifo '.interactive.mean / .batch.mean | . > 0.75 and . < 1.33')" true
is "nothing is inherited" "$(json "$TMP/fifo.json" '.served | .admit, .admitted_by_inheritance, .admitted_in_turn')" \
    "fifo 0 0"

load 20 1 >"$TMP/light.csv"
# A busy machine makes some wait.
light() { serve idle "$TMP/light.csv" && [ "$(waits idle '[.[] | select(.) | .p50 < 20] | all')" = true ]; }
ok "hardly a load: nobody waits" tries 3 light
is "nobody is in line at the end" "$(waits idle '[.[] | select(.) | .waiting, .unread] | add')" 0

# A batch request writes what an interactive one reads.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,QoS,Arrival,Duration_us"
    for (i = 0; i < 100; i++) {
        printf "0,Write,4096,Tier-2,k%d,Prefill,%d,batch,0,\n0,Generate,0,,,,%d,batch,0,2000\n", i, i, i
    }
    print "0,Read,4096,Tier-2,k70,Decode,100,interactive,0,"
}' >"$TMP/needs.csv"
early() {
    serve inherit "$TMP/needs.csv" || return
    awk -F, '$5 == "k70" && $2 == "Read" { print $13; found = $13 < 0.3 } END { exit !found }' "$TMP/inherit.csv"
}
ok "a batch request inherits, so that the one that waits for it is served early" tries 3 early
is "the class of the one that waits for it" "$(json "$TMP/inherit.json" '.served.admitted_by_inheritance')" 1

cut -d, -f1-7,9- "$TMP/light.csv" >"$TMP/plain.csv"
exits "without the column" 0 serve none "$TMP/plain.csv"
is "the trace's order" "$(json "$TMP/none.json" '.served.admit')" fifo
exits "qos needs it" 2 serve none --config admit=qos "$TMP/plain.csv"
exits "--config admit means nothing otherwise" 2 "$BIN/kvreplay" --full --config admit=qos --null "$TMP/light.csv"
