#!/bin/sh
# without_libcurl.t - libcurl and libnvme are loaded when they are needed: where they are not here, or cannot be used, all else
# runs, and a store on S3 is refused with the reason. A bug looked like programs that did not start without them, and loaded
# forty libraries at each start, which took longer than all else.
# builds: plain
. "$(dirname "$0")/../../lib.sh"
cd "$TMP" || exit 1
if ! built_with KVTRACE_S3=1; then skip_all 'built without libcurl'; fi
if built_with fsanitize; then skip_all 'sanitizers look for their own libraries'; fi

printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,4096,Tier-2,a,Prefill\n' >t.csv
mkdir none other
for library in libcurl.so.4 libnvme.so.1; do
    echo 'no library' >none/$library
    cp "${BIN%/bin}/tests/faults/refuse.so" other/$library
done
replay() { LD_LIBRARY_PATH=$1 "$BIN/kvreplay" --progress none --cpu-mem 1MiB -o none --target "$2" t.csv; }
s3='s3://bucket/x?endpoint=http://127.0.0.1:1'
AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
for where in none other; do
    exits "$where: a folder is replayed" 0 replay "$PWD/$where" objects.$where
    exits "$where: S3 is refused" 3 replay "$PWD/$where" "$s3"
done
stderr_like 'one that is another: what it lacks' 'S3 needs a newer libcurl: libcurl\.so\.4 has no curl_'
replay "$PWD/none" "$s3" 2>stderr
like 'none: the reason' "$(cat stderr)" 'S3 needs libcurl: .*libcurl\.so\.4'
exits 'kvprecond starts' 0 env LD_LIBRARY_PATH="$PWD/none" "$BIN/kvprecond" --version
exits 'kvprecond refuses S3' 3 env LD_LIBRARY_PATH="$PWD/none" "$BIN/kvprecond" --progress none --size 1MiB --mode stream --target "$s3"
stderr_like 'with the reason' 'S3 needs libcurl: '
done_testing
