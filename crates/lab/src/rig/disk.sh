# What the commands of a study share that is about the disk below a folder: `. {host}/disk.sh` reads it, and host.sh.
#
# What cannot be done or means nothing here ends the command with status 69, which is the outcome `unavailable`. A
# setting of the disk is put back when the command ends, and its control group and loop devices go.

unavailable() {
  echo "$*" >&2
  exit 69
}

root_only() {
  [ "$(id -u)" = 0 ] || unavailable "$1: only root may"
}

# DISK is the kernel's name of the whole disk below a path, SYS its folder in /sys.
find_disk() {
  DEVICE=$(df --output=source "$1" | tail -n 1)
  DISK=$(basename "$(readlink -f "$DEVICE")")
  SYS=$(readlink -e "/sys/class/block/$DISK")
  [ -z "$SYS" ] || [ ! -e "$SYS/partition" ] || SYS=${SYS%/*}
  DISK=${SYS##*/}
  [ -n "$DISK" ]
}

setting() {
  sed 's/.*\[\(.*\)\].*/\1/' "$SYS/queue/$1"
}

# For the field `achieved` of the row.
tell_disk() {
  printf '{"event":"achieved","disk":"%s","rotational":%s,"scheduler":"%s","read_ahead_kib":%s}\n' \
    "$DISK" "$(setting rotational)" "$(setting scheduler)" "$(setting read_ahead_kb)"
}

# Why it means nothing where something lies on the disk, or in which order requests reach it.
why_no_place() {
  case $SYS in
    */devices/virtual/*) echo "$DISK is no disk: the kernel makes it of something else"; return ;;
    */virtio* | */vbd-* | */xen*) echo "$DISK is a virtual disk, and its places are not those of a real one"; return ;;
  esac
  if grep -qsw hypervisor /proc/cpuinfo; then
    echo "this machine is virtual, and so $DISK may be"
  elif [ "$(setting rotational)" != 1 ]; then
    echo "$DISK does not turn (rotational is 0)"
  fi
}

turning_only() {
  WHY=$(why_no_place)
  [ -z "$WHY" ] || unavailable "$1: $WHY"
}

# `set_disk NAME VALUE`: a setting of the disk's queue, until the command ends.
set_disk() {
  root_only "$1 of $DISK"
  WAS=$(setting "$1")
  SET=$SYS/queue/$1
  { echo "$2" > "$SET"; } 2> /dev/null || unavailable "$1 of $DISK cannot be $2 here; it is $WAS, of $(cat "$SET")"
}

# `new_loop FILE OPTION …` makes LOOP, a loop device with direct I/O.
new_loop() {
  LOOP_OF=$1
  shift
  LOOP=$(losetup --find --show --direct-io=on "$@" "$LOOP_OF") || unavailable "no loop device with direct I/O on $LOOP_OF"
  LOOPS="$LOOPS $LOOP"
}

# `new_group memory|blkio` makes GROUP, a control group: of version 1, or else of version 2, where blkio is io. Who goes in
# is held by the limits that are set: `sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$GROUP" COMMAND …`.
new_group() {
  root_only "a control group"
  GROUPS_AT=/sys/fs/cgroup/$1
  if [ ! -e "$GROUPS_AT/cgroup.procs" ]; then
    GROUPS_AT=/sys/fs/cgroup
    CONTROLLER=${1#blk}
    if ! grep -qsw "$CONTROLLER" $GROUPS_AT/cgroup.subtree_control; then
      { echo "+$CONTROLLER" > $GROUPS_AT/cgroup.subtree_control; } 2> /dev/null || unavailable "no control group for $CONTROLLER here"
      ENABLED=$CONTROLLER
    fi
  fi
  mkdir "$GROUPS_AT/pump-$$" || unavailable "no control group can be made in $GROUPS_AT"
  GROUP=$GROUPS_AT/pump-$$
}

limit_memory() {
  limit memory.limit_in_bytes "$1" memory.max "$1"
}

# `limit_rate read|write MAJOR:MINOR BYTES_PER_S`
limit_rate() {
  case $1 in read) KEY=rbps ;; write) KEY=wbps ;; esac
  limit "blkio.throttle.$1_bps_device" "$2 $3" io.max "$2 $KEY=$3"
}

