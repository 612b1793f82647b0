// SPDX-License-Identifier: GPL-2.0

//! The strings of bytes that every property looks at.
//!
//! The edges of each map: every encoding, map, mandatory prefix and opcode with patterns of ModRM
//! that cover each reg field and each kind of addressing. Then random bytes, mutants of
//! instructions, and the text of kernels that are built. Each is deterministic, but for the seed
//! that the long form may be given (`KPROBES_FUZZ_SEED`).

use super::*;

/// One byte more than an instruction can have.
pub(super) type Text = [u8; 16];

/// What stands after ModRM: bytes that differ from each other, with both signs.
const TAIL: [u8; 12] = [
    0x81, 0x12, 0x93, 0x24, 0xa5, 0x36, 0xb7, 0x48, 0xc9, 0x5a, 0xdb, 0x6c,
];

/// Before opcodes of the legacy maps.
const LEGACY: &[&[u8]] = &[
    &[],
    &[0x66],
    &[0xf3],
    &[0xf2],
    &[0x48],
    &[0x67],
    &[0x66, 0x48],
    &[0xf3, 0x48],
    &[0xf2, 0x66],
    &[0x66, 0xf3],
    &[0xf3, 0xf2],
    &[0x2e],
    &[0x65, 0x41],
    &[0xf0],
    &[0x48, 0x66],
    &[0x48, 0x40],
];

const REX2: &[&[u8]] = &[
    &[0xd5, 0x00],
    &[0xd5, 0x80],
    &[0xd5, 0x19],
    &[0xd5, 0x88],
    &[0x66, 0xd5, 0x00],
    &[0xf3, 0xd5, 0x80],
    &[0xf2, 0xd5, 0x80],
    &[0x67, 0xd5, 0x08],
    &[0x48, 0xd5, 0x00],
];

/// Before VEX, EVEX and XOP; most of these are forbidden there.
const BEFORE: &[&[u8]] = &[&[0x66], &[0xf2], &[0xf0], &[0x48], &[0x67], &[0x2e]];

/// The seeds of mutants: one of each shape.
const SEEDS: &[&[u8]] = &[
    &[0x48, 0x8b, 0x05, 1, 2, 3, 4],
    &[0x48, 0xc7, 0x84, 0x24, 1, 2, 3, 4, 5, 6, 7, 8],
    &[0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8],
    &[0x67, 0x66, 0xa1, 1, 2, 3, 4],
    &[0xc8, 1, 2, 3],
    &[0xe8, 1, 2, 3, 4],
    &[0x0f, 0x84, 1, 2, 3, 4],
    &[0xf3, 0x0f, 0x1e, 0xfa],
    &[0x66, 0x0f, 0x3a, 0x0f, 0x44, 0x24, 1, 2],
    &[0x0f, 0x0f, 0x05, 1, 2, 3, 4, 0xbb],
    &[0xf2, 0x0f, 0x78, 0xc1, 1, 2],
    &[0xc5, 0xf5, 0xeb, 0x05, 1, 2, 3, 4],
    &[0xc4, 0xe3, 0x71, 0x0f, 0x44, 0x24, 1, 2],
    &[0xc4, 0xe7, 0x7b, 0xf8, 0xc0, 1, 2, 3, 4],
    &[0x62, 0xf1, 0x7d, 0x48, 0x6f, 0x44, 0x24, 1],
    &[0x62, 0xf4, 0x7d, 0x18, 0x81, 0x05, 1, 2, 3, 4, 5, 6],
    &[0x62, 0xf5, 0x7c, 0x48, 0x58, 0xc1],
    &[0x8f, 0xea, 0x78, 0x10, 0xc1, 1, 2, 3, 4],
    &[0xd5, 0x00, 0xa1, 1, 2, 3, 4, 5, 6, 7, 8],
    &[0xd5, 0x99, 0xaf, 0x44, 0x24, 1],
    &[0xff, 0x25, 1, 2, 3, 4],
    &[0xc7, 0xf8, 1, 2, 3, 4],
];

pub(crate) fn is_long() -> bool {
    env::var("KPROBES_FUZZ").is_ok_and(|form| form == "long")
}

/// Shows each string to `look`.
pub(super) fn each(mut look: impl FnMut(&Text)) {
    edges(is_long(), &mut look);
    let count = if is_long() { 6_000_000 } else { 100_000 };
    random(count, &mut look);
    images(&mut look);
}

