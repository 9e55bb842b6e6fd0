//! Bytes through the socket of a client. The event loop that serves it counts them, and performance_schema shows them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// How a connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsUse {
    /// Name of the protocol's version, such as `TLSv1.3`.
    pub version: &'static str,
    /// Name of the cipher suite, as OpenSSL has it.
    pub cipher: String,
    /// Whether an earlier session of TLS goes on.
    pub resumed: bool,
    /// The client's certificate, if it has shown one. The server's authority has signed it.
    pub client: Option<ClientCertificate>,
}

/// Whose certificate it is, and whose signature it has: names in OpenSSL's one-line form, such as `/C=SE/CN=client`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// Whose it is.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
}

/// How often a socket was read and written, and how many bytes went through. Only the connection's own loop adds; it has a cache line of
/// its own, so that loops do not disturb each other.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct SocketUse {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    descriptor: AtomicI32,
    compression: OnceLock<(&'static str, u8)>,
}

/// The sums of one socket, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketTotals {
    /// How often something was read.
    pub reads: u64,
    /// Bytes.
    pub read_bytes: u64,
    /// How often something was written.
    pub writes: u64,
    /// Bytes.
    pub written_bytes: u64,
}

impl SocketTotals {
    /// What was added to earlier ones.
    pub fn since(&self, earlier: &SocketTotals) -> SocketTotals {
        SocketTotals {
            reads: self.reads.saturating_sub(earlier.reads),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            writes: self.writes.saturating_sub(earlier.writes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
        }
    }

    /// Adds others.
    pub fn merge(&mut self, other: &SocketTotals) {
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.written_bytes += other.written_bytes;
    }
}

/// It has no other writer, so there is nothing to lock.
#[inline]
fn add(counter: &AtomicU64, number: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(number), Ordering::Relaxed);
}

impl SocketUse {
    /// Of a socket with the operating system's number.
    pub fn new(descriptor: i32) -> SocketUse {
        SocketUse { descriptor: AtomicI32::new(descriptor), ..SocketUse::default() }
    }

    /// The operating system's number.
    pub fn descriptor(&self) -> i32 {
        self.descriptor.load(Ordering::Relaxed)
    }

    /// What goes through it is compressed from now on: the algorithm's name and its level.
    pub fn set_compression(&self, algorithm: &'static str, level: u8) {
        // A connection begins to be compressed once.
        let _ = self.compression.set((algorithm, level));
    }

    /// The algorithm and the level that it is compressed by, if it is.
    pub fn compression(&self) -> Option<(&'static str, u8)> {
        self.compression.get().copied()
    }

    /// This many bytes were read at once.
    #[inline]
    pub fn read(&self, bytes: usize) {
        add(&self.reads, 1);
        add(&self.read_bytes, bytes as u64);
    }

    /// This many bytes were written at once.
    #[inline]
    pub fn wrote(&self, bytes: usize) {
        add(&self.writes, 1);
        add(&self.written_bytes, bytes as u64);
    }

    /// The counts.
    pub fn totals(&self) -> SocketTotals {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SocketTotals {
            reads: load(&self.reads),
            read_bytes: load(&self.read_bytes),
            writes: load(&self.writes),
            written_bytes: load(&self.written_bytes),
        }
    }

    /// Forgets it.
    pub fn clear(&self) {
        for counter in [&self.reads, &self.read_bytes, &self.writes, &self.written_bytes] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_are_counted() {
        let socket = SocketUse::new(7);
        socket.read(10);
        socket.read(5);
        socket.wrote(3);
        let mut sum = socket.totals();
        sum.merge(&socket.totals());
        assert_eq!(sum, SocketTotals { reads: 4, read_bytes: 30, writes: 2, written_bytes: 6 });
        socket.clear();
        assert_eq!((socket.totals(), socket.descriptor()), (SocketTotals::default(), 7));
    }
}
