# What is otherwise where the two ends of a path are two real hosts, of which this one is the left: read behind path.sh.
#
# The other host has a pump (of the same path, or in PATH) and the programs that a study compares, and its user may log
# in over ssh without a question. `on` runs a command there. A folder there is this run's own and goes with it. Nothing
# of either host is changed. While a cell runs, iperf3, mbuffer (into its own file) or a server of null: takes data from
# anybody who reaches the port.

SSH_OPTIONS='-o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3'
export SSH_OPTIONS

there() {
  ${PUMP_LAB_SSH:-ssh} $SSH_OPTIONS "$THERE" "$@"
}

# Settings and keys of servers, which speak of the folder there.
bring() {
  KNOWN_AS=$(there 'set -- $SSH_CONNECTION; echo "$3"')
  [ "${KNOWN_AS:-$RIGHT_ADDRESS}" = "$RIGHT_ADDRESS" ] ||
    unavailable "$THERE is $RIGHT_ADDRESS from here and $KNOWN_AS to itself: nothing can listen at the first"
  mkdir -m 700 -p "$HOST/brought"
  cp "$HOST"/*_config "$HOST"/sshd_* "$HOST"/host_key* "$HOST"/key.pub "$HOST/brought" 2> /dev/null
  sed -i "s#$HOST/#$HOST_THERE/#g" "$HOST"/brought/*_config "$HOST"/brought/sshd_*
  tar -C "$HOST/brought" -cf - . | there "tar -C '$HOST_THERE' --no-same-owner --no-overwrite-dir -xf -" ||
    unavailable "$THERE does not take settings and keys over ssh"
}

# `start $RIGHT PROGRAM …`, as on one host; the ticket is brought here.
start() {
  bring
  ! listens || unavailable "somebody listens at this port of $THERE"
  "$@" &
  STARTED=$!
  for ROUND in $(seq 100); do
    if listens && bring_ticket "$*"; then return 0; fi
    kill -0 "$STARTED" 2> /dev/null || { wait "$STARTED" && return 1; return; }
    sleep 0.1
  done
  echo "$3 does not listen on $THERE" >&2
  return 1
}

bring_ticket() {
  case $1 in
    *"$HOST/ticket"*) there "cat '$HOST_THERE/ticket'" > "$HOST/ticket" 2> /dev/null && has_ticket "$1" ;;
  esac
}

# What ssh and its own helpers do is not waited for.
sessions() {
  :
}

# `needs PROGRAM`, at both ends. A server without a password is for namespaces.
needs() {
  case $1 in
    rsync | nginx | rclone) unavailable "$1 is not run between real hosts: its server would be everybody's" ;;
  esac
  command -v "$1" > /dev/null || unavailable "$1 is not installed"
  there "PATH=\$PATH:/usr/sbin:/sbin; command -v '$1'" > /dev/null || unavailable "$1 is not installed on $THERE"
}

needs_stack() {
  for END in "$LEFT" "$RIGHT"; do
    STACKS=$($END cat /proc/sys/net/ipv4/tcp_available_congestion_control) || unavailable "$THERE does not answer"
    case " $STACKS " in
      *" $1 "*) ;;
      *) unavailable "one of the two hosts has no $1, only $STACKS: modprobe tcp_$1 there" ;;
    esac
  done
}

# `set_end END NAME VALUE`: it has to be so already.
set_end() {
  IS=$($1 cat "/proc/sys/net/ipv4/$2") || unavailable "$THERE does not answer"
  IS=$(echo "$IS" | tr '\t' ' ')
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

# `use_files memory SOURCE TARGET`: FROM is here, INTO there.
use_files() {
  SIZE=$(stat -c %s "$2")
  [ "$1" = memory ] || unavailable "on two real hosts files lie in memory; use file = \"memory\""
  MEMORY=$(mktemp -d /dev/shm/pump-lab-XXXXXXXX) || unavailable "there is no folder in memory (/dev/shm)"
  MEMORY_THERE=$(there mktemp -d /dev/shm/pump-other-XXXXXXXX) || unavailable "$THERE has no folder in memory (/dev/shm)"
  FROM=$MEMORY/source INTO=$MEMORY_THERE/copy
  cp "$2" "$FROM" || unavailable "the file has no room in memory (/dev/shm)"
}

synced() {
  "$@"
}

forget_there() {
  RESULT=$?
  trap '' TERM INT
  there "rm -rf '$HOST_THERE' ${MEMORY_THERE:+'$MEMORY_THERE'}" 2> /dev/null
  rm -rf ${MEMORY:+"$MEMORY"}
  (exit $RESULT)
  unload_stacks
}

case $HOST in
  *[!A-Za-z0-9/._-]*) unavailable "the folder of temporary files, $HOST, has a name that no shell of another host is given" ;;
esac
NAME=$(${PUMP_LAB_SSH:-ssh} -G "$THERE" | sed -n 's/^hostname //p')
RIGHT_ADDRESS=$(getent ahostsv4 "${NAME:-$THERE}" | sed -n '1s/ .*//p')
[ -n "$RIGHT_ADDRESS" ] || unavailable "'$THERE' has no address of IPv4"
LEFT_ADDRESS=$(ip route get "$RIGHT_ADDRESS" 2> /dev/null | sed -n 's/.* src \([^ ]*\).*/\1/p')
HOST_THERE=$(there mktemp -d /tmp/pump-other-XXXXXXXXXX) ||
  unavailable "ssh does not reach $THERE without a question (PUMP_LAB_SSH has the words of ssh)"
trap forget_there EXIT
# The server of scp takes the key as the user that it runs as.
there id -un | sed 's/^/  User /' >> "$HOST/ssh_config"
export THERE HOST HOST_THERE
