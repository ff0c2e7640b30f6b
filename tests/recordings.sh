# shellcheck shell=sh
# recordings.sh - for the tests of recordings: what must never be seen in an output, and chains of blocks.

# planted FILE...: prints what was planted in the samples (tests/data/README.md) and is found in the files, which may be
# compressed: names, words of a prompt, an address, token ids. Decimals and parts of longer numbers are none.
planted() {
    for planted_file; do
        zstd -dcqf -- "$planted_file" 2>/dev/null | cat - "$planted_file" |
            grep -aoP 'planted|zebra|192\.0\.2\.77|(?<![\w.-])9[1-5]\d{4}(?![\w.])|\bw\d{1,4}w\d+' | head -n 3
    done
}

# longest_chain: of lines PUBLISHER, PARENT, HASH..., the longest chain of parents.
longest_chain() {
    awk '{ n = depth[$1, $2]; for (i = 3; i <= NF; i++) { depth[$1, $i] = ++n; if (n > most) most = n } } END { print most + 0 }'
}
