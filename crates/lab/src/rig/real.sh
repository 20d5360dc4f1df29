# What is otherwise where the two ends of a path are two real hosts, of which this one is the left: read behind path.sh.
#
# The other host has a pump (of the same path, or in PATH) and the programs that a study compares, and its user may log
# in over ssh without a password. `on` runs a command there. A folder there is this run's own and goes with it. Nothing
# of either host is changed.

there() {
  ${PUMP_LAB_SSH:-ssh} "$THERE" "$@"
}

# What the commands wrote to this run's folder is there, too, and speaks of the folder there.
bring() {
  mkdir -p "$HOST/brought" && cp "$HOST"/*_config "$HOST"/*.conf "$HOST"/*key* "$HOST"/sshd_* "$HOST/brought" 2> /dev/null
  grep -lI "$HOST/" "$HOST"/brought/* | while read -r NAME; do
    sed -i "s#$HOST/#$HOST-there/#g" "$NAME"
  done
  OURS="{ mkdir -m 700 '$HOST-there' 2> /dev/null || { [ -O '$HOST-there' ] && [ ! -L '$HOST-there' ]; }; }"
  tar -C "$HOST/brought" -cf - . | there "$OURS && tar -C '$HOST-there' -xf -" ||
    unavailable "no folder can be made on $THERE over ssh (PUMP_LAB_SSH has the words of ssh)"
}

# `start $RIGHT PROGRAM …`, as on one host; the ticket is brought here.
start() {
  bring
  "$@" &
  STARTED=$!
  for ROUND in $(seq 100); do
    if listens && bring_ticket "$*"; then return 0; fi
    kill -0 "$STARTED" 2> /dev/null || return 1
    sleep 0.1
  done
  echo "$2 does not listen on $THERE" >&2
  return 1
}

bring_ticket() {
  case $1 in
    *"$HOST/ticket"*) there "cat '$HOST-there/ticket'" > "$HOST/ticket" 2> /dev/null && has_ticket "$1" ;;
  esac
}

# `set_end END NAME VALUE`: it has to be so already.
set_end() {
  IS=$($1 cat "/proc/sys/net/ipv4/$2" | tr '\t' ' ')
  [ "$IS" = "$3" ] ||
    unavailable "$2 is '$IS' at one of the two hosts, and is not changed: sysctl -w net.ipv4.$2='$3' on both for this cell"
}

set_both() {
  set_end "$LEFT" "$@" && set_end "$RIGHT" "$@"
}

# The buffers of real hosts are part of what is measured.
wide_buffers() {
  :
}

use_stack() {
  set_both tcp_congestion_control "$1"
}

# `use_files memory SOURCE TARGET`: FROM is on both hosts, INTO on neither.
use_files() {
  SIZE=$(stat -c %s "$2")
  [ "$1" = memory ] || unavailable "on two real hosts files lie in memory; use file = \"memory\""
  MEMORY=$(mktemp -d /dev/shm/pump-lab-XXXXXXXX) || unavailable "there is no folder in memory (/dev/shm)"
  FROM=$MEMORY/source INTO=$MEMORY-there/copy
  cp "$2" "$FROM" || unavailable "the file has no room in memory (/dev/shm)"
  there "mkdir -m 700 -p '$MEMORY' '$MEMORY-there' && cat > '$FROM'" < "$2" ||
    unavailable "the file has no room in the memory of $THERE (/dev/shm)"
  mkdir -m 700 -p "$MEMORY-there"
}

synced() {
  "$@"
}

forget_there() {
  RESULT=$?
  trap '' TERM INT
  GONE="$HOST-there ${MEMORY:+$MEMORY $MEMORY-there}"
  there "rm -rf $GONE" 2> /dev/null
  rm -rf $GONE
  (exit $RESULT)
  unload_stacks
}
trap forget_there EXIT
