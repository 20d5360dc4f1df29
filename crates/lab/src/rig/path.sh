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

# `set_end END NAME VALUE`
set_end() {
  $1 sh -c '{ echo "$1" > "/proc/sys/net/ipv4/$0"; } 2> /dev/null' "$2" "$3" ||
    unavailable "the kernel does not take $3 for $2"
}

# `needs_stack NAME`: a congestion control that this kernel has.
needs_stack() {
  grep -qw "$1" /proc/sys/net/ipv4/tcp_available_congestion_control ||
    unavailable "this kernel has no $1; it has $(cat /proc/sys/net/ipv4/tcp_available_congestion_control)"
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
  set_both tcp_no_metrics_save 1 && set_both tcp_wmem "4096 16384 134217728" &&
    set_both tcp_rmem "4096 131072 134217728"
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
  trap 'STATUS=$?; rm -rf "$MEMORY"; (exit $STATUS); put_back' EXIT
  cp "$FROM" "$MEMORY/source"
  FROM=$MEMORY/source INTO=$MEMORY/copy
}

# `timed COMMAND …`: moves SIZE bytes; its rate goes into the field `achieved` of the row.
timed() {
  SINCE=$(date +%s%N)
  "$@" || return
  UNTIL=$(date +%s%N)
  printf '{"event":"achieved","bytes_per_s":%d}\n' $((SIZE * 1000000 / ((UNTIL - SINCE) / 1000)))
}

# `synced COMMAND …`: until the file is on stable storage.
synced() {
  "$@" && sync "$INTO"
}

# `tell_flow PUMP SERIES …`: what the first connection of a series came to, for the field `achieved` of the row.
tell_flow() {
  PROGRAM=$1
  shift
  "$PROGRAM" lab tcp-read --json "$@" | sed -n 's/.*"event":"tcp_flow"/{"event":"achieved"/p' | head -n 1
}

# `tell_series PUMP SERIES`: the same of all its connections.
tell_series() {
  FLOWS=$("$1" lab tcp-read --json "$2" | sed -n '/"event":"tcp_flow"/s/"event":"tcp_flow",//p' | paste -s -d ,)
  printf '{"event":"achieved","flows":[%s]}\n' "$FLOWS"
}

# `tell_shares PUMP SERIES …`: who got how much in each part of it, and Jain's indices.
tell_shares() {
  PROGRAM=$1
  shift
  "$PROGRAM" lab tcp-read --json "$@" > "$HOST/shares" || return
  field() { sed -n "s/.*\"event\":\"tcp_period\".*\"$1\":\($2\).*/\1/p" "$HOST/shares" | paste -s -d ,; }
  printf '{"event":"achieved","jain":[%s],"bytes_per_s":[%s]}\n' "$(field jain '[^,}]*')" "$(field bytes_per_s '\[[^]]*\]')"
}
