//! Measurements with datagrams in words.
//!
//! Must not know: how they were made.

use std::fmt;

use datapump::units::{bit_rate_words, with_commas};

use super::{InterfaceFacts, UdpLatency, UdpThroughput};
use crate::judge::datagrams::latency::LatencySection;

impl fmt::Display for UdpThroughput {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UdpThroughput { sent, unique, lost, duplicates, reordered, .. } = *self;
        write!(out, "sent {} datagrams of {} bytes", with_commas(sent), self.frame_size)?;
        if let Some(spacing) = self.spacing {
            write!(out, ", {:.2} us apart", spacing.mean_us)?;
            write!(out, " (median {:.2}, deviation {:.2})", spacing.median_us, spacing.deviation_us)?;
        }
        match self.asked_spacing_us {
            0.0 => writeln!(out, "; asked: as close as the server allows")?,
            asked => writeln!(out, "; asked: {asked:.2} us")?,
        }
        if self.late_us > 0.0 {
            writeln!(out, "the sender was late by {:.1} ms in all and did not catch up", self.late_us / 1e3)?;
        }
        writeln!(
            out,
            "received {}, lost {} ({:.3} %), duplicates {}, reordered {}, jitter {:.1} us",
            with_commas(unique),
            with_commas(lost),
            lost as f64 * 100.0 / sent.max(1) as f64,
            with_commas(duplicates),
            with_commas(reordered),
            self.jitter_us
        )?;
        if lost > 0 {
            writeln!(out, "{}", self.loss_pattern.words())?;
        }
        if self.above_rate > 0 {
            let above = with_commas(self.above_rate);
            writeln!(out, "{above} came faster than the server allows and were not counted (--allow-udp)")?;
        }
        let rate = |mbit_per_s: f64| bit_rate_words(mbit_per_s * 1e6 / 8.0);
        writeln!(
            out,
            "rate at the receiver: {} of payload, {} on an Ethernet wire",
            rate(self.receiver.user_mbit_per_s),
            rate(self.receiver.wire_mbit_per_s)
        )?;
        writeln!(
            out,
            "CPU time of a datagram: sender {:.2} us, receiver {:.2} us; {:.2} wake-ups; offload: {}",
            self.sender_cpu_us, self.receiver_cpu_us, self.wake_ups_per_frame, self.offload
        )?;
        write!(out, "{}", self.interface)
    }
}

impl fmt::Display for UdpLatency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for frame in &self.frames {
            write!(out, "{:>6} bytes: ", frame.frame_size)?;
            if let (Some(median), Some(min), Some(histogram)) =
                (frame.median_us, frame.min_us, &frame.histogram)
            {
                let width = histogram.width_us;
                write!(
                    out,
                    "median {median:.2} us, shortest {min:.2} us, width at half maximum {width:.2} us, "
                )?;
            }
            writeln!(out, "lost {} of {}", with_commas(frame.lost), with_commas(frame.sent))?;
        }
        if let Some(curve) = &self.curve {
            writeln!(out, "all sizes: {}", LineWords(&curve.whole))?;
            let sections = curve.sections.iter().filter(|_| curve.sections.len() > 1);
            sections.map(LineWords).try_for_each(|section| writeln!(out, "  section {section}"))?;
        }
        writeln!(
            out,
            "CPU time of a round trip: this side {:.2} us, server {:.2} us",
            self.sender_cpu_us, self.receiver_cpu_us
        )?;
        write!(out, "{}", self.interface)
    }
}

/// A section of a curve.
struct LineWords<'curve>(&'curve LatencySection);

impl fmt::Display for LineWords<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LatencySection { from_bytes, to_bytes, intercept_us, slope_us_per_byte } = *self.0;
        write!(
            out,
            "{from_bytes} to {to_bytes} bytes: {intercept_us:.2} us and {slope_us_per_byte:.5} us a byte"
        )
    }
}

impl fmt::Display for InterfaceFacts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(name), Some(mtu)) = (&self.interface, self.interface_mtu) {
            write!(out, "interface {name}, MTU {mtu}; ")?;
        }
        writeln!(out, "interrupt coalescence: {}", self.coalescing)
    }
}
