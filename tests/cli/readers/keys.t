#!/bin/sh
# keys.t - keys of the configuration that are a program's own: rows of its table of options that left the command
# line. A file has them in the program's section, --config KEY=VALUE gives one; all four programs check all sections. The
# old option is taken as its key, which is said. A bug looked like a key that only one of the two ways took, a default of
# --print-config that changed a trace, a key that was silently without meaning on the command line, or a section that a
# program took without a look because it was not its own.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
programs='kvgen kvreplay kvstat kvprecond'
kvgen=$BIN/kvgen kvreplay=$BIN/kvreplay kvstat=$BIN/kvstat kvprecond=$BIN/kvprecond

# ---- few options, and what becomes of those that left ----

is 'the four programs list at most 200 options' \
    "$(for program in $programs; do "$BIN/$program" --list-options; done | awk 'END { print (NR > 200) ? NR : "yes" }')" yes
"$kvgen" --print-config >all.yaml
# keys PROGRAM: its section.
keys() {
    sed -n "/^$1:\$/,/^\$/p" all.yaml | awk '
        kind && match($0, /^  # [a-z0-9_]+: /) { sub(/^  # /, ""); sub(/: .*/, ""); print; kind = 0; next }
        { kind = kind && !/^  # .*[.]$/ || /^  # (true or false|text|whole number|number|share|size|bandwidth|duration|word|list)(;|$)/ }'
}
for program in $programs; do
    keys "$program" >own
    ok "$program has keys" test -s own
    "$BIN/$program" --help all >help
    "$BIN/$program" --list-options | cut -f 1 >listed
    wrong=$(while read -r key; do
        name=$(echo "$key" | tr _ -)
        for form in "--$name 1" "--$name=1"; do
            case $program in kvgen) set -- --dry-run ;; kvreplay) set -- --null /dev/null ;; *) set -- /dev/null ;; esac
            text=$(with "$form" "$BIN/$program" "$@" 2>&1 </dev/null | head -n 1)
            case $text in
            "$program: --$name: taken, but use --config $key="[1t]*" ($program.$key in a file)") ;;
            "$program: --config $key: "*) ;; # this value, or this run, is none for it
            "$program: 1: "*) test "$form" = "--$name 1" || echo "$form: $text" ;; # a flag takes none
            *) echo "$form: $text" ;;
            esac
        done
        grep -q -e "--$name " help && echo "--$name is in --help all"
        grep -qx -e "$name" listed && echo "--$name is listed"
    done <own)
    is "$program: the options that left name their keys" "$wrong" ''
done
exits 'an option without its value' 2 "$kvreplay" --rings
stderr_like 'names the key all the same' '^kvreplay: --rings: needs a value; use --config rings=N [(]kvreplay\.rings in a file[)]$'
exits 'one that a key for all programs says' 2 "$kvgen" --chars-per-token 5
stderr_like 'names that' '^kvgen: --chars-per-token: no option any more; use --config sharegpt\.chars_per_token_estimate=N$'
exits 'likewise of a search' 2 "$kvreplay" --storage-p95=9ms
stderr_like 'names that, too' 'use --config saturation_detection\.read_latency_p95_threshold_ms=N$'

# ---- what a refusal says ----

exits 'a setting with a name left out' 2 "$kvreplay" --null --config kvreplay..rings=2 /dev/null
stderr_like 'is no key' '^kvreplay: --config kvreplay\.\.rings: no key: a name is missing beside a dot$'
for setting in kvreplay.loops decode.batch_size model_configs.x.num_layers; do
    exits "$setting without a value" 2 "$kvreplay" --null --config $setting /dev/null
    stderr_like 'is no missing file either' "^kvreplay: --config: $setting is a key, which needs a value [(]$setting=[.][.][.][)], and no file\$"
done
exits 'a file without a name' 2 "$kvreplay" --null --config '' /dev/null
stderr_like 'is shown' '^kvreplay: "": cannot read the configuration: No such file'
exits 'a model that is no section' 2 "$kvreplay" --null --config model_configs.x=3 /dev/null
stderr_like 'has no * suggested' '^kvreplay: --config model_configs\.x: unknown key$'
exits 'a model of keys that lacks one' 2 "$kvgen" --config model_configs.x.num_layers=3 --list-models
stderr_like 'is named with its way, not with a line of no file' '^kvgen: --config model_configs\.x\.num_layers: model_configs\.x: kv_heads is missing'
printf 'model_configs: {x: {num_layers: 3}}\n' >short.yaml
exits 'likewise in a file' 2 "$kvgen" --config short.yaml --list-models
stderr_like 'has its line' '^kvgen: short\.yaml:1: model_configs\.x: kv_heads is missing'
exits 'a key of events, and none' 2 "$kvgen" --config reorder=1s -o none
stderr_like 'says what it needs' '^kvgen: --config reorder: applies only to recordings, .*--input FILE, .*--bind ENDPOINT$'
exits 'an empty name of a model' 2 "$kvgen" -m '' -o none
stderr_like 'is shown' '^kvgen: "": unknown model '

