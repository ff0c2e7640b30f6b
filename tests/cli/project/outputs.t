#!/bin/sh
# outputs.t - no program writes over what it reads, over another of its outputs, into its target or into a store of
# objects, however the file is named; and what cannot be written is said before anything is read. A bug looked like a
# model that was gone after `kvgen --model m.json -o m.json`.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1

cat >m.json <<'END'
{"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "torch_dtype": "float16"}
END
"$BIN/kvgen" --model tiny-1b --num-users 2 --duration 3 --cpu-mem-gb 0 --gpu-mem-gb 0 -o t.csv 2>err
"$BIN/kvreplay" --tier-engine 2=sim:bw=1GB/s --summary s.json -o r.csv t.csv 2>err
cp s.json rates.json
echo '{}' >c.yaml
ln -s m.json link.json
ln t.csv hard.csv
mkdir d
sums() { cat m.json t.csv r.csv rates.json c.yaml | cksum; }
before=$(sums)

# refused NAME ERE COMMAND...: exit 2 with that line, and all inputs are as they were.
refused() {
    name=$1 pattern=$2
    shift 2
    exits "$name" 2 "$@"
    stderr_like "is said" "$pattern"
    is "nothing happened" "$(sums)" "$before"
}
kvgen=$BIN/kvgen kvreplay=$BIN/kvreplay kvstat=$BIN/kvstat kvprecond=$BIN/kvprecond
refused 'a trace over the model' '^kvgen: m\.json: is read \(--model\), and --output would overwrite it$' \
    "$kvgen" --model m.json -o m.json
refused 'by another name' 'link\.json: is read \(--model\)' "$kvgen" --model m.json -o link.json
refused 'over the tier model' 'rates\.json: is read \(--tier-model\)' \
    "$kvgen" --model tiny-1b --tier-model 2=rates.json --summary rates.json -o none
refused 'over a hard link of the input' 'hard\.csv: is read \(the input\)' \
    "$kvgen" --source trace --input t.csv -o hard.csv
refused 'standard output is the input' '^kvgen: standard output: is read \(the input\), and --output would' \
    sh -c "'$kvgen' --source trace --input t.csv >>t.csv"
refused 'standard input is the output' 't\.csv: is read \(the input\)' \
    sh -c "'$kvgen' --source trace --input - -o t.csv <t.csv"
cp t.csv y.fio
refused "fio's second file over the input" 'y\.fio: is read \(the input\), and --format fio would' \
    "$kvgen" --source trace --input y.fio --format fio -o y.iolog
ok 'which is as it was' cmp t.csv y.fio
refused 'one file for two outputs' 'x\.json: is named for two outputs \(--curve, --summary\)' \
    "$kvgen" --model tiny-1b -o none --curve x.json --summary ./x.json
refused 'results on standard output into the trace' 'standard output: is read \(the trace\)' \
    sh -c "'$kvreplay' --null t.csv >>t.csv"
refused 'a target that is the trace' 't\.csv: is read \(the trace\), and is the target' \
    "$kvreplay" --nvme t.csv --destroy-data -o o.csv t.csv
refused 'results over the configuration' 'c\.yaml: is read \(--config\)' \
    "$kvreplay" --null --config c.yaml --autoscale qos --each true -o c.yaml
refused 'results in the target' 'd/slab\.kv: lies in the target d, where' \
    "$kvreplay" --nvme d -o d/slab.kv t.csv
refused 'in a target that does not exist' 'new/r\.csv: lies in the target new, where' \
    "$kvreplay" --nvme new -o new/r.csv t.csv
not_ok 'which is not made' test -e new
refused 'preconditioning: the summary over the model' 'm\.json: is read \(--model\), and --summary' \
    "$kvprecond" --mode kv -m m.json --size 1M --summary m.json d
refused 'the summary in the target' 'd/s\.json: lies in the target d' \
    "$kvprecond" --size 1M --summary d/s.json d
refused 'a report over its input' 'r\.csv: is read \(the input\), and --output' "$kvstat" -o r.csv r.csv
refused 'a fio job over what is compared' 'r\.csv: is read \(--run\), and --fio-job' \
    "$kvstat" --run r.csv --fio-job r.csv t.csv

# A store that a run has left.
"$kvreplay" --nvme d --keep -o /dev/null t.csv 2>err
objects=$(find d -type f | sort | cksum)
folder=$(find d -mindepth 1 -type d | head -n 1)
for out in d/r.csv "$folder/r.csv" d/.kvtrace; do
    exits "a file in a store: $out" 2 "$kvgen" --model tiny-1b --num-users 1 --duration 1 -o "$out"
    stderr_like 'is refused' ': lies in .*d(/.*)?, where kvtrace keeps objects: give --output another place$'
done
is 'the store is as it was' "$(find d -type f | sort | cksum)" "$objects"

# What cannot be written is said before anything is read.
for program in "$kvgen --source trace --input t.csv" "$kvreplay --null missing.csv" "$kvstat missing.csv"; do
    with "$program -o none/here/o.csv" exits "an output without a place: ${program##*/}" 1
    stderr_like 'is said first' ': none/here/o\.csv: cannot write: No such file'
    with "$program -o d" exits 'a folder' 1
    stderr_like 'is said first' ': d: cannot write: Is a directory'
done

# So is what else a command line has wrong.
exits 'an engine that is none' 2 "$kvreplay" --tier-engine 2=foo missing.csv
stderr_like 'is said first' '--tier-engine: 2=foo: expected'
exits 'a reference that is not there' 2 "$kvstat" --reference none.json missing.csv
stderr_like 'is said first' 'none\.json: cannot open'
if ! sanitized; then
    PATH=$BIN:$PATH
    kvbench="$TOP/examples/kvbench --model tiny-1b --num-users 1 --duration 1 --cpu-mem-gb 1 --generation-mode none --cache-dir bench"
    for wrong in '--performance-profile fast' '--validation-trace none.json' '--output none/o.json'; do
        with "$kvbench --output o.json $wrong" not_ok "kvbench $wrong"
        not_ok 'measures nothing' test -e bench
    done
fi

# A failed run leaves the output of an earlier one.
sed '3s/^[^,]*/x/' t.csv >bad.csv
for out in o.csv o.csv.zst; do
    echo before >$out
    chmod 640 $out
    exits "kvgen, a bad line, $out" 2 "$kvgen" --source trace --input bad.csv -o $out
    is 'the old output is there' "$(cat $out)" before
    exits "kvreplay, $out" 2 "$kvreplay" --null -o $out bad.csv
    is 'the old output is there, too' "$(cat $out)" before
    exits 'a good one' 0 "$kvgen" --source trace --input t.csv -o $out
    isnt 'replaces it' "$(head -c 6 $out | tr -d '\0')" before
    is 'with its rights' "$(stat -c %a $out)" 640
done

# Of a cut input, whose whole rows are used, and an output that cannot be written, both are told: the first decides the
# status. A bug looked like a curve that was not there, and no word of it.
if [ -w /dev/full ] && command -v zstd >/dev/null; then
    { zstd -qc t.csv && sed 1d t.csv | zstd -qc | head -c 100; } >cut.csv.zst
    both() { # COMMAND...: with one output that is /dev/full
        exits "$(basename "$1"): as a cut input" 2 "$@"
        is 'both are told' "$(grep -cE 'cut.csv.zst: cut after row|/dev/full: cannot write' "$TMP/stderr")" 2
    }
    both "$kvgen" --input cut.csv.zst -o /dev/full
    both "$kvgen" --input cut.csv.zst -o o.csv --summary /dev/full
    both "$kvgen" --input cut.csv.zst --retier --curve /dev/full -o o.csv
    both "$kvgen" --input cut.csv.zst --format libcachesim -o /dev/full
    both "$kvreplay" --null -o /dev/full cut.csv.zst
    both "$kvreplay" --null -o o.csv --summary /dev/full cut.csv.zst
    exits 'a report is not written' 1 "$kvstat" --json -o /dev/full cut.csv.zst
    is 'both are told' "$(grep -cE 'cut.csv.zst: cut after row|/dev/full: cannot write' "$TMP/stderr")" 2
fi
is 'nothing else is left' "$(find . -name 'o.csv*' | sort | tr '\n' ' ')" './o.csv ./o.csv.zst '
done_testing
