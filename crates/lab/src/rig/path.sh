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

# `for_so_long SECONDS COMMAND …`: ends what would go on for ever. What ends by itself has failed.
for_so_long() {
  SECONDS_OF_IT=$1
  shift
  ENDED=0
  timeout -s INT "$SECONDS_OF_IT" "$@" || ENDED=$?
  [ "$ENDED" != 124 ] || return 0
  echo "it ended before ${SECONDS_OF_IT} s were over, with status $ENDED" >&2
  return 1
}

# `tell_flow PUMP SERIES …`: what the first connection of a series came to, for the field `achieved` of the row.
tell_flow() {
  PROGRAM=$1
  shift
  FLOW=$("$PROGRAM" lab tcp-read --json "$@" | sed -n 's/.*"event":"tcp_flow"/{"event":"achieved"/p' | head -n 1)
  [ -n "$FLOW" ] && printf '%s\n' "$FLOW"
}

# `tell_shares PUMP SERIES …`: who got how much in each part of it, and Jain's indices.
tell_shares() {
  PROGRAM=$1
  shift
  "$PROGRAM" lab tcp-read --json "$@" > "$HOST/shares" || return
  field() { sed -n "s/.*\"event\":\"tcp_period\".*\"$1\":\($2\).*/\1/p" "$HOST/shares" | paste -s -d ,; }
  printf '{"event":"achieved","jain":[%s],"bytes_per_s":[%s]}\n' "$(field jain '[^,}]*')" "$(field bytes_per_s '\[[^]]*\]')"
}
