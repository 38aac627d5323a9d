//! What an address stands for, by the registries of special addresses (RFC 6890 and what followed it).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Who can be reached at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Anybody on the internet.
    Public,
    /// This machine, or a machine of a private network.
    Private,
    /// Nobody that should be posted to: neighbours on the link (where clouds keep their metadata), groups, every
    /// machine at once, addresses in disguise, and those that are reserved.
    Special,
}

/// A block of IPv4 addresses.
type Block4 = ([u8; 4], u8);

const PRIVATE_4: [Block4; 5] = [
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10), // of carriers
    ([127, 0, 0, 0], 8),
    ([172, 16, 0, 0], 12),
    ([192, 168, 0, 0], 16),
];

const SPECIAL_4: [Block4; 13] = [
    ([0, 0, 0, 0], 8),
    ([168, 63, 129, 16], 32), // the host of a machine in Azure
    ([169, 254, 0, 0], 16),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 31, 196, 0], 24),
    ([192, 52, 193, 0], 24),
    ([192, 88, 99, 0], 24), // relays of 6to4
    ([192, 175, 48, 0], 24),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 3), // groups, reserved, broadcast
];

/// Of the block of global addresses.
const SPECIAL_6: [(Ipv6Addr, u8); 5] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // of protocols: Teredo, ORCHID, benchmarks
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4: an IPv4 address in disguise
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

impl Reach {
    /// Who can be reached at this address; one of IPv4 that is written in IPv6 is one of IPv4.
    pub(super) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::of_4(address),
            IpAddr::V6(address) => Self::of_6(address),
        }
    }

    fn of_4(address: Ipv4Addr) -> Self {
        let within = |blocks: &[Block4]| {
            blocks.iter().any(|(first, bits)| covers(Ipv4Addr::from(*first).into(), *bits, address.into()))
        };
        if within(&PRIVATE_4) {
            Self::Private
        } else if within(&SPECIAL_4) {
            Self::Special
        } else {
            Self::Public
        }
    }

    fn of_6(address: Ipv6Addr) -> Self {
        let global = covers(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0).into(), 3, address.into());
        let special = || SPECIAL_6.iter().any(|(first, bits)| covers((*first).into(), *bits, address.into()));
        if address.is_loopback() || address.is_unique_local() {
            Self::Private
        } else if global && !special() {
            Self::Public
        } else {
            // NAT64 is outside of the global block, and so are link-local, site-local and multicast addresses.
            Self::Special
        }
    }
}

/// Whether an address is in the block of those that begin with the first `bits` bits of `first`.
pub(super) fn covers(first: IpAddr, bits: u8, address: IpAddr) -> bool {
    match (first, address) {
        (IpAddr::V4(first), IpAddr::V4(address)) => {
            let rest = 32u32.saturating_sub(bits.into());
            (u32::from(first) ^ u32::from(address)).checked_shr(rest).unwrap_or(0) == 0
        }
        (IpAddr::V6(first), IpAddr::V6(address)) => {
            let rest = 128u32.saturating_sub(bits.into());
            (u128::from(first) ^ u128::from(address)).checked_shr(rest).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(text: &str) -> Reach {
        Reach::of(text.parse().expect("an address"))
    }

    #[test]
    fn every_special_address_is_known() {
        let public = [
            "8.8.8.8",
            "1.1.1.1",
            "100.63.255.255",
            "100.128.0.0",
            "11.0.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "169.253.255.255",
            "192.0.1.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "168.63.129.15",
            "2606:4700::1111",
            "2a00:1450::1",
            "2001:200::1",
            "::ffff:8.8.8.8",
        ];
        let private = [
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "::1",
            "fc00::1",
            "fd12:3456::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "fd00:ec2::254",
        ];
        let special = [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::2",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "5f00::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
        ];
        for (addresses, expected) in
            [(&public[..], Reach::Public), (&private[..], Reach::Private), (&special[..], Reach::Special)]
        {
            for address in addresses {
                assert_eq!(reach(address), expected, "{address}");
            }
        }
    }

    #[test]
    fn blocks_cover_what_begins_like_them() {
        let covers = |first: &str, bits, address: &str| {
            super::covers(first.parse().expect("an address"), bits, address.parse().expect("an address"))
        };
        assert!(covers("0.0.0.0", 0, "255.1.2.3") && covers("::", 0, "ff02::1"));
        assert!(covers("10.1.2.3", 32, "10.1.2.3") && !covers("10.1.2.3", 32, "10.1.2.2"));
        assert!(covers("fd00::", 8, "fd12::1") && !covers("fd00::", 8, "fc00::1"));
        assert!(!covers("0.0.0.0", 0, "::1") && !covers("::", 0, "127.0.0.1"));
    }
}