# ---- two ways to give a key ----

digest() { sed -n 's/.*digest //p' "$TMP/stderr"; }
generate() { "$kvgen" --users 9 --duration 20 --gpu-mem 1GiB --cpu-mem 1GiB --storage-capacity 4GiB -o trace.csv.zst "$@"; }
printf 'kvgen:\n  eviction: lfu\n  promote: "on-hit"\nkvreplay: {rings: 2}\n' >c.yaml
exits 'without keys' 0 generate
plain=$(digest)
exits 'a file' 0 generate --config c.yaml
by_file=$(digest)
isnt 'another trace' "$by_file" "$plain"
exits 'settings of the command line' 0 generate --config eviction=lfu --config kvgen.promote=on-hit
is 'the same trace' "$(digest)" "$by_file"
provenance trace.csv.zst >p.json
is 'its head has the values, as before' "$(json p.json '.options.eviction, .options.promote')" 'lfu on-hit'
is 'which nothing else gave' "$(json p.json '.options.config | tojson')" null
exits 'a file again' 0 generate --config c.yaml
provenance trace.csv.zst >p.json
is 'whose head is as with one option' "$(json p.json '.options.config | tojson')" '"c.yaml"'
exits 'options that were, before there were keys' 0 generate --eviction lfu --promote=on-hit
is 'are the same' "$(digest)" "$by_file"
stderr_like 'which says what to use' '^kvgen: --eviction: taken, but use --config eviction=lfu [(]kvgen\.eviction in a file[)]$'
stderr_like 'for each' '^kvgen: --promote: taken, but use --config promote=on-hit [(]kvgen\.promote in a file[)]$'
exits 'one behind a file' 0 generate --config c.yaml --eviction lru --promote none
is 'wins, too' "$(digest)" "$plain"
exits 'one with a wrong value' 2 generate --eviction least
stderr_like 'is an error, as its key is' "^kvgen: --config eviction: 'least' is not one of"
exits 'a flag that was, where it has no meaning' 2 "$kvreplay" --null --sqpoll -o none trace.csv.zst
stderr_like 'is refused as its key' '^kvreplay: --config sqpoll: does not apply with --null$'
stderr_like 'is true' '^kvreplay: --sqpoll: taken, but use --config sqpoll=true [(]'
exits 'a value that a shell would take apart' 2 "$kvreplay" --null --spool './a b;c' -o none trace.csv.zst
stderr_like 'is not repeated' '^kvreplay: --spool: taken, but use --config spool=DIR [(]'
exits 'a report with one' 0 "$kvstat" --threads 2 trace.csv.zst
stderr_like 'says it, too' '^kvstat: --threads: taken, but use --config threads=2 [(]'
exits 'and a fill' 0 "$kvprecond" --size 1M --iodepth 2 f
stderr_like 'does' '^kvprecond: --iodepth: taken, but use --config iodepth=2 [(]'
rm -rf f
exits 'a setting behind a file wins' 0 generate --config c.yaml --config eviction=lru --config promote=none
is 'over both' "$(digest)" "$plain"
exits 'and before it loses' 0 generate --config eviction=lru --config c.yaml
is 'to it' "$(digest)" "$by_file"
exits 'standard input' 0 generate --config - <c.yaml
is 'is a file, too' "$(digest)" "$by_file"
mkfifo pipe
cat c.yaml >pipe &
exits 'so is a pipe' 0 generate --config pipe
is 'as <(...) makes one' "$(digest)" "$by_file"
cp c.yaml eviction=lru
exits 'a file whose name is like a setting' 0 generate --config ./eviction=lru
is 'is a file with its folder' "$(digest)" "$by_file"
exits 'a key of all programs' 0 generate --arrival open --config user_templates.chatbot.context_range=[64,128]
isnt 'is one of the command line, too' "$(digest)" "$plain"
provenance trace.csv.zst >p.json
is 'the head says what is no default' "$(json p.json '.configuration | tojson')" \
    '{"user_templates.chatbot.context_range":[64,128]}'