/// Shows the strings that are made to find each entry of each table.
pub(super) fn edges(long: bool, look: &mut impl FnMut(&Text)) {
    let patterns = patterns(is_long());
    legacy(&patterns, look);
    vex(&patterns, long, look);
    evex(&patterns, long, look);
    xop(&patterns, look);
}

/// The bytes of a string, put one after the other.
struct Builder(Text, usize);

impl Builder {
    fn new() -> Self {
        Self([0; 16], 0)
    }

    fn put(mut self, bytes: &[u8]) -> Self {
        for &byte in bytes {
            if let Some(place) = self.0.get_mut(self.1) {
                *place = byte;
            }
            self.1 += 1;
        }
        self
    }

    /// With ModRM and SIB after it, and something to be displacement and immediate.
    fn with(self, &(modrm, sib): &(u8, u8)) -> Text {
        self.put(&[modrm, sib]).put(&TAIL).0
    }
}

/// ModRM and what follows it: each reg field with each kind of addressing.
fn patterns(long: bool) -> Vec<(u8, u8)> {
    let mut found = Vec::new();
    for mode in 0..4u8 {
        for reg in 0..8u8 {
            for rm in (0..8u8).filter(|rm| long || [0, 4, 5].contains(rm)) {
                let modrm = mode << 6 | reg << 3 | rm;
                found.push((modrm, 0x25));
                if rm == 4 && mode == 0 {
                    found.push((modrm, 0x24));
                }
            }
        }
    }
    found
}

fn legacy(patterns: &[(u8, u8)], look: &mut impl FnMut(&Text)) {
    let escapes: [&[u8]; 4] = [&[], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]];
    for opcode in 0..=255u8 {
        for pattern in patterns {
            for prefixes in LEGACY {
                for escape in escapes {
                    let start = Builder::new().put(prefixes).put(escape);
                    look(&start.put(&[opcode]).with(pattern));
                }
            }
            for prefixes in REX2 {
                look(&Builder::new().put(prefixes).put(&[opcode]).with(pattern));
            }
        }
        // 3DNow! has its opcode after the displacement.
        for (modrm, gap) in [(0xc1, 0), (0x00, 0), (0x41, 1), (0x04, 1), (0x05, 4)] {
            let start = Builder::new().put(&[0x0f, 0x0f, modrm]);
            look(&start.put(&[0x24; 4][..gap]).put(&[opcode]).put(&TAIL).0);
        }
    }
}

fn vex(patterns: &[(u8, u8)], long: bool, look: &mut impl FnMut(&Text)) {
    let maps = if long { 32 } else { 9 };
    for opcode in 0..=255u8 {
        for pattern in patterns {
            for fields in [0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0x78] {
                look(&Builder::new().put(&[0xc5, fields, opcode]).with(pattern));
            }
        }
        for map in 0..maps {
            for fields in 0..16u8 {
                // vvvv is 1111, then W, L, pp.
                let fields = 0x78 | (fields & 8) << 4 | fields & 7;
                if !long && fields & 4 != 0 {
                    continue;
                }
                for pattern in patterns {
                    let start = Builder::new().put(&[0xc4, 0xe0 | map, fields, opcode]);
                    look(&start.with(pattern));
                }
            }
        }
        for before in BEFORE {
            let start = Builder::new().put(before).put(&[0xc5, 0xf9, opcode]);
            look(&start.put(&[0xc1]).put(&TAIL).0);
        }
    }
}

fn evex(patterns: &[(u8, u8)], long: bool, look: &mut impl FnMut(&Text)) {
    let long_lasts = [0x08, 0x28, 0x48, 0x18, 0x09, 0x29, 0x49, 0x0c, 0x1c, 0xc9];
    let short_lasts = [0x08, 0x49];
    let lasts = if long { &long_lasts[..] } else { &short_lasts };
    for opcode in 0..=255u8 {
        for map in 0..8 {
            for fields in 0..8u8 {
                let fields = 0x7c | (fields & 4) << 5 | fields & 3;
                for &last in lasts {
                    for pattern in patterns {
                        let start = Builder::new().put(&[0x62, 0xf0 | map, fields, last]);
                        look(&start.put(&[opcode]).with(pattern));
                    }
                }
                // Registers that only APX has.
                let start = Builder::new().put(&[0x62, 0xf8 | map, fields ^ 4, 0x08]);
                look(&start.put(&[opcode, 0x44, 0x24]).put(&TAIL).0);
            }
        }
        for before in BEFORE {
            let start = Builder::new().put(before);
            let start = start.put(&[0x62, 0xf1, 0x7d, 0x48, opcode]);
            look(&start.put(&[0xc1]).put(&TAIL).0);
        }
    }
}

