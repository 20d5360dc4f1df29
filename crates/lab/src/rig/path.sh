# What the commands of a study share whose programs are at the two ends of a path: `. {host}/path.sh` reads it, disk.sh
# and host.sh.
#
# `$LEFT COMMAND …` and `$RIGHT COMMAND …` run at an end, $LEFT_ADDRESS and $RIGHT_ADDRESS are its addresses. Servers run
# at the right one: `start $RIGHT PROGRAM …`.

# Also of a server in a namespace of its own.
listens() {
  $RIGHT grep -qs ":$PORT_IN_HEX [0-9A-F]*:0000 0A" /proc/net/tcp /proc/net/tcp6
}

# `set_both NAME VALUE`: a setting below /proc/sys/net/ipv4 of both ends, which goes with the path.
set_both() {
  [ -n "$RIGHT" ] || unavailable "$1 is not changed for this whole machine; use path = \"box\""
  set_end "$LEFT" "$@" && set_end "$RIGHT" "$@"
}

# No path here fills them.
wide_buffers() {
  set_both tcp_wmem "4096 16384 134217728" && set_both tcp_rmem "4096 131072 134217728"
}

# `set_end END NAME VALUE`
set_end() {
  $1 sh -c '{ echo "$1" > "/proc/sys/net/ipv4/$0"; } 2> /dev/null' "$2" "$3" ||
    unavailable "the kernel does not take $3 for $2"
}

# `needs_stack NAME`: a congestion control. One that the kernel lacks is loaded for as long as the command runs, if there
# is a pump-stacks, of PUMP_STACKS or in PATH, that can.
needs_stack() {
  has_stack "$1" || load_stack "$1" || unavailable "this kernel has no $1, only $(available_stacks); $WHY"
}

available_stacks() {
  cat /proc/sys/net/ipv4/tcp_available_congestion_control
}

has_stack() {
  available_stacks | grep -qw -e "$1"
}

# WHY says why not. Nobody but root is asked for net.ipv4.tcp_allowed_congestion_control, and only root loads.
load_stack() {
  LOADER=$(command -v "${PUMP_STACKS:-pump-stacks}") || {
    WHY="pump-stacks, which loads highspeed and scalable, is not installed: docs/studies/tcp.md"
    return 1
  }
  "$LOADER" --with-parent "$1" > "$HOST/stack-$1" 2> "$HOST/stack-$1-why" &
  LOADERS="$LOADERS $!"
  for ROUND in $(seq 1000); do
    if has_stack "$1" && [ -s "$HOST/stack-$1" ]; then return 0; fi
    kill -0 $! 2> /dev/null || break
    sleep 0.01
  done
  WHY=$(head -n 1 "$HOST/stack-$1-why")
  WHY=${WHY:-pump-stacks does not load it}
  return 1
}

# Behind the command: its connections keep what they use.
unload_stacks() {
  RESULT=$?
  trap '' TERM INT
  [ -z "$LOADERS" ] || { kill $LOADERS 2> /dev/null; wait $LOADERS 2> /dev/null; }
  (exit $RESULT)
  put_back
}
LOADERS=
trap unload_stacks EXIT

# `for_so_long SECONDS COMMAND …`: ends what would go on for ever. What ends by itself has failed. A group of processes
# of its own (without --foreground) would not hear that the study is stopped.
for_so_long() {
  SECONDS_OF_IT=$1
  shift
  ENDED=0
  timeout --foreground -s INT "$SECONDS_OF_IT" "$@" || ENDED=$?
  [ "$ENDED" != 124 ] || return 0
  echo "it ended before ${SECONDS_OF_IT} s were over, with status $ENDED" >&2
  return 1
}

# `needs PROGRAM`
needs() {
  command -v "$1" > /dev/null || unavailable "$1 is not installed"
}

# `use_stack NAME`: the congestion control of both ends, for all programs, with buffers that no path here fills, and
# nothing remembered of connections before. It is set by the route: the setting of a namespace takes no more than what
# this machine allows to everybody (tcp_allowed_congestion_control).
use_stack() {
  needs_stack "$1" && needs ip
  set_both tcp_no_metrics_save 1 && wide_buffers
  for END in "$LEFT" "$RIGHT"; do
    $END ip route replace $($END ip route show | head -n 1) congctl "$1" ||
      unavailable "the kernel does not take $1 for the route of the path"
  done
}

