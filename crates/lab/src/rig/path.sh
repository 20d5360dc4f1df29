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
