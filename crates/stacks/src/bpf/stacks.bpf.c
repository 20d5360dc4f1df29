// HighSpeed (RFC 3649, by its table) and Scalable TCP (Kelly 2003) for a kernel that was built without them: its own
// congestion control calls these functions as struct_ops.
//
// What the kernel's structures hold is declared here as far as it is used; where it lies in them is settled when this is
// loaded, by the types that the kernel tells of itself (BTF). Must not know: connections, who loads it. Nothing is
// remembered but in the fields that the kernel has for any algorithm, so that nothing is left behind.
//
// Both count acknowledged segments, not acknowledgements, so that a receiver which acknowledges every second segment, or
// a card which gathers many, changes nothing.

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

// The headers of libbpf want the types above from whoever includes them.
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

// `struct highspeed_row highspeed_table[HIGHSPEED_ROWS]`, as the simulator computes it from the RFC's formulas.
struct highspeed_row {
	__u32 window;
	__u32 decrease_256;
};
#include "highspeed_table.h"

// The kernel gives its helpers, and its place for algorithms, to programs under the GPL alone: this file is under it too,
// at the user's choice.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct tcp_sock {
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 prior_cwnd;
	__u32 max_packets_out;
	__u8 is_cwnd_limited : 1;
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct tcp_sock *tcp);
	void (*cong_avoid)(struct tcp_sock *tcp, __u32 acknowledged_to, __u32 acknowledged);
	__u32 (*undo_cwnd)(struct tcp_sock *tcp);
	char name[16];
};

// A loss leaves at least two segments (RFC 5681, section 3.1).
#define LEAST_SEGMENTS 2
// Scalable gains a segment for so many that are acknowledged, and loses an eighth of its window.
#define SCALABLE_ACKNOWLEDGED 100
#define SCALABLE_LOSS_SHIFT 3

static __always_inline __u32 least(__u32 one, __u32 other)
{
	return one < other ? one : other;
}

static __always_inline __u32 most(__u32 one, __u32 other)
{
	return one > other ? one : other;
}

static __always_inline _Bool is_in_slow_start(struct tcp_sock *tcp)
{
	return tcp->snd_cwnd < tcp->snd_ssthresh;
}

// A window that is not used does not grow; in slow start one that is used by more than a half does.
static __always_inline _Bool is_used(struct tcp_sock *tcp)
{
	if (BPF_CORE_READ_BITFIELD(tcp, is_cwnd_limited))
		return 1;
	return is_in_slow_start(tcp) && tcp->snd_cwnd < 2 * tcp->max_packets_out;
}

// A segment for each that is acknowledged, up to the threshold. Gives how many are left.
static __always_inline __u32 start_slowly(struct tcp_sock *tcp, __u32 acknowledged)
{
	__u32 window = tcp->snd_cwnd;
	__u32 larger = least(window + acknowledged, tcp->snd_ssthresh);

	tcp->snd_cwnd = least(larger, tcp->snd_cwnd_clamp);
	return acknowledged - (larger - window);
}

// A segment for each `per` that are counted. What is counted stays in the connection until it is a whole one; what
// another algorithm has left there, or a larger window, is at most one.
static __always_inline void grow(struct tcp_sock *tcp, __u32 counted, __u32 per)
{
	__u32 count = least(tcp->snd_cwnd_cnt, per) + counted;

	tcp->snd_cwnd_cnt = count % per;
	tcp->snd_cwnd = least(tcp->snd_cwnd + count / per, tcp->snd_cwnd_clamp);
}

// The first row whose window is not below this one, as the kernel reads the table (net/ipv4/tcp_highspeed.c); the last
// row holds for all that are larger.
static __always_inline __u32 row_of(__u32 window)
{
	__u32 row = 0;

#pragma unroll
	for (__u32 step = 64; step; step /= 2)
		if (row + step < HIGHSPEED_ROWS && highspeed_table[row + step - 1].window < window)
			row += step;
	return row;
}

// Row after row the gain in a round trip is a segment more, from one on.
SEC("struct_ops")
void BPF_PROG(highspeed_grow, struct tcp_sock *tcp, __u32 acknowledged_to, __u32 acknowledged)
{
	if (!is_used(tcp))
		return;
	if (is_in_slow_start(tcp))
		acknowledged = start_slowly(tcp, acknowledged);
	if (acknowledged)
		grow(tcp, acknowledged * (row_of(tcp->snd_cwnd) + 1), tcp->snd_cwnd);
}

SEC("struct_ops")
__u32 BPF_PROG(highspeed_lose, struct tcp_sock *tcp)
{
	__u32 window = tcp->snd_cwnd;
	__u32 row = row_of(window);

	if (row >= HIGHSPEED_ROWS)
		return LEAST_SEGMENTS;
	return most(window - (__u32)((__u64)window * highspeed_table[row].decrease_256 >> 8), LEAST_SEGMENTS);
}

// Below a hundred segments it gains one in a round trip, as Reno.
SEC("struct_ops")
void BPF_PROG(scalable_grow, struct tcp_sock *tcp, __u32 acknowledged_to, __u32 acknowledged)
{
	if (!is_used(tcp))
		return;
	if (is_in_slow_start(tcp))
		acknowledged = start_slowly(tcp, acknowledged);
	if (acknowledged)
		grow(tcp, acknowledged, least(tcp->snd_cwnd, SCALABLE_ACKNOWLEDGED));
}

SEC("struct_ops")
__u32 BPF_PROG(scalable_lose, struct tcp_sock *tcp)
{
	return most(tcp->snd_cwnd - (tcp->snd_cwnd >> SCALABLE_LOSS_SHIFT), LEAST_SEGMENTS);
}

// The loss was none: as Reno.
SEC("struct_ops")
__u32 BPF_PROG(take_back, struct tcp_sock *tcp)
{
	return most(tcp->snd_cwnd, tcp->prior_cwnd);
}

// With a link, which goes with the process that holds it, also when that is killed.
SEC(".struct_ops.link")
struct tcp_congestion_ops highspeed = {
	.ssthresh = (void *)highspeed_lose,
	.cong_avoid = (void *)highspeed_grow,
	.undo_cwnd = (void *)take_back,
	.name = "highspeed",
};

SEC(".struct_ops.link")
struct tcp_congestion_ops scalable = {
	.ssthresh = (void *)scalable_lose,
	.cong_avoid = (void *)scalable_grow,
	.undo_cwnd = (void *)take_back,
	.name = "scalable",
};