printf 'decode: {batch_size: 8}\nprefix_cache: {system_prompt_hit_probability: 0.5}\nrag: {top_k_chunks: 5}\n' >shared.yaml
exits 'keys of a file' 0 generate --config shared.yaml --config conversation.reload=all --summary s.json
provenance trace.csv.zst >p.json
shared=$(json p.json '.configuration | tojson')
is 'are there' "$shared" '{"decode.batch_size":8,"prefix_cache.system_prompt_hit_probability":0.5,"conversation.reload":"all"}'
is 'and in the summary' "$(json s.json '.configuration | tojson')" "$shared"
exits 'a model whose name has dots' 0 "$kvgen" --config model_configs.llama3.1-8b.num_layers=2 --show-model
stdout_like 'is one name' '^  "layers": 2,$'
recording=$(find "$DATA/recordings" -name 'vllm*.zmqrec' | LC_ALL=C sort | head -n 1)
# media OPTIONS...: those that the head of a recording's trace has.
media() {
    told "$kvgen" -m tiny-1b --object-bytes 4096 --input "$recording" --limit 9 -o media.csv.zst "$@"
    provenance media.csv.zst >p.json
    json p.json '.options.medium | tojson'
}
printf 'kvgen:\n  medium: [a=0, b=2]\n' >list.yaml
is 'a list in a file' "$(media --config list.yaml)" '["a=0","b=2"]'
is 'of the command line, one by one' "$(media --config medium=a=0 --config medium=b=2)" '["a=0","b=2"]'
is 'which replace that of a file' "$(media --config list.yaml --config medium=c=1 --config medium=d=2)" '["c=1","d=2"]'
is 'as a file behind them replaces them' "$(media --config medium=c=1 --config list.yaml)" '["a=0","b=2"]'
is 'or as the list that a file has' "$(media --config 'medium=[a=0, b=2]')" '["a=0","b=2"]'
is 'and by the options that were' "$(media --config list.yaml --medium c=1 --medium=d=2)" '["c=1","d=2"]'
is 'told once, for both' "$(grep 'taken, but' err)" \
    'kvgen: --medium: taken, but use --config medium=NAME=TIER (kvgen.medium in a file)'

# An option that was is an option: it wins over keys, wherever it stands.
exits 'one before a file' 0 generate --eviction lru --promote none --config c.yaml
is 'wins over it' "$(digest)" "$plain"
exits 'and over a setting' 0 generate --eviction lru --config eviction=lfu
is 'too' "$(digest)" "$plain"
exits 'one given twice' 0 generate --eviction lfu --eviction lru
is 'is told once, as it holds' "$(grep 'taken, but' stderr)" \
    'kvgen: --eviction: taken, but use --config eviction=lru (kvgen.eviction in a file)'
exits 'a name that is -' 2 "$kvreplay" --null --spool - -o none trace.csv.zst
stderr_like 'is a value' '^kvreplay: --config spool: no result rows are written'

# However many there are, each has its line.
set --
for key in $(keys kvreplay); do
    value=$(sed -n "s/^  # $key: \([a-z0-9]*\)\$/\1/p" all.yaml | head -n 1)
    case $value in '' | true | false | N) ;; *) set -- "$@" "--$(echo "$key" | tr _ -)" "$value" ;; esac
