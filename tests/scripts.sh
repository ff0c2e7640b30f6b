# shellcheck shell=sh
# scripts.sh - for the tests of the scripts of examples, after lib.sh: programs that stand in for ours and for ssh, so that a
# script runs from its first to its last line in a moment. Each looks in its arguments for one that is $WANT ($WANT_2 to $WANT_4),
# writes $SEEN/PROGRAM.1 (.2 to .4) then, and the files that it is told to write. The test runs in $TMP from here on.
cd "$TMP" || exit 1
EXAMPLES=$TOP/examples
STUBS=$TMP/stubs
SEEN=$TMP/seen
export STUBS SEEN KVTRACE_BIN="$STUBS"
mkdir "$STUBS" "$SEEN" machine machine/proc disk
unset BUILD KVTRACE_SESSION KVTRACE_COMMAND

# A machine with one disk, so that a folder is proposed everywhere.
export DISCOVER_ROOT="$TMP/machine"
printf 'MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n' >machine/proc/meminfo
echo "/dev/sda1 $TMP/disk ext4 rw 0 0" >machine/proc/mounts

cat >"$STUBS/looks" <<'END'
# Sourced by each: what is wanted, and what is to be written.
figures='{
  "version": "1",
  "valid": true,
  "elapsed_s": 1,
  "source": "users",
  "cache": {
    "tiers": [
      {
        "tier": "Tier-2",
        "copy_bytes": 65536
      }
    ]
  },
  "window": {
    "rows": 3
  },
  "confirmed": {
    "cause": "drive_slower_than_its_model"
  },
  "autoscaling": {
    "users": 3
  },
  "requests": {
    "issued": 9,
    "completed": 9
  }
}'
case " $* " in *' --dry-run '*) exit 0 ;; esac
before='' summary='' output='' form=''
for word; do
    number=0
    for want in "$WANT" ${WANT_2:+"$WANT_2"} ${WANT_3:+"$WANT_3"} ${WANT_4:+"$WANT_4"}; do
        number=$((number + 1))
        if [ "$word" = "$want" ]; then : >"$SEEN/${0##*/}.$number"; fi
    done
    case $before in --summary) summary=$word ;; -o | --output) output=$word ;; --mlperf | --html | --xlsx | --plot | --fio-job | --curve) echo '{}' >"$word" ;; esac
    case $word in --json) form=json ;; --version) echo stub 1 && exit 0 ;; esac
    before=$word
done
case $summary in *'{rank}'*) summary=${summary%%'{rank}'*}${rank-}${summary#*'{rank}'} ;; esac
if [ -n "$summary" ]; then printf '%s\n' "$figures" >"$summary"; fi
case $output in '' | none) ;; -) echo row ;; *) echo row >"$output" ;; esac
# Of kvstat: the rate of a point of kvtrace model, which is known.
case " $* " in *' --knee --csv '*) printf 'In_Flight,Bytes_Per_s,...\n1,409600,409600,409600,1.0,1.0,1.0,0.990,2,1000,1,0,0\n' ;; esac
END
cat >"$STUBS/kvprecond" <<'END'
#!/bin/sh
. "$STUBS/looks"
END
cat >"$STUBS/kvgen" <<'END'
#!/bin/sh
. "$STUBS/looks"
for word; do
    if [ "$before" = --answer ]; then printf '%s\n' "$figures" >"$word"; fi
    before=$word
done
END
cat >"$STUBS/kvstat" <<'END'
#!/bin/sh
. "$STUBS/looks"
if [ "$form" = json ]; then printf '%s\n' "$figures"; fi
END
# As the real one, it runs the command of --each with a number in the place of {N}, and knows its rank.
cat >"$STUBS/kvreplay" <<'END'
#!/bin/sh
if [ "$1" = --part ]; then rank=${2%/*}; fi
. "$STUBS/looks"
before=''
for word; do
    if [ "$before" = --each ]; then
        command=''
        while :; do
            case $word in
            *'{N}'*) command="$command${word%%'{N}'*}3" word=${word#*'{N}'} ;;
            *) break ;;
            esac
        done
        sh -c "$command$word"
    fi
    before=$word
done
END
# Another host is this machine.
cat >"$STUBS/ssh" <<'END'
#!/bin/sh
. "$STUBS/looks"
while [ "$1" = -o ]; do shift 2; done
shift
printf '%s\n' "$*" >>"$SEEN.ssh"
exec sh -c "$*"
END
cat >"$STUBS/fio" <<'END'
#!/bin/sh
echo '{}'
END
# A small drive, of which a measurement has a few points: it holds 32 objects of 64 KiB.
cat >"$STUBS/df" <<'END'
#!/bin/sh
printf 'Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 10900 0 10900 0%% /\n'
END
cat >"$STUBS/sai3-bench" <<'END'
#!/bin/sh
. "$STUBS/looks"
END
chmod +x "$STUBS"/*
# pack: the programs in a tarball, as make static writes it.
pack() {
    mkdir -p packed/kvtrace/bin
    cp "$STUBS/kvreplay" packed/kvtrace/bin
    tar -C packed -czf kvtrace.tar.gz kvtrace
}
pack
# make_tree: a source tree with these programs in the folder tree, where make has nothing to do.
make_tree() {
    mkdir -p tree/build
    cp -R "$EXAMPLES" tree
    ln -s "$STUBS" tree/build/bin
    printf 'all:\n\t@:\n' >tree/Makefile
    printf '#!/bin/sh\n' >tree/install-deps.sh
    chmod +x tree/install-deps.sh
    unset MAKEFLAGS MFLAGS MAKELEVEL
}
echo '{"program": "kvtrace model", "valid": true}' >drive.json
printf 'row\n' >trace
: >dataset
SCRIPT_PATH=$STUBS:$PATH
: "$SCRIPT_PATH" "$EXAMPLES" # for the tests
