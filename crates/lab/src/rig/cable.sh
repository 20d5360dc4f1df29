# What the commands of a study share that need a network of their own: `. {host}/cable.sh` reads it, disk.sh and host.sh.
#
# The cable is a pair of virtual interfaces between two network namespaces, which go with their processes. This machine's
# own network is not touched.

# `beside_traffic MTU RATE PUMP COMMAND …` runs a command while so many bytes a second go over a cable in packets of at
# most MTU bytes, and tells what was reached. Its output is the command's.
beside_traffic() {
  root_only "a cable between two network namespaces"
  exec unshare --net sh -c '. "$0/cable.sh" && with_traffic "$@"' "$HOST" "$@"
}

with_traffic() {
  MTU=$1
  RATE=$2
  PROGRAM=$3
  shift 3
  lay "$MTU" || unavailable "no cable between two network namespaces can be made here"
  nsenter --net="/proc/$FAR/ns/net" "$PROGRAM" serve --insecure=bare --listen=198.18.0.2:7000 null: > /dev/null &
  SERVER=$!
  ENDS="$ENDS $SERVER"
  for ROUND in $(seq 1000); do
    # Port 7000.
    if grep -qs ":1B58 [0-9A-F]*:0000 0A" "/proc/$SERVER/net/tcp" || ! kill -0 "$SERVER"; then break; fi
    sleep 0.01
  done
  "$PROGRAM" copy --quiet --insecure=bare --bwlimit="$RATE" null:1PiB pump://198.18.0.2:7000/x &
  TRAFFIC=$!
  ENDS="$ENDS $TRAFFIC"
  await_sent 1000000 || unavailable "no traffic goes over the cable"
  # At first all buffers on the way are filled, faster than the rate.
  sleep 1
  sent
  BYTES_BEFORE=$BYTES
  PACKETS_BEFORE=$PACKETS
  BEGUN=$(date +%s%N)
  OUTPUT=$("$@")
  RESULT=$?
  # It may have ended between two blocks of the traffic, and a few packets have no mean: the time until then counts.
  await_sent $((BYTES_BEFORE + 1000000)) || unavailable "no traffic went over the cable beside the command"
  ENDED=$(date +%s%N)
  tell_traffic $((BYTES - BYTES_BEFORE)) $((PACKETS - PACKETS_BEFORE)) $((ENDED - BEGUN))
  printf '%s\n' "$OUTPUT"
  return "$RESULT"
}

# FAR is a process of the other side.
lay() {
  unshare --net sleep 86400 &
  FAR=$!
  ENDS="$ENDS $FAR"
  for ROUND in $(seq 500); do
    [ "$(readlink "/proc/$FAR/ns/net")" = "$(readlink /proc/self/ns/net)" ] || break
    sleep 0.01
  done
  ip link add cable0 mtu "$1" type veth peer name cable1 mtu "$1" netns "$FAR" || return
  # One segment a packet: else the kernel passes on 64 KiB at once, whatever the MTU is.
  ip link set cable0 gso_max_segs 1 up && ip address add 198.18.0.1/24 dev cable0 || return
  nsenter --net="/proc/$FAR/ns/net" sh -c \
    'ip link set cable1 gso_max_segs 1 up && ip address add 198.18.0.2/24 dev cable1 && ip link set lo up'
}

# BYTES and PACKETS that went out so far: proc_net_dev, the ninth figure and the tenth.
sent() {
  set -- $(sed -n 's/^ *cable0://p' /proc/net/dev)
  BYTES=$9
  shift
  PACKETS=$9
}

# Waits until so many bytes went out in all, unless the traffic ends.
await_sent() {
  for ROUND in $(seq 1000); do
    sent
    if [ "$BYTES" -ge "$1" ]; then return 0; fi
    kill -0 "$TRAFFIC" 2> /dev/null || return 1
    sleep 0.02
  done
  return 1
}

tell_traffic() {
  PACKET=$(($1 / $2))
  # 14 bytes are the head of the frame.
  [ "$PACKET" -le $((MTU + 14)) ] || unavailable "packets of $PACKET bytes went over a cable of MTU $MTU"
  printf '{"event":"achieved","traffic_bytes_per_s":%s,"packet_bytes":%s}\n' $(($1 * 1000 / ($3 / 1000000 + 1))) "$PACKET"
}

end_traffic() {
  RESULT=$?
  trap '' TERM INT
  kill $ENDS 2> /dev/null
  wait
  (exit $RESULT)
  put_back
}
ENDS=
trap end_traffic EXIT
