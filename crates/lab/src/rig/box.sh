# What the commands of a study share that need a path in a box: `. {host}/box.sh` reads it, disk.sh and host.sh.
#
# The path lies between two network namespaces that are made for the run and go with it.

# `lay_box PUMP WORDS …` lays a path with these words of `pump lab path`. LEFT and RIGHT are its namespaces, the right
# end has the address 10.89.0.2.
lay_box() {
  root_only "a path in a box between two network namespaces"
  PROGRAM=$1
  shift
  LEFT=pump-study-$$-left
  RIGHT=pump-study-$$-right
  "$PROGRAM" lab path --left "$LEFT" --right "$RIGHT" "$@" > "$HOST/box" &
  BOX=$!
  ENDS="$ENDS $BOX"
  for ROUND in $(seq 1000); do
    if grep -qs ready "$HOST/box"; then return; fi
    kill -0 "$BOX" 2> /dev/null || break
    sleep 0.01
  done
  unavailable "no path in a box can be laid here"
}

left() {
  nsenter --net="/run/netns/$LEFT" "$@"
}

# `start_right PUMP serve …` runs a server at the right end and waits until it listens at the study's port and its ticket
# is there.
start_right() {
  nsenter --net="/run/netns/$RIGHT" "$@" > /dev/null &
  ENDS="$! $ENDS"
  for ROUND in $(seq 1000); do
    if nsenter --net="/run/netns/$RIGHT" grep -qs ":$PORT_IN_HEX [0-9A-F]*:0000 0A" /proc/net/tcp &&
      has_ticket "$*"; then return; fi
    kill -0 $! 2> /dev/null || break
    sleep 0.01
  done
  echo "the server at the right end does not listen" >&2
  return 1
}

# The server before the path. A path that ends removes its namespaces.
end_box() {
  RESULT=$?
  trap '' TERM INT
  for END in $ENDS; do
    kill "$END" 2> /dev/null && wait "$END"
  done
  (exit $RESULT)
  put_back
}
ENDS=
trap end_box EXIT
