#!/bin/sh
# left_out.t - nothing of an input is dropped without a count: answers of every model, roles and their names, tools; groups of
# layers and media of events are told apart. A bug looked like turns that were gone without a word, or two objects taken for one.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

summary=$TMP/summary.json
generate() { told "$BIN/kvgen" --model tiny-1b "$@" --summary "$summary" -o "$TMP/trace.csv"; }
said() { # NAME REGEX: a remark of the last run
    like "$1" "$(cat "$TMP/err")" "^kvgen: .*: left out: $2\$"
}
text() { printf '{"from": "%s", "value": "%s"}' "$1" "$2"; }
talk() { # NAME TURNS CONTEXT ELEMENT
    printf '%s\n' "$4" >"$TMP/talk.json"
    generate --input "$TMP/talk.json" --generation-mode none --disable-prefix-caching
    is "$1" "$(json "$summary" '.requests.completed, .requests.context_tokens')" "$2 $3"
}
conversation() { printf '{"conversations": [%s]}' "$1"; }
q=$(text human 'aaaa aaaa aaaa')
talk 'answers of bing and bard' 3 5 "$(conversation "$q, $(text bing 'bbbb bbbb'), $(text human cccc), $(text bard dddd), $(text human eeee), $(text gpt ffff)")"
is 'nothing is left out' "$(json "$summary" '.read_as.remarks | length')" 0
talk 'roles in capitals' 1 3 "$(conversation "$(text USER 'aaaa aaaa aaaa'), $(text ASSISTANT b)")"
talk 'role and content' 1 5 \
    '{"conversations": [{"role": "user", "content": "hello there my friend"}, {"role": "assistant", "content": "hi"}]}'
talk 'messages' 1 5 '{"messages": [{"role": "user", "content": "hello there my friend"}, {"role": "assistant", "content": "hi"}]}'
talk 'messages of parts' 1 5 \
    '{"messages": [{"role": "user", "content": [{"type": "text", "text": "hello there "}, {"type": "image"}, {"type": "text", "text": "my friend"}]}, {"role": "assistant", "content": "hi"}]}'
talk 'tools: a call and what it says are turns' 2 4 \
    "$(conversation "$q, $(text function_call b), $(text observation cccc), $(text gpt d)")"
talk 'what a tool says belongs to the question' 1 4 "$(conversation "$q, $(text tool cccc), $(text gpt d)")"
talk 'an answer that is only a call' 1 4 \
    '{"messages": [{"role": "user", "content": "aaaa aaaa aaaa"}, {"role": "assistant", "content": null}, {"role": "tool", "content": "cccc"}, {"role": "assistant", "content": "d"}]}'
said 'is counted' 'messages without a text: 1'
talk 'what is no turn' 1 3 \
    "$(conversation "$(text system s), $(text gpt x), $(text human y), $q, $(text gpt z), $(text human u), $(text martian v), $(text gpt w), $(text human t)")"
said 'questions' 'questions without an answer behind them: 2'
said 'answers' 'answers without a question before them: 2'
said 'the system' 'texts of the system: 1'
said 'unknown roles' 'texts of roles that kvgen does not know: 1 \(the first: "martian"\)'
talk 'a long text' 1 16384 "$(conversation "$(text human "$(head -c 70000 /dev/zero | tr '\0' a)"), $(text gpt z)")"
said 'loses its end' 'ends of texts that are longer than the most tokens of a turn: 1'

# TensorRT-LLM: one hash in two groups of layers is two objects.
event() { # ID TYPE LAYERS
    if [ "$2" = stored ]; then
        data='"parent_hash": null, "blocks": [{"type": "stored_block", "block_hash": 111, "tokens": [{"token_id": 1}], "cache_level": 0}]'
    else data='"block_hashes": [111]'; fi
    printf '{"event_id": %s, "data": {"type": "%s", %s}, "window_size": 4096%s}\n' "$1" "$2" "$data" "$3"
}
blocks() { json "$summary" '.recording | .stored, .stored_again, .removed, .removed_not_known, .resident[0].blocks'; }
{ event 1 stored ', "layer_group_id": 0' && event 2 stored ', "layer_group_id": 1' && event 3 removed ', "layer_group_id": 1'; } >"$TMP/e.jsonl"
generate --input "$TMP/e.jsonl"
is 'two groups of layers' "$(blocks)" '2 0 1 0 1'
{ event 1 stored '' && event 2 stored '' && event 3 removed ''; } >"$TMP/e.jsonl"
generate --input "$TMP/e.jsonl"
is 'no groups of layers' "$(blocks)" '2 1 1 0 0'
{ event 1 stored ', "layer_group_id": 2' && event 2 stored ', "layer_group_id": 2' && event 3 removed ', "layer_group_id": 0'; } >"$TMP/e.jsonl"
generate --input "$TMP/e.jsonl"
is 'one group, and a removal of another' "$(blocks)" '2 1 1 1 1'

# Media of Tier-2 are stores of their own.
media() { # MEDIUM...: a block that each of them stores, and then removes
    echo '{"kvtrace":"capture","version":1}'
    for event in stored removed; do
        for medium; do
            printf '{"ts":1,"publisher":"%032d","rank":0,"event":"%s","medium":"%s","tokens":16,"hashes":["%032d"]}\n' 1 $event "$medium" 2
        done
    done
}
rows() { awk -F, '$2 == "Write" || $2 == "Delete" { print $2 ":" $4 }' "$TMP/trace.csv" | tr '\n' ' '; }
media EXTERNAL DISK >"$TMP/m.jsonl"
generate --input "$TMP/m.jsonl"
is 'each of two stores writes' "$(rows)" 'Write:Tier-2 Write:Tier-2 Delete:Tier-2 '
media CPU CPU_PINNED >"$TMP/m.jsonl"
generate --input "$TMP/m.jsonl"
is 'names of one memory do not' "$(rows)" 'Write:Tier-1 Delete:Tier-1 '
for medium in FS OBJ STORAGE SHARED_STORAGE CPU_TIER2 fs; do
    media $medium >"$TMP/m.jsonl"
    generate --input "$TMP/m.jsonl"
    is "$medium is known" "$(rows)" 'Write:Tier-2 Delete:Tier-2 '
done
done_testing
