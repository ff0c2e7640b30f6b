#!/bin/sh
# seeds.t - kvreplay on traces, stores, faults, kills and restarts that are drawn from seeds, against a model
# (tests/simulation/simulate): 14 seeds, which have each kind of store, and those that found something. A seed goes the same
# way again, and each of three bugs planted on purpose is found. `make simulate` takes more seeds. Bugs looked like a stopped run that lost its
# objects without a word, or a slab without a header that the next run took for somebody else's.
# SEEDS=A:B takes others.
# builds: plain (sanitizers come before what is preloaded)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
command -v python3 >/dev/null || skip_all 'no python3'
for part in faulty.so look; do
    [ -e "${BIN%/bin}/tests/simulation/$part" ] || skip_all "$part was not built (make unit)"
done
simulate() { "$TOP/tests/simulation/simulate" --build "${BIN%/bin}" "$@"; }

ok 'the model has all that happens' simulate --seeds "${SEEDS:-1,2,3,4,5,6,7,8,9,10,11,12,17,24}" --jobs 2
ok 'where something was found' simulate --seeds 1149,1243,1310,1904,2242,2267,2298,3986 --jobs 2
ok 'a seed goes the same way again' tries 3 simulate --seeds 5:6 --exact --twice --jobs 2
for bug in drop stale marker; do
    ok "planted: $bug" simulate --seeds 200 --plant $bug --until-found --jobs 2
done
done_testing