done
ok 'there are many options that were' test $# -gt 34
"$kvreplay" --null "$@" -o none trace.csv.zst 2>told >/dev/null || :
is 'each is told' "$(grep -c 'taken, but' told)" $(($# / 2))

# ---- several files ----

echo 'kvreplay: {rings: 2}' >one.yaml
echo 'kvreplay: {loops: 1}' >two.yaml
cp one.yaml kept.yaml
told generate -o small.csv
for out in one.yaml two.yaml; do
    exits "$out of two as the output: kvgen" 2 "$kvgen" --config one.yaml --config two.yaml --duration 1 -o $out
    stderr_like 'says so' "^kvgen: $out: is read [(]--config[)]"
    exits 'kvreplay' 2 "$kvreplay" -c one.yaml -c two.yaml --null -o $out small.csv
    stderr_like 'does' "^kvreplay: $out: is read [(]--config[)]"
    exits 'kvstat' 2 "$kvstat" --config one.yaml --config two.yaml -o $out small.csv
    stderr_like 'does' "^kvstat: $out: is read [(]--config[)]"
    exits 'kvprecond' 2 "$kvprecond" -c one.yaml -c two.yaml --size 1M --summary $out f
    stderr_like 'does' "^kvprecond: $out: is read [(]--config[)]"
done
ok 'the file is as it was' cmp one.yaml kept.yaml
exits 'standard input first, and the trace from it: kvreplay' 2 "$kvreplay" --null -c - -c two.yaml <one.yaml
stderr_like 'cannot be' '^kvreplay: standard input: only one of --config and the trace can come from it$'
exits 'kvstat' 2 "$kvstat" --config - --config two.yaml - <one.yaml
stderr_like 'nor' '^kvstat: standard input: only one of --config and the input can come from it$'
exits 'and the users of kvgen' 2 "$kvgen" --config - --config two.yaml --input - <one.yaml
stderr_like 'nor' '^kvgen: standard input: only one of --config, --input'
exits 'standard input twice' 2 "$kvprecond" --config - --config - --size 1M f <one.yaml
stderr_like 'neither' '^kvprecond: standard input: only one --config can come from it$'
printf 'rag:\n  large_model_doc_tokens_min: 9\n' >min.yaml
printf 'rag:\n\n  large_model_doc_tokens_max: 8\n' >max.yaml
exits 'keys of two files that contradict each other' 2 generate --config max.yaml --config min.yaml
stderr_like 'have the place of the wrong one' '^kvgen: max\.yaml:3: rag\.large_model_doc_tokens_max \(8\) is below'
exits 'or of the command line' 2 generate --config min.yaml --config rag.large_model_doc_tokens_max=8
stderr_like 'too' '^kvgen: --config rag\.large_model_doc_tokens_max: rag'
exits 'a model that lacks something there' 2 "$kvgen" --config model_configs.mine.num_layers=2 -m mine --show-model
stderr_like 'too' '^kvgen: --config model_configs\.mine\.num_layers: model_configs\.mine: kv_heads is missing'

# ---- meaning ----

printf 'kvgen:\n  engines: 2\n  reorder: 2s\n  arrival_cv: 3\n' >other.yaml
exits 'keys of a file that have no meaning in a run' 0 generate --config other.yaml
is 'change nothing' "$(digest)" "$plain"
provenance trace.csv.zst >p.json
is 'nor what the head says' "$(json p.json '.options.engines, .options.reorder, .options["arrival-cv"]')" '1 1 1'
printf 'kvgen: {pipeline_parallel: 2, context_parallel: 2}\n' >stages.yaml
exits 'stages of a file where prefill takes time' 0 generate --gpu-profile h100 --num-gpus 1 --config stages.yaml
exits 'of the command line' 2 generate --gpu-profile h100 --config pipeline_parallel=2
stderr_like 'are refused' '^kvgen: --config pipeline_parallel: does not apply where prefill takes time$'
for setting in engines=2 reorder=2s arrival_cv=3; do
    exits "$setting of the command line" 2 generate --config "$setting"
    stderr_like 'is refused as an option is' "^kvgen: --config ${setting%%=*}: (needs|synthetic|applies only)"
done

# What shows late, when the input is open.
cat >none.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request
0.0,Write,4096,Tier-1,a,Prefill,1
0.1,Read,4096,Tier-1,a,Decode,2
END
served() { "$kvreplay" --null --timing served --workers 1 --summary s.json -o none "$@" none.csv; }
printf 'kvreplay:\n  admit: qos\n  only_users: 1\n' >qos.yaml
exits 'classes and users of a file where the trace has none' 0 served --config qos.yaml
is 'have no effect' "$(json s.json '.served.admit, .options.admit, .options["only-users"], .rows.ok')" 'fifo auto 0 2'
exits 'classes of the command line' 2 served --config qos.yaml --config admit=qos
stderr_like 'are refused' '^kvreplay: --config admit: qos needs the column QoS, which the trace has not$'
exits 'and its users' 2 served --config only_users=1
stderr_like 'too' '^kvreplay: --config only_users: the trace has no column User$'
echo 'kvgen: {max_gap: 1s}' >gap.yaml
echo '{"conversations": [{"from": "human", "value": "aaaa aaaa"}, {"from": "gpt", "value": "b"}]}' >talk.jsonl
for input in talk.jsonl "$DATA/recordings/dynamo-1.6.1.satf.json"; do
    exits "gaps of a file in an input without: ${input##*/}" 0 "$kvgen" --config gap.yaml --input "$input" -o gap.csv.zst
    provenance gap.csv.zst >p.json
    is 'are not cut' "$(json p.json '.options["max-gap"]')" 0
    exits 'of the command line' 2 "$kvgen" --config gap.yaml --config max_gap=1s --input "$input" -o none
    stderr_like 'are refused' '^kvgen: --config max_gap: (this dataset has no times|does not apply to steps)'
done

# Every default of --print-config, given, changes nothing.
sed 's/^  # \([a-z0-9_]*\): \(.*\)$/  \1: \2/' all.yaml | awk '
    /^kv[a-z]*:$/ { own = 1 } !own || !/^  [a-z0-9_]+: / { print; next }
    /: (TIME|SIZE|N|NAME=TIER|CLASS=TIME|DIR|RATE@TOKENS|TEXT|LIST)$/ || !/^  [a-z0-9_]+: [^ ]+$/ { print "  #" $0; next } { print }' >given.yaml
ok 'there are many' test "$(grep -c '^  [a-z0-9_]*: [^ ]*$' given.yaml)" -gt 80
exits 'all defaults of --print-config, given' 0 generate --config given.yaml
is 'are those that hold anyway' "$(digest)" "$plain"
provenance trace.csv.zst >p.json
is 'which is why none is told' "$(json p.json .configuration)" null
stderr_unlike 'without a word' 'config|ignored'
exits 'also for a replay' 0 "$kvreplay" --null --config given.yaml -o none trace.csv.zst
exits 'a report' 0 "$kvstat" --config given.yaml trace.csv.zst
exits 'and a fill' 0 "$kvprecond" --size 1M --config given.yaml f

# ---- what is wrong ----

# refused NAME TEXT WHY: a file with TEXT, for all four programs.
refused() {
    printf '%b' "$2" >wrong.yaml
    for program in $programs; do
        case $program in kvprecond) set -- "$1" "$2" "$3" --size 1M f ;; kvgen) set -- "$1" "$2" "$3" -o none ;; *) set -- "$1" "$2" "$3" trace.csv.zst ;; esac
        name=$1 why=$3
        shift 3
        exits "$name: $program" 2 "$BIN/$program" --config wrong.yaml "$@"
        stderr_like "$program says why" "^$program: wrong\\.yaml:$why\$"
        set -- "$name" "$(cat wrong.yaml)" "$why"
    done
}
refused 'a value out of range' 'kvreplay:\n  rings: 65' '2: kvreplay\.rings: 65 is above 64'
refused 'a word that is none' 'kvreplay:\n  on_lag: stp' "2: kvreplay\\.on_lag: 'stp' is not one of: continue, skip-wait, stop; did you mean stop\\?"
refused 'no size' 'kvprecond: {file_size: big}' "1: kvprecond\\.file_size: 'big' is not a size .*"
refused 'neither true nor false' 'kvreplay:\n  sqpoll: maybe' "2: kvreplay\\.sqpoll: 'maybe' is not true or false"
refused 'two values for one' 'kvgen:\n  sample: [1, 2]' '2: kvgen\.sample: expected one value'
refused 'a section that is none' 'kvreply:\n  rings: 2' '1: kvreply: unknown key; did you mean kvreplay\?'
refused 'no value' 'kvgen:\n  sample:' '2: kvgen\.sample: expected one value'
refused 'a key that is none' 'kvstat:\n  max_group: 3' '2: kvstat\.max_group: unknown key; did you mean max_groups\?'
refused 'an option of the command line' 'kvstat:\n  max_groups: 3\n  by: user' '3: kvstat\.by: not a key: it is the option --by'
refused 'a key twice' 'kvgen:\n  sample: 1\n  sample: 1' '3: kvgen\.sample: given twice \(first on line 2\)'
refused 'a key outside of its section' 'rings: 2' '1: rings: not a section: it is a key of the section kvreplay'
refused 'one that several have' 'threads: 2' '1: threads: not a section: it is a key of the section kvgen, kvreplay, kvstat'
refused 'a section called like a key' 'eviction: lfu' '1: eviction: a section: expected keys below it; the key eviction is one of the section kvgen'
refused 'a section without keys' 'kvgen: 3' '1: kvgen: a section: expected keys below it'
# late TEXT WHY COMMAND...: what its program finds wrong later than a file is read has the place, too.
late() {
    printf '%b' "$1" >late.yaml
    why=$2
    shift 2
    exits "a file with $why" 2 "$@" --config late.yaml
    stderr_like 'has its line' "^${1##*/}: late\\.yaml:$why"
}
late 'kvreplay:\n  spin: long' '2: kvreplay\.spin: long: expected auto or a time' "$kvreplay" --null --timing trace -o none trace.csv.zst
late 'kvreplay:\n\n  lateness_budget: -3' '3: kvreplay\.lateness_budget: -3: expected a time' "$kvreplay" --null --timing trace -o none trace.csv.zst
late 'kvreplay: {qos_p95: [a=b]}' '1: kvreplay\.qos_p95: a=b: expected' "$kvreplay" --null --autoscale qos --each false -o none
late 'kvgen:\n  decode_rate: x' '2: kvgen\.decode_rate: "x" is not RATE' "$kvgen" --gpu-profile h100 --cache vllm -o none
late 'kvgen:\n  segment_size: 5000' '2: kvgen\.segment_size: not a multiple' "$kvgen" --format fio -o x.iolog
late 'kvgen:\n  pipeline_parallel: 3' '2: kvgen\.pipeline_parallel: 3 ranks need as many GPUs' "$kvgen" -o none
late "kvgen: {medium: [$(seq -s , 65)]}" "1: kvgen\\.medium: '65' is one too many" "$kvgen" --input "$recording" -o none
late 'kvprecond:\n  file_size: 5000' '2: kvprecond\.file_size: not a multiple of 4 KiB' "$kvprecond" --size 1M f
printf 'kvprecond:\n  file_size: 5000' >late.yaml
exits 'a setting behind the file' 2 "$kvprecond" --size 1M --config late.yaml --config file_size=9000 f
stderr_like 'has its own' '^kvprecond: --config file_size: not a multiple'
printf 'kvreplay:\n  sqpoll: False\n  long: Yes\n' >case.yaml
exits 'true and false in the letters of YAML' 0 "$kvreplay" --null --config case.yaml --summary s.json -o none trace.csv.zst
is 'are such' "$(json s.json .options.long)" true
refused 'a key of another section' 'kvstat:\n  lag_limit: 3s' '2: kvstat\.lag_limit: not a key here: it is a key of the section kvreplay'
for setting in 'medium=a=1 --config medium: not a key here: it is a key of the section kvgen' \
    'threads=0x --config threads: '"'0x' is not a whole number" \
    'batch_size=3 --config batch_size: not a key here: it is the key decode.batch_size' \
    'rings=65 --config rings: 65 is above 64' 'ring=2 --config ring: unknown key; did you mean rings?' \
    'target=d --config target: not a key: it is the option --target' \
    'kvgen.chars_per_token=3 --config kvgen.chars_per_token: not a key here: it is the key sharegpt.chars_per_token_estimate' \
    'storage_p95=3 --config storage_p95: not a key here: it is the key saturation_detection.read_latency_p95_threshold_ms' \
    'kvgen.sample=x --config kvgen.sample: '"'x' is not a share (such as 0.1 or 10%)" \
    'decode.batch=3 --config decode.batch: unknown key; did you mean batch_size?'; do
    exits "--config ${setting%% *}" 2 "$kvreplay" --null --config "${setting%% *}" trace.csv.zst
    is 'says so' "$(cat stderr)" "kvreplay: ${setting#* }"
done
exits 'a key without a value' 2 "$kvgen" --config eviction -o none
is 'is no missing file' "$(cat stderr)" 'kvgen: --config: eviction is a key, which needs a value (eviction=...), and no file'
exits 'an option that was, where it has no meaning' 2 "$kvgen" --overlap layers -o none
stderr_like 'says first what to use' '^kvgen: --overlap: taken, but use --config overlap=layers [(]'
stderr_like 'and then what is wrong' '^kvgen: --config overlap: applies only to a simulated serving engine'
exits 'a configuration and a trace from standard input' 2 "$kvreplay" --null --config - <c.yaml
stderr_like 'cannot be' '^kvreplay: standard input: only one of --config and the trace can come from it$'
exits 'a key of the benchmark that means nothing here' 0 generate --config eviction.max_evictions_min=5
stderr_like 'is ignored with a word' '^kvgen: --config: key eviction\.max_evictions_min has no effect in kvtrace \(ignored\)$'
done_testing
