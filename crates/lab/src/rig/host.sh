# What the commands of a study share that move data between two programs: `. {host}/host.sh` reads it.
#
# `start PROGRAM …` runs a server beside the command and waits until it listens at {port}, and until the ticket is there
# that it writes to {host}/ticket, if it does. It ends with the command and is waited for, so that its CPU time is part
# of the command's; STARTED is its process.

PATH=$PATH:/usr/sbin:/sbin
STARTED=

# sshd wants to be called by its whole path.
start() {
  PROGRAM=$(command -v "$1") || { echo "$1 is not installed" >&2; return 127; }
  shift
  "$PROGRAM" "$@" &
  STARTED=$!
  for ROUND in $(seq 1000); do
    if listens && has_ticket "$*"; then return 0; fi
    kill -0 "$STARTED" 2> /dev/null || return 1
    sleep 0.01
  done
  echo "$PROGRAM does not listen" >&2
  return 1
}

# The kernel's table of sockets: the others' ways to look would take the one connection that nc and mbuffer wait for.
listens() {
  grep -qs ":$PORT_IN_HEX [0-9A-F]*:0000 0A" /proc/net/tcp /proc/net/tcp6
}

has_ticket() {
  case $1 in
    *"$HOST/ticket"*) [ -s "$HOST/ticket" ] ;;
  esac
}

# `readers N COMMAND …` runs a command N times at once, each time with the reader's number behind its words, and waits for
# all. The last line of each is printed, if it is the report of a pump; of a reader that gave none, what it ended with.
# The status is that of the first reader that failed.
readers() {
  READERS=$1
  FAILED=0
  PIDS=
  shift
  for READER in $(seq "$READERS"); do
    "$@" "$READER" > "$HOST/reader-$READER" &
    PIDS="$PIDS $!"
  done
  READER=0
  for PID in $PIDS; do
    READER=$((READER + 1))
    ENDED=0
    wait "$PID" || ENDED=$?
    REPORT=$(tail -n 1 "$HOST/reader-$READER")
    case $REPORT in
      '{'*'"event":"report"'*) ;;
      *) REPORT="{\"event\":\"reader\",\"exit_status\":$ENDED}" ;;
    esac
    printf '%s\n' "$REPORT"
    [ "$ENDED" != 0 ] || continue
    echo "reader $READER of $READERS ended with status $ENDED" >&2
    [ "$FAILED" != 0 ] || FAILED=$ENDED
  done
  return "$FAILED"
}

sessions() {
  cat "/proc/$STARTED/task/$STARTED/children" 2> /dev/null
}

# A session that outlives its server would be waited for by nobody, and its CPU time would be lost.
finish() {
  STATUS=$?
  trap - EXIT
  [ -n "$STARTED" ] || exit $STATUS
  for ROUND in $(seq 500); do
    [ -n "$(sessions)" ] || break
    sleep 0.01
  done
  # Asked to end, rsync takes 0.4 s for it. Nothing is going on any more, unless the command has failed.
  kill -9 $(sessions) "$STARTED" 2> /dev/null
  wait
  exit $STATUS
}
trap finish EXIT
