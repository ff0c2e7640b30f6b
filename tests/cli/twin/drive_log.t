#!/bin/sh
# The wear of a drive by its own log, which kvreplay writes into its summary: kvstat shows it in text, on the page and as
# JSON, pools it over runs, and says why where it is not known. The log here is that of a drive that wrote 1.5 bytes for
# each of the host's. A bug looked like a report without it.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat rows=$DATA/kvstat_dozen.csv

summary() { # NAME DRIVE_LOG
    echo '{"program": "kvreplay", "tiers": [{"tier": "Tier-2", "engine": "io_uring", "target": "/mnt/nvme", "simulated": false}],
        "drive_log": '"$2"'}' >"$TMP/$1.json"
}
summary worn '{"host_write_bytes": 1024000000, "lifetime_host_write_bytes": 5000000000000, "percentage_used": 3,
    "media_write_bytes": 1536000000, "write_amplification": 1.5, "why_unknown": null}'
summary host '{"host_write_bytes": 1024000000, "lifetime_host_write_bytes": 5000000000000, "percentage_used": 3,
    "media_write_bytes": null, "write_amplification": null, "why_unknown": "the drive has no log page C0h"}'
summary none '{"host_write_bytes": null, "lifetime_host_write_bytes": null, "percentage_used": null,
    "media_write_bytes": null, "write_amplification": null, "why_unknown": "the target is no NVMe drive"}'

report() { told "$kvstat" --full --html "$TMP/$1.html" --run "$TMP/$1.json" "$rows" >"$TMP/$1.txt"; }
log() { tr -s ' \n' ' ' <"$TMP/$1.txt" | grep -o "Drive log .* \(used\|drive\) "; }
report worn
is "text" "$(log worn)" \
    'Drive log 976.56 MiB from the host, 1.43 GiB to the media, write amplification 1.5; 3 % of the rated endurance used '
page=$(tr -d '\n' <"$TMP/worn.html")
for row in 'from the host</dt><dd><data title="run.drive_log.host_write_bytes" value="1024000000">976.56 MiB' \
    'to the media</dt><dd><data title="run.drive_log.media_write_bytes" value="1536000000">1.43 GiB' \
    'Write amplification</dt><dd><data title="run.drive_log.write_amplification" value="1.5">1.50' \
    'Rated endurance used, %</dt><dd><data title="run.drive_log.percentage_used" value="3">3'; do
    like "page: ${row%%<*}" "$page" "$row"
done
unlike "page: nothing is unknown" "$page" 'Drive log, not known'
told "$kvstat" --json --run "$TMP/worn.json" "$rows" >"$TMP/worn.out"
is "JSON" "$(json "$TMP/worn.out" '.run.drive_log | .host_write_bytes, .media_write_bytes, .write_amplification, .percentage_used,
    .why_unknown')" '1024000000 1536000000 1.5 3 null'

report host
is "a drive without the page of its media" "$(log host)" 'Drive log 976.56 MiB from the host, write amplification not known: the drive has no log page C0h; 3 % of the rated endurance used '
report none
like "no drive" "$(log none)" '^Drive log not known: the target is no NVMe drive'
like "page: no drive" "$(tr -d '\n' <"$TMP/none.html")" 'Drive log, not known</dt><dd><span>the target is no NVMe drive<'
is "no summary: nothing is told" "$("$kvstat" --full "$rows" | grep -c 'Drive log')" 0
sed 's/"simulated": false/"simulated": true/' "$TMP/none.json" >"$TMP/simulated.json"
report simulated
is "a simulated drive has no log" "$(log simulated)" ''

# Two runs pooled: what was written adds up, the wear is that of the worse one.
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,4096,Tier-2,a,Prefill\n' >"$TMP/one.csv"
run() { # NAME HOST_BYTES MEDIA_BYTES RATIO USED
    told "$BIN/kvreplay" --tier-engine 2=null -o "$TMP/$1.csv" "$TMP/one.csv"
    sed -i 's/""drive_log"":{[^}]*}/""drive_log"":{""host_write_bytes"":'"$2"',""media_write_bytes"":'"$3"',""write_amplification"":'"$4"',""percentage_used"":'"$5"',""why_unknown"":null}/' "$TMP/$1.csv"
}
run a 1000000000 1200000000 1.2 4
run b 3000000000 6000000000 2.0 3
told "$kvstat" --merge --json "$TMP/a.csv" "$TMP/b.csv" >"$TMP/both.json"
is "two runs" "$(json "$TMP/both.json" '.run.drive_log | .host_write_bytes, .media_write_bytes, .write_amplification, .percentage_used')" \
    '4000000000 7200000000 1.8 4'
run b null null null null
told "$kvstat" --merge --json "$TMP/a.csv" "$TMP/b.csv" >"$TMP/both.json"
is "of which one is not known" "$(json "$TMP/both.json" '.run.drive_log | .host_write_bytes, .write_amplification')" 'null null'
done_testing
