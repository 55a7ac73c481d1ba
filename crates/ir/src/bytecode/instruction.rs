// SPDX-License-Identifier: Apache-2.0
//! Reading bytecodes: operands and lengths.

/// A position in a method's code.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    code: &'a [u8],
    pub(super) at: usize,
}

/// The operands of a switch.
pub(super) struct SwitchTable {
    pub(super) default: i64,
    pub(super) cases: Vec<(i32, i64)>,
}

pub(super) const JSR: u8 = 0xa8;
pub(super) const RET: u8 = 0xa9;
pub(super) const WIDE: u8 = 0xc4;
pub(super) const JSR_W: u8 = 0xc9;

type Result<T> = core::result::Result<T, String>;

impl<'a> Cursor<'a> {
    pub(super) fn new(code: &'a [u8], at: usize) -> Self {
        Self { code, at }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.code.len()
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self
            .code
            .get(self.at..self.at + N)
            .ok_or("code ends inside an instruction")?;
        self.at += N;
        bytes
            .try_into()
            .map_err(|_| "code ends inside an instruction".into())
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        Ok(self.take::<1>()?[0])
    }

    pub(super) fn i8(&mut self) -> Result<i8> {
        Ok(self.u8()? as i8)
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.take()?))
    }

    pub(super) fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.take()?))
    }

    pub(super) fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.take()?))
    }

    /// How far away the subroutine is that a [`JSR`] or [`JSR_W`] calls.
    pub(super) fn subroutine(&mut self, opcode: u8) -> Result<i64> {
        Ok(match opcode {
            JSR => i64::from(self.i16()?),
            _ => i64::from(self.i32()?),
        })
    }

    /// Operands of `tableswitch` (0xaa) or `lookupswitch` (0xab) at `start`.
    pub(super) fn switch(&mut self, opcode: u8, start: usize) -> Result<SwitchTable> {
        while !self.at.is_multiple_of(4) {
            self.u8()?;
        }
        let default = start as i64 + i64::from(self.i32()?);
        let mut cases = Vec::new();
        if opcode == 0xaa {
            let (low, high) = (self.i32()?, self.i32()?);
            if low > high || i64::from(high) - i64::from(low) > 0x4000 {
                return Err("tableswitch with bad bounds".into());
            }
            for key in low..=high {
                cases.push((key, start as i64 + i64::from(self.i32()?)));
            }
        } else {
            let count = self.i32()?;
            if !(0..=0x2000).contains(&count) {
                return Err("lookupswitch with a bad count".into());
            }
            for _ in 0..count {
                let key = self.i32()?;
                cases.push((key, start as i64 + i64::from(self.i32()?)));
            }
            if cases.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
                return Err("lookupswitch keys not sorted".into());
            }
        }
        Ok(SwitchTable { default, cases })
    }
}

/// Where control may go after an instruction; where a subroutine returns to is not known here.
#[derive(Default)]
pub(super) struct Flow {
    pub(super) targets: Vec<i64>,
    /// Control does not reach the next instruction, or only from a subroutine.
    pub(super) ends: bool,
}

/// Steps over one instruction and says where control may go.
pub(super) fn step(cursor: &mut Cursor<'_>) -> Result<Flow> {
    let start = cursor.at;
    let mut flow = Flow::default();
    let opcode = cursor.u8()?;
    let skip = match opcode {
        0x10 | 0x12 | 0x15..=0x19 | 0x36..=0x3a | 0xbc => 1,
        0x11 | 0x13 | 0x14 | 0x84 | 0xb2..=0xb8 | 0xbb | 0xbd | 0xc0 | 0xc1 => 2,
        0xc5 => 3,
        0xb9 | 0xba => 4,
        0x99..=0xa7 | 0xc6 | 0xc7 => {
            flow.targets.push(start as i64 + i64::from(cursor.i16()?));
            flow.ends = opcode == 0xa7;
            0
        }
        0xc8 => {
            flow.targets.push(start as i64 + i64::from(cursor.i32()?));
            flow.ends = true;
            0
        }
        0xaa | 0xab => {
            let table = cursor.switch(opcode, start)?;
            flow.targets
                .extend(table.cases.iter().map(|&(_, target)| target));
            flow.targets.push(table.default);
            flow.ends = true;
            0
        }
        0xac..=0xb1 | 0xbf => {
            flow.ends = true;
            0
        }
        JSR | JSR_W => {
            flow.targets.push(start as i64 + cursor.subroutine(opcode)?);
            flow.ends = true;
            0
        }
        RET => {
            flow.ends = true;
            1
        }
        WIDE => match cursor.u8()? {
            0x84 => 4,
            opcode => {
                flow.ends = opcode == RET;
                2
            }
        },
        0..=0xc3 => 0,
        _ => return Err(format!("no such instruction {opcode:#x}")),
    };
    for _ in 0..skip {
        cursor.u8()?;
    }
    Ok(flow)
}
