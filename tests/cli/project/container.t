#!/bin/sh
# container.t - examples/Containerfile: what it copies is what make static writes, its entry point is one of our programs, and it
# fetches nothing but its base image. Its steps run here as they would in an image, without a container. A bug looked like a
# name of the tarball that had changed, or an image that did not start.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
file=$TOP/examples/Containerfile

# Its instructions, a line each.
sed '/^ *#/d; /^ *$/d' "$file" | sed -e :a -e '/\\$/N; s/\\\n//; ta' >instructions
field() { sed -n "s/^$1 //p" instructions; }
is 'only instructions that are known here' "$(awk '{ print $1 }' instructions | grep -Evx 'FROM|ADD|RUN|WORKDIR|ENTRYPOINT')" ''
is 'one base image' "$(field FROM | wc -l)" 1
like 'with a name and a tag' "$(field FROM)" '^[a-z0-9./-]+:[a-z0-9.-]+$'
unlike 'nothing is fetched' "$(cat instructions)" 'https?://|ftp://|git@|(apt|apt-get|apk|dnf|yum|pip|npm|curl|wget|git|ssh|scp|rsync) '
like 'the glob of the tarball' "$(field ADD)" '^kvtrace-\*\.tar\.gz /opt/$'

# The tarball's name by the Makefile, in the folder that the recipe names as its context.
static=$(cd "$TOP" && MAKEFLAGS='' make -pn BUILD=build clean 2>/dev/null | sed -n 's/^STATIC_NAME := //p' | head -n 1)
version=$(sed -n 's/^VERSION := //p' "$TOP/Makefile")
like 'make static writes it by that name' "$static" '.'
ok 'and there' grep -q "^STATIC_DIR *:= *\$(BUILD)/static/" "$TOP/.ci/packaging/rules.mk"
ok 'which is the context in the recipe' grep -q '^#   docker build -f examples/Containerfile .* build/static  ' "$file"

# The steps, with / of the image in a folder here.
root=$TMP/root
mkdir -p "$root/opt" "$root/usr/local/bin" "$root/data" pack/kvtrace-"$version"-arch
cp -R "$TOP/examples" pack/kvtrace-"$version"-arch
mkdir pack/kvtrace-"$version"-arch/bin
for program in kvgen kvreplay kvstat kvprecond; do ln -s "$BIN/$program" pack/kvtrace-"$version"-arch/bin; done
ln -s ../examples/kvtrace pack/kvtrace-"$version"-arch/bin/kvtrace
tar -C pack -czf kvtrace-"$version"-arch.tar.gz kvtrace-"$version"-arch
for tarball in $(field ADD | cut -d ' ' -f 1); do ok 'ADD' tar -C "$root/opt" -xzf "$tarball"; done
field RUN | sed "s| /opt/| $root/opt/|g; s| /usr/| $root/usr/|g" >run.sh
ok 'RUN' sh -e run.sh
entry=$(field ENTRYPOINT | sed 's/^\["//; s/"\]$//')
is 'the entry point is a program of ours' "${entry##*/}" kvtrace
exits 'and starts' 0 env PATH=/usr/bin:/bin "$root$entry"
stdout_like 'with its questions' '^  drive '
exits 'and answers' 0 env PATH=/usr/bin:/bin "$root$entry" size -m tiny-1b -u 2 -t 20 -o "$TMP/size"
for program in kvgen kvreplay kvstat kvprecond; do
    ok "$program is in PATH" "$root/usr/local/bin/$program" --version
done
done_testing