limit() {
  [ -e "$GROUP/$1" ] || shift 2
  { echo "$2" > "$GROUP/$1"; } 2> /dev/null || unavailable "the control group takes no $1 of $2"
}

# A process that has just ended may still count.
leave_group() {
  echo $$ > "$GROUPS_AT/cgroup.procs"
  for ROUND in $(seq 100); do
    rmdir "$GROUP" 2> /dev/null && break
    sleep 0.01
  done
  [ -z "$ENABLED" ] || echo "-$ENABLED" > "$GROUPS_AT/cgroup.subtree_control"
}

# A stop is sent again and again, and must not end this.
put_back() {
  STATUS=$?
  trap '' TERM INT
  [ -z "$SET" ] || echo "$WAS" > "$SET"
  [ -z "$GROUP" ] || leave_group
  for LOOP in $LOOPS; do losetup --detach "$LOOP"; done
  (exit $STATUS)
  finish
}
SET=
LOOPS=
GROUP=
ENABLED=
trap put_back EXIT
# A shell that a signal ends would put nothing back.
trap 'exit 143' TERM
trap 'exit 130' INT

# `read_in_parts N FILE COMMAND …` runs a command like `pump lab access` N times at once, each with its part of the file.
read_in_parts() {
  PARTS=$1
  FILE=$2
  shift 2
  readers "$PARTS" read_part "$@"
}

# The last word is the reader's number.
read_part() {
  LEFT=$#
  for WORD in "$@"; do
    shift
    LEFT=$((LEFT - 1))
    [ "$LEFT" = 0 ] || set -- "$@" "$WORD"
  done
  exec "$@" --part="$WORD/$PARTS" "$FILE"
}

# `read_at first|middle|last BYTES PUMP REQUEST_SIZE` reads so much of the disk itself, at this place.
read_at() {
  turning_only "position"
  root_only "position: the disk itself is read"
  END=$(($(cat "$SYS/size") * 512 - $2))
  [ "$END" -ge 0 ] || unavailable "position: $DISK has no $2 bytes"
  case $1 in first) AT=0 ;; middle) AT=$((END / 2)) ;; last) AT=$END ;; esac
  AT=$((AT / 1048576 * 1048576))
  new_loop "/dev/$DISK" --read-only --offset "$AT" --sizelimit "$2"
  PROGRAM=$3
  REQUEST=$4
  readers 1 read_device
}

read_device() {
  exec "$PROGRAM" copy --json --devices --direct=always --request-size="$REQUEST" --depth=1 --lanes=1 "$LOOP" null:
}

# `make_image KIND FILE IMAGE`: a file system in a file, with a copy of FILE. What hinders it is kept for `on_image`.
make_image() {
  (image "$@") 2> "$HOST/why" && rm "$HOST/why"
  return 0
}

image() {
  root_only "$1 is mounted from an image"
  command -v "mkfs.$1" > /dev/null || unavailable "mkfs.$1 is not installed"
  truncate --size $(($(stat -c %s "$2") * 5 / 4 + 536870912)) "$3" || exit
  case $1 in ext4) HOW=-qF ;; *) HOW=-qf ;; esac
  "mkfs.$1" "$HOW" "$3" > /dev/null || exit
  (in_own_mounts "$3" fill "$2") || exit
}

# Where there is no room for the image, its file system notices late.
fill() {
  cp "$1" "$HOST/mounted/file" && sync "$HOST/mounted/file"
}

# `on_image IMAGE COMMAND …` with the image at $HOST/mounted. The file system is no longer mounted once this shell is gone.
on_image() {
  [ ! -e "$HOST/why" ] || unavailable "$(tail -n 1 "$HOST/why")"
  in_own_mounts "$@"
}

in_own_mounts() {
  exec unshare --mount sh -c '. "$0/disk.sh" && mounted "$@"' "$HOST" "$@"
}

mounted() {
  IMAGE=$1
  shift
  mkdir -p "$HOST/mounted"
  new_loop "$IMAGE"
  mount "$LOOP" "$HOST/mounted" || unavailable "$IMAGE cannot be mounted"
  "$@"
  RESULT=$?
  umount "$HOST/mounted"
  return $RESULT
}
