// SPDX-License-Identifier: GPL-2.0

//! Each class in the tables of arm has a form, as GNU as encodes the forms, or is in [`WITHOUT`].

use super::*;
use std::process::Command;

/// Classes without a form: a Cortex-A15 has none of their instructions, which ARMv8 added.
/// LDA and STL, both in T32; CRC32; VCMLA and VDOT.
const WITHOUT: [&str; 5] = [
    "cccc_0001_1zz1_NNNN_TTTT_xx0x_1001_xxxx",
    "cccc_0001_1zz0_NNNN_xxxx_xx0x_1001_TTTT",
    "1110_1000_110x_NNNN_TTTT_xxxx_10zz_xxxx",
    "cccc_0001_0zz0_NNNN_DDDD_xxxx_0100_MMMM",
    "1111_110x_xxxx_xxxx_xxxx_1x0x_xxxx_xxxx",
];

/// Prints the code of the forms of description.py or thumb.py, $1. $0 is the folder of arm.
const ENCODE: &str = r#"cd "$0/tests/forms"; into=$(mktemp)
PYTHONPATH=../../../../../lib/tests/kprobes/forms python3 -B -c "
print('.syntax unified', '.arch armv7-a', '.fpu neon', '.thumb' if '$1' == 'thumb' else '.arm',
      *map('.arch_extension '.__add__, ('idiv', 'mp', 'virt', 'sec')), sep='\n')
for form in sum(__import__('$1').groups().values(), []):
    print(*form.before, form.name.replace('TAKEN', '1f'), *form.behind, '.balign 4', '1:', sep='\n')
" | arm-linux-gnueabihf-as -mno-warn-deprecated -o $into -
arm-linux-gnueabihf-objcopy -O binary -j .text $into; cat $into; rm $into"#;

#[test]
fn each_class_has_a_form() {
    // Otherwise there may be no such assembler.
    if env::var("KPROBES_LLVM").is_err() {
        return;
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../arch/arm/kprobes");
    let mut without = BTreeSet::new();
    for [forms, tables] in [["description", "a32 copro"], ["thumb", "t16 t32 copro"]] {
        let is_a32 = forms == "description";
        let state = if is_a32 { State::A32 } else { State::Thumb };
        let mut shell = Command::new("sh");
        let done = shell.args(["-c", ENCODE, folder, forms]).output();
        let (code, mut at, mut seen) = (done.expect("a shell").stdout, 0, String::new());
        while let Some(&[a, b, ref rest @ ..]) = code.get(at..) {
            let is_long = is_a32 || b >= 0xe8;
            let [c, d] = if is_long { [rest[0], rest[1]] } else { [0; 2] };
            seen += &format!("{:?}", decoded(state, [a, b, c, d]));
            at += if is_long { 4 } else { 2 };
        }
        for name in tables.split(' ') {
            let table = fs::read_to_string(format!("{folder}/isa/{name}_table.rs"));
            for row in table.expect("a table").split("\n    \"").skip(1) {
                let pattern = row.split('"').next().expect("a pattern").to_string();
                let bits = pattern.bytes().filter(|&bit| bit != b'_');
                let [mask, value] = [b"01", b"11"].map(|ones| {
                    let bits = bits.clone().map(|bit| u32::from(ones.contains(&bit)));
                    bits.fold(0, |word, bit| word << 1 | bit)
                });
                if !seen.contains(&format!("mask: {mask}, value: {value},")) {
                    without.insert(pattern);
                }
            }
        }
    }
    assert_eq!(without, BTreeSet::from(WITHOUT.map(String::from)));
}
