#!/bin/sh
# `on COMMAND …` runs a command on the other host of a path, as its user's shell finds it, and ends it when this ends,
# however that is: what runs there reads a pipe that ends with the connection.
#
# THERE is the host's name and HOST this run's folder. Paths below that folder stand for a folder of the same name with
# `-there` behind it, so that a host may be its own other host.

quoted() {
  for WORD in "$@"; do
    printf '%s\n' "$WORD" | sed "s#$HOST/#$HOST-there/#g; s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/"
  done | paste -s -d ' '
}

# A program of this host's path is looked up by its name, if it is not there.
WORDS=$(quoted "$@")
WORK="set -- $WORDS
exec 3<&0
[ -x \"\$1\" ] || { PROGRAM=\${1##*/}; shift; set -- \"\$PROGRAM\" \"\$@\"; }
\"\$@\" < /dev/null 3<&- &
RUNS=\$!
{ while read -r NOTHING; do :; done; kill -9 \$RUNS; } <&3 > /dev/null 2>&1 &
LOOKS=\$!
wait \$RUNS
RESULT=\$?
kill \$LOOKS
exit \$RESULT"

# A pipe that this process itself holds open for writing has no end before this process.
PIPE=$(mktemp -u "$HOST/on-XXXXXXXX") && mkfifo -m 600 "$PIPE" || exit
exec 4<> "$PIPE"
rm "$PIPE"
exec ${PUMP_LAB_SSH:-ssh} "$THERE" exec sh -c "$(printf '%s\n' "$WORK" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/")" <&4
