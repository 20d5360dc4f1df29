#!/bin/sh
# `on COMMAND …` runs a command on the other host of a path, as its user's shell finds it, and ends it when this ends,
# however that is: what runs there reads a pipe that ends with the connection. An hour ends it too.
#
# THERE is the host's name, HOST this run's folder, HOST_THERE the one that stands for it there: paths below the first
# are given as paths below the second. No name of a folder has a `#`, a quote or a line's end in it, and no word has a
# line's end.

quoted() {
  for WORD in "$@"; do
    printf '%s\n' "$WORD" | sed "s#$HOST/#$HOST_THERE/#g; s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/"
  done | paste -s -d ' '
}

# timeout(1) makes a group of processes, which ends as a whole.
#
# A program of this host's path is looked up by its name, if it is not there. Its user's settings of pump are not those
# of a study.
WORDS=$(quoted "$@")
WORK="set -- $WORDS
PATH=\$PATH:/usr/sbin:/sbin
for NAME in \$(env | sed -n 's/^\\(PUMP_[A-Z_]*\\)=.*/\\1/p'); do unset \"\$NAME\"; done
exec 3<&0
[ -x \"\$1\" ] || { PROGRAM=\${1##*/}; shift; set -- \"\$PROGRAM\" \"\$@\"; }
timeout 3600 \"\$@\" < /dev/null 3<&- &
RUNS=\$!
{ while read -r NOTHING; do :; done; kill -TERM \$RUNS; sleep 1; kill -KILL -\$RUNS; } <&3 > /dev/null 2>&1 &
LOOKS=\$!
wait \$RUNS
RESULT=\$?
kill \$LOOKS
exit \$RESULT"

# A pipe that this process itself holds open for writing has no end before this process.
PIPE=$(mktemp -u "$HOST/on-XXXXXXXX") && mkfifo -m 600 "$PIPE" || exit
exec 4<> "$PIPE"
rm "$PIPE"
exec ${PUMP_LAB_SSH:-ssh} $SSH_OPTIONS "$THERE" \
  exec sh -c "$(printf '%s\n' "$WORK" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/")" <&4