fn xop(patterns: &[(u8, u8)], look: &mut impl FnMut(&Text)) {
    for opcode in 0..=255u8 {
        for map in 7..13 {
            for fields in [0x78, 0xf8, 0x7c, 0x79] {
                for pattern in patterns {
                    let start = Builder::new().put(&[0x8f, 0xe0 | map, fields, opcode]);
                    look(&start.with(pattern));
                }
            }
        }
    }
}

/// What random numbers start from, besides a number of their own.
pub(crate) fn seed() -> u64 {
    let seed = env::var("KPROBES_FUZZ_SEED").ok();
    seed.and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

fn any(random: &mut Random) -> Text {
    u128::to_le_bytes(u128::from(random.next()) << 64 | u128::from(random.next()))
}

/// `count` strings of random bytes, as many behind a random start that leads somewhere, and as
/// many mutants.
fn random(count: usize, look: &mut impl FnMut(&Text)) {
    let mut random = Random::new();
    let starts: [&[u8]; 12] = [
        &[0x0f],
        &[0x0f, 0x38],
        &[0x0f, 0x3a],
        &[0xc4, 0xe2],
        &[0xc4, 0xe3],
        &[0xc4, 0x61],
        &[0x62, 0xf1],
        &[0x62, 0xf2],
        &[0x62, 0xf4],
        &[0x62, 0x75],
        &[0xd5],
        &[0x8f, 0xe9],
    ];
    for _ in 0..count {
        look(&any(&mut random));
        let mut builder = Builder::new();
        for _ in 0..random.below(4) {
            builder = builder.put(LEGACY[random.below(LEGACY.len())]);
        }
        let text = builder.put(starts[random.below(starts.len())]);
        look(&text.put(&any(&mut random)).0);
        look(&mutant(&mut random));
    }
}

fn mutant(random: &mut Random) -> Text {
    let mut bytes = SEEDS[random.below(SEEDS.len())].to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => bytes.insert(at, random.next() as u8),
            3 if bytes.len() > 1 => {
                bytes.remove(at);
            }
            _ => {
                let prefixes = LEGACY[random.below(LEGACY.len())];
                bytes.splice(0..0, prefixes.iter().copied());
            }
        }
    }
    Builder::new().put(&bytes).put(&TAIL).0
}

/// What is at each place in the text of built kernels where our decoder comes by.
pub(super) fn images(look: &mut impl FnMut(&Text)) {
    for text in sections(62) {
        let mut at = 0;
        while at < text.len() {
            let string = Builder::new().put(&text[at..text.len().min(at + 16)]).0;
            look(&string);
            at += our_len(&string).unwrap_or(1);
        }
    }
}

/// The executable sections of the ELF files for the `machine` of that number that the environment
/// names.
pub(super) fn sections(machine: u64) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let names = env::var("KPROBES_IMAGES").unwrap_or_default();
    for name in names.split(':').filter(|name| !name.is_empty()) {
        let file = fs::read(name).expect("an image that can be read");
        found.extend(executable(&file, machine));
    }
    found
}

fn executable(file: &[u8], machine: u64) -> Vec<Vec<u8>> {
    const PROGBITS: u64 = 1;
    const EXECUTABLE: u64 = 4;
    let number = |at: usize, size: usize| {
        let bytes = file[at..at + size].iter();
        let add = |number, &byte: &u8| number << 8 | u64::from(byte);
        // The sixth byte tells the order of the others.
        if file[5] == 1 {
            bytes.rev().fold(0, add)
        } else {
            bytes.fold(0, add)
        }
    };
    if number(0x12, 2) != machine {
        return Vec::new();
    }
    // Files of 32 and of 64 bits: an address in bytes, where the counts are.
    let (word, counts) = if file[4] == 1 { (4, 0x2e) } else { (8, 0x3a) };
    let table = number(0x18 + 2 * word, word);
    let (size, count) = (number(counts, 2), number(counts + 2, 2));
    let mut found = Vec::new();
    for index in 0..count {
        let at = (table + index * size) as usize;
        if number(at + 4, 4) == PROGBITS && number(at + 8, word) & EXECUTABLE != 0 {
            let from = number(at + 8 + 2 * word, word) as usize;
            found.push(file[from..from + number(at + 8 + 3 * word, word) as usize].to_vec());
        }
    }
    found
}