# `use_files memory|disk SOURCE TARGET`: FROM is a file of SIZE bytes, and INTO a name that no file has. In memory (files
# in /dev/shm) both go with the command.
use_files() {
  FROM=$2 INTO=$3
  SIZE=$(stat -c %s "$FROM")
  [ "$1" = memory ] || return 0
  MEMORY=$(mktemp -d /dev/shm/pump-lab-XXXXXXXX) || unavailable "there is no folder in memory (/dev/shm)"
  trap 'STATUS=$?; trap "" TERM INT; rm -rf "$MEMORY"; (exit $STATUS); unload_stacks' EXIT
  cp "$FROM" "$MEMORY/source" || unavailable "the file has no room in memory (/dev/shm)"
  FROM=$MEMORY/source INTO=$MEMORY/copy
}

# `timed COMMAND …`: moves SIZE bytes; its rate goes into the field `achieved` of the row.
timed() {
  SINCE=$(date +%s%N)
  "$@" || return
  UNTIL=$(date +%s%N)
  printf '{"event":"achieved","bytes_per_s":%d}\n' $((SIZE * 1000000 / ((UNTIL - SINCE) / 1000)))
}

# `iperf3_for PORT SECONDS FILE [OPTION …]`: its rate behind its first quarter.
iperf3_for() {
  needs iperf3
  PORT_OF_IT=$1 SECONDS_OF_IT=$2 PRINTED=$3
  shift 3
  start $RIGHT iperf3 -s -1 -p "$PORT_OF_IT" > /dev/null &&
    $LEFT iperf3 -c "$RIGHT_ADDRESS" -p "$PORT_OF_IT" -f k -t "$SECONDS_OF_IT" -O $((SECONDS_OF_IT / 4)) "$@" > "$PRINTED" &&
    awk '$NF == "receiver" { rate = $(NF - 2) }
      END { printf "{\"event\":\"achieved\",\"bytes_per_s\":%d}\n", rate * 125 }' "$PRINTED"
}

# `synced COMMAND …`: until the file is on stable storage.
synced() {
  "$@" && sync "$INTO"
}

# `tell_event NAME LINES`: the event of that name goes into the field `achieved` of the row.
tell_event() {
  printf '%s\n' "$2" | sed "s/\"event\":\"$1\"/\"event\":\"achieved\"/"
}

# `tell_flow PUMP SERIES …`: what the first connection of a series came to, for the field `achieved` of the row.
tell_flow() {
  PROGRAM=$1
  shift
  FLOW=$("$PROGRAM" lab tcp-read --json "$@" | sed -n 's/.*"event":"tcp_flow"/{"event":"achieved"/p' | head -n 1)
  [ -n "$FLOW" ] && printf '%s\n' "$FLOW"
}

# `tell_series PUMP SERIES`: the same of all its connections.
tell_series() {
  FLOWS=$("$1" lab tcp-read --json "$2" | sed -n '/"event":"tcp_flow"/s/"event":"tcp_flow",//p' | paste -s -d ,)
  printf '{"event":"achieved","flows":[%s]}\n' "$FLOWS"
}

# `keep_series SERIES`: ten samples a second of each connection stay beside the rows (the probe `tcp`).
keep_series() {
  awk 'match($0, /"time_ns":[0-9]+/) {
      time = int(substr($0, RSTART + 10, RLENGTH - 10) / 100000000)
      match($0, /"socket":[0-9]+/); socket = substr($0, RSTART, RLENGTH)
      if (last[socket] != time) { last[socket] = time; print }
    }' "$1" > "$HOST/kept"
}

# `tell_shares PUMP SERIES …`: who got how much in each part of it, and Jain's indices.
tell_shares() {
  PROGRAM=$1
  shift
  "$PROGRAM" lab tcp-read --json "$@" > "$HOST/shares" || return
  field() { sed -n "s/.*\"event\":\"tcp_period\".*\"$1\":\($2\).*/\1/p" "$HOST/shares" | paste -s -d ,; }
  REGIONS=$(seq -s , "$(grep -c '"event":"tcp_period"' "$HOST/shares")")
  printf '{"event":"achieved","regions":[%s],"jain":[%s],"bytes_per_s":[%s]}\n' "$REGIONS" \
    "$(field jain '[^,}]*')" "$(field bytes_per_s '\[[^]]*\]')"
}
