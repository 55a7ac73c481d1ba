// SPDX-License-Identifier: Apache-2.0
//! Every instruction of versions 035 to 039: number, name, layout, what its index means, where it
//! goes, which operands are register pairs.

/// How the operands lie in the code units; the names are those of the format's specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the specification describes each by this name")]
pub enum Format {
    F10x,
    F12x,
    F11n,
    F11x,
    F10t,
    F20t,
    F22x,
    F21t,
    F21s,
    F21h,
    F21c,
    F23x,
    F22b,
    F22t,
    F22s,
    F22c,
    F30t,
    F32x,
    F31i,
    F31t,
    F31c,
    F35c,
    F3rc,
    F45cc,
    F4rcc,
    F51l,
}

impl Format {
    /// Size in 16-bit code units.
    pub fn units(self) -> usize {
        match self {
            Self::F10x | Self::F12x | Self::F11n | Self::F11x | Self::F10t => 1,
            Self::F20t | Self::F22x | Self::F21t | Self::F21s | Self::F21h | Self::F21c => 2,
            Self::F23x | Self::F22b | Self::F22t | Self::F22s | Self::F22c => 2,
            Self::F30t | Self::F32x | Self::F31i | Self::F31t | Self::F31c => 3,
            Self::F35c | Self::F3rc => 3,
            Self::F45cc | Self::F4rcc => 4,
            Self::F51l => 5,
        }
    }
}

/// What the index in an instruction counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// There is none.
    None,
    /// string_ids
    String,
    /// type_ids
    Type,
    /// field_ids
    Field,
    /// method_ids
    Method,
    /// method_ids, and proto_ids for the second index
    MethodAndProto,
    /// proto_ids
    Proto,
    /// call_site_ids
    CallSite,
    /// method_handles
    MethodHandle,
}

/// Does control reach the next instruction?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It may.
    Next,
    /// Never: return, throw, goto.
    End,
}

/// Operand A is a register pair.
pub(crate) const WIDE_A: u8 = 1;
/// Operand B is a register pair.
pub(crate) const WIDE_B: u8 = 2;
/// Operand C is a register pair.
pub(crate) const WIDE_C: u8 = 4;

macro_rules! opcodes {
    ($($number:literal $variant:ident $name:literal $format:ident $pool:ident $flow:ident $wide:literal)*) => {
        /// An instruction's operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[expect(missing_docs, reason = "the specification describes each by this name")]
        pub enum Opcode { $($variant = $number),* }

        impl Opcode {
            /// The operation with this number; none where the format leaves a gap.
            pub fn from_number(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }

            /// Its name as disassemblers write it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// How its operands lie.
            pub fn format(self) -> Format {
                match self { $(Self::$variant => Format::$format),* }
            }

            /// What its index counts.
            pub fn pool(self) -> Pool {
                match self { $(Self::$variant => Pool::$pool),* }
            }

            /// Does control reach the next instruction?
            pub fn flow(self) -> Flow {
                match self { $(Self::$variant => Flow::$flow),* }
            }

            pub(crate) fn wide(self) -> u8 {
                match self { $(Self::$variant => $wide),* }
            }
        }
    };
}

#[rustfmt::skip]
opcodes! {
    0x00 Nop "nop" F10x None Next 0
    0x01 Move "move" F12x None Next 0
    0x02 MoveFrom16 "move/from16" F22x None Next 0
    0x03 Move16 "move/16" F32x None Next 0
    0x04 MoveWide "move-wide" F12x None Next 3
    0x05 MoveWideFrom16 "move-wide/from16" F22x None Next 3
    0x06 MoveWide16 "move-wide/16" F32x None Next 3
    0x07 MoveObject "move-object" F12x None Next 0
    0x08 MoveObjectFrom16 "move-object/from16" F22x None Next 0
    0x09 MoveObject16 "move-object/16" F32x None Next 0
    0x0a MoveResult "move-result" F11x None Next 0
    0x0b MoveResultWide "move-result-wide" F11x None Next 1
    0x0c MoveResultObject "move-result-object" F11x None Next 0
    0x0d MoveException "move-exception" F11x None Next 0
    0x0e ReturnVoid "return-void" F10x None End 0
    0x0f Return "return" F11x None End 0
    0x10 ReturnWide "return-wide" F11x None End 1
    0x11 ReturnObject "return-object" F11x None End 0
    0x12 Const4 "const/4" F11n None Next 0
    0x13 Const16 "const/16" F21s None Next 0
    0x14 Const "const" F31i None Next 0
    0x15 ConstHigh16 "const/high16" F21h None Next 0
    0x16 ConstWide16 "const-wide/16" F21s None Next 1
    0x17 ConstWide32 "const-wide/32" F31i None Next 1
    0x18 ConstWide "const-wide" F51l None Next 1
    0x19 ConstWideHigh16 "const-wide/high16" F21h None Next 1
    0x1a ConstString "const-string" F21c String Next 0
    0x1b ConstStringJumbo "const-string/jumbo" F31c String Next 0
    0x1c ConstClass "const-class" F21c Type Next 0
    0x1d MonitorEnter "monitor-enter" F11x None Next 0
    0x1e MonitorExit "monitor-exit" F11x None Next 0
    0x1f CheckCast "check-cast" F21c Type Next 0
    0x20 InstanceOf "instance-of" F22c Type Next 0
    0x21 ArrayLength "array-length" F12x None Next 0
    0x22 NewInstance "new-instance" F21c Type Next 0
    0x23 NewArray "new-array" F22c Type Next 0
    0x24 FilledNewArray "filled-new-array" F35c Type Next 0
    0x25 FilledNewArrayRange "filled-new-array/range" F3rc Type Next 0
    0x26 FillArrayData "fill-array-data" F31t None Next 0
    0x27 Throw "throw" F11x None End 0
    0x28 Goto "goto" F10t None End 0
    0x29 Goto16 "goto/16" F20t None End 0
    0x2a Goto32 "goto/32" F30t None End 0
    0x2b PackedSwitch "packed-switch" F31t None Next 0
    0x2c SparseSwitch "sparse-switch" F31t None Next 0
    0x2d CmplFloat "cmpl-float" F23x None Next 0
    0x2e CmpgFloat "cmpg-float" F23x None Next 0
    0x2f CmplDouble "cmpl-double" F23x None Next 6
    0x30 CmpgDouble "cmpg-double" F23x None Next 6
    0x31 CmpLong "cmp-long" F23x None Next 6
    0x32 IfEq "if-eq" F22t None Next 0
    0x33 IfNe "if-ne" F22t None Next 0
    0x34 IfLt "if-lt" F22t None Next 0
    0x35 IfGe "if-ge" F22t None Next 0
    0x36 IfGt "if-gt" F22t None Next 0
    0x37 IfLe "if-le" F22t None Next 0
    0x38 IfEqz "if-eqz" F21t None Next 0
    0x39 IfNez "if-nez" F21t None Next 0
    0x3a IfLtz "if-ltz" F21t None Next 0
    0x3b IfGez "if-gez" F21t None Next 0
    0x3c IfGtz "if-gtz" F21t None Next 0
    0x3d IfLez "if-lez" F21t None Next 0
    0x44 Aget "aget" F23x None Next 0
    0x45 AgetWide "aget-wide" F23x None Next 1
    0x46 AgetObject "aget-object" F23x None Next 0
    0x47 AgetBoolean "aget-boolean" F23x None Next 0
    0x48 AgetByte "aget-byte" F23x None Next 0
    0x49 AgetChar "aget-char" F23x None Next 0
    0x4a AgetShort "aget-short" F23x None Next 0
    0x4b Aput "aput" F23x None Next 0
    0x4c AputWide "aput-wide" F23x None Next 1
    0x4d AputObject "aput-object" F23x None Next 0
    0x4e AputBoolean "aput-boolean" F23x None Next 0
    0x4f AputByte "aput-byte" F23x None Next 0
    0x50 AputChar "aput-char" F23x None Next 0
    0x51 AputShort "aput-short" F23x None Next 0
    0x52 Iget "iget" F22c Field Next 0
    0x53 IgetWide "iget-wide" F22c Field Next 1
    0x54 IgetObject "iget-object" F22c Field Next 0
    0x55 IgetBoolean "iget-boolean" F22c Field Next 0
    0x56 IgetByte "iget-byte" F22c Field Next 0
    0x57 IgetChar "iget-char" F22c Field Next 0
    0x58 IgetShort "iget-short" F22c Field Next 0
    0x59 Iput "iput" F22c Field Next 0
    0x5a IputWide "iput-wide" F22c Field Next 1
    0x5b IputObject "iput-object" F22c Field Next 0
    0x5c IputBoolean "iput-boolean" F22c Field Next 0
    0x5d IputByte "iput-byte" F22c Field Next 0
    0x5e IputChar "iput-char" F22c Field Next 0
    0x5f IputShort "iput-short" F22c Field Next 0
    0x60 Sget "sget" F21c Field Next 0
    0x61 SgetWide "sget-wide" F21c Field Next 1
    0x62 SgetObject "sget-object" F21c Field Next 0
    0x63 SgetBoolean "sget-boolean" F21c Field Next 0
    0x64 SgetByte "sget-byte" F21c Field Next 0
    0x65 SgetChar "sget-char" F21c Field Next 0
    0x66 SgetShort "sget-short" F21c Field Next 0
    0x67 Sput "sput" F21c Field Next 0
    0x68 SputWide "sput-wide" F21c Field Next 1
    0x69 SputObject "sput-object" F21c Field Next 0
    0x6a SputBoolean "sput-boolean" F21c Field Next 0
    0x6b SputByte "sput-byte" F21c Field Next 0
    0x6c SputChar "sput-char" F21c Field Next 0
    0x6d SputShort "sput-short" F21c Field Next 0
    0x6e InvokeVirtual "invoke-virtual" F35c Method Next 0
    0x6f InvokeSuper "invoke-super" F35c Method Next 0
    0x70 InvokeDirect "invoke-direct" F35c Method Next 0
    0x71 InvokeStatic "invoke-static" F35c Method Next 0
    0x72 InvokeInterface "invoke-interface" F35c Method Next 0
    0x74 InvokeVirtualRange "invoke-virtual/range" F3rc Method Next 0
    0x75 InvokeSuperRange "invoke-super/range" F3rc Method Next 0
    0x76 InvokeDirectRange "invoke-direct/range" F3rc Method Next 0
    0x77 InvokeStaticRange "invoke-static/range" F3rc Method Next 0
    0x78 InvokeInterfaceRange "invoke-interface/range" F3rc Method Next 0
    0x7b NegInt "neg-int" F12x None Next 0
    0x7c NotInt "not-int" F12x None Next 0
    0x7d NegLong "neg-long" F12x None Next 3
    0x7e NotLong "not-long" F12x None Next 3
    0x7f NegFloat "neg-float" F12x None Next 0
    0x80 NegDouble "neg-double" F12x None Next 3
    0x81 IntToLong "int-to-long" F12x None Next 1
    0x82 IntToFloat "int-to-float" F12x None Next 0
    0x83 IntToDouble "int-to-double" F12x None Next 1
    0x84 LongToInt "long-to-int" F12x None Next 2
    0x85 LongToFloat "long-to-float" F12x None Next 2
    0x86 LongToDouble "long-to-double" F12x None Next 3
    0x87 FloatToInt "float-to-int" F12x None Next 0
    0x88 FloatToLong "float-to-long" F12x None Next 1
    0x89 FloatToDouble "float-to-double" F12x None Next 1
    0x8a DoubleToInt "double-to-int" F12x None Next 2
    0x8b DoubleToLong "double-to-long" F12x None Next 3
    0x8c DoubleToFloat "double-to-float" F12x None Next 2
    0x8d IntToByte "int-to-byte" F12x None Next 0
    0x8e IntToChar "int-to-char" F12x None Next 0
    0x8f IntToShort "int-to-short" F12x None Next 0
    0x90 AddInt "add-int" F23x None Next 0
    0x91 SubInt "sub-int" F23x None Next 0
    0x92 MulInt "mul-int" F23x None Next 0
    0x93 DivInt "div-int" F23x None Next 0
    0x94 RemInt "rem-int" F23x None Next 0
    0x95 AndInt "and-int" F23x None Next 0
    0x96 OrInt "or-int" F23x None Next 0
    0x97 XorInt "xor-int" F23x None Next 0
    0x98 ShlInt "shl-int" F23x None Next 0
    0x99 ShrInt "shr-int" F23x None Next 0
    0x9a UshrInt "ushr-int" F23x None Next 0
    0x9b AddLong "add-long" F23x None Next 7
    0x9c SubLong "sub-long" F23x None Next 7
    0x9d MulLong "mul-long" F23x None Next 7
    0x9e DivLong "div-long" F23x None Next 7
    0x9f RemLong "rem-long" F23x None Next 7
    0xa0 AndLong "and-long" F23x None Next 7
    0xa1 OrLong "or-long" F23x None Next 7
    0xa2 XorLong "xor-long" F23x None Next 7
    0xa3 ShlLong "shl-long" F23x None Next 3
    0xa4 ShrLong "shr-long" F23x None Next 3
    0xa5 UshrLong "ushr-long" F23x None Next 3
    0xa6 AddFloat "add-float" F23x None Next 0
    0xa7 SubFloat "sub-float" F23x None Next 0
    0xa8 MulFloat "mul-float" F23x None Next 0
    0xa9 DivFloat "div-float" F23x None Next 0
    0xaa RemFloat "rem-float" F23x None Next 0
    0xab AddDouble "add-double" F23x None Next 7
    0xac SubDouble "sub-double" F23x None Next 7
    0xad MulDouble "mul-double" F23x None Next 7
    0xae DivDouble "div-double" F23x None Next 7
    0xaf RemDouble "rem-double" F23x None Next 7
    0xb0 AddInt2addr "add-int/2addr" F12x None Next 0
    0xb1 SubInt2addr "sub-int/2addr" F12x None Next 0
    0xb2 MulInt2addr "mul-int/2addr" F12x None Next 0
    0xb3 DivInt2addr "div-int/2addr" F12x None Next 0
    0xb4 RemInt2addr "rem-int/2addr" F12x None Next 0
    0xb5 AndInt2addr "and-int/2addr" F12x None Next 0
    0xb6 OrInt2addr "or-int/2addr" F12x None Next 0
    0xb7 XorInt2addr "xor-int/2addr" F12x None Next 0
    0xb8 ShlInt2addr "shl-int/2addr" F12x None Next 0
    0xb9 ShrInt2addr "shr-int/2addr" F12x None Next 0
    0xba UshrInt2addr "ushr-int/2addr" F12x None Next 0
    0xbb AddLong2addr "add-long/2addr" F12x None Next 3
    0xbc SubLong2addr "sub-long/2addr" F12x None Next 3
    0xbd MulLong2addr "mul-long/2addr" F12x None Next 3
    0xbe DivLong2addr "div-long/2addr" F12x None Next 3
    0xbf RemLong2addr "rem-long/2addr" F12x None Next 3
    0xc0 AndLong2addr "and-long/2addr" F12x None Next 3
    0xc1 OrLong2addr "or-long/2addr" F12x None Next 3
    0xc2 XorLong2addr "xor-long/2addr" F12x None Next 3
    0xc3 ShlLong2addr "shl-long/2addr" F12x None Next 1
    0xc4 ShrLong2addr "shr-long/2addr" F12x None Next 1
    0xc5 UshrLong2addr "ushr-long/2addr" F12x None Next 1
    0xc6 AddFloat2addr "add-float/2addr" F12x None Next 0
    0xc7 SubFloat2addr "sub-float/2addr" F12x None Next 0
    0xc8 MulFloat2addr "mul-float/2addr" F12x None Next 0
    0xc9 DivFloat2addr "div-float/2addr" F12x None Next 0
    0xca RemFloat2addr "rem-float/2addr" F12x None Next 0
    0xcb AddDouble2addr "add-double/2addr" F12x None Next 3
    0xcc SubDouble2addr "sub-double/2addr" F12x None Next 3
    0xcd MulDouble2addr "mul-double/2addr" F12x None Next 3
    0xce DivDouble2addr "div-double/2addr" F12x None Next 3
    0xcf RemDouble2addr "rem-double/2addr" F12x None Next 3
    0xd0 AddIntLit16 "add-int/lit16" F22s None Next 0
    0xd1 RsubInt "rsub-int" F22s None Next 0
    0xd2 MulIntLit16 "mul-int/lit16" F22s None Next 0
    0xd3 DivIntLit16 "div-int/lit16" F22s None Next 0
    0xd4 RemIntLit16 "rem-int/lit16" F22s None Next 0
    0xd5 AndIntLit16 "and-int/lit16" F22s None Next 0
    0xd6 OrIntLit16 "or-int/lit16" F22s None Next 0
    0xd7 XorIntLit16 "xor-int/lit16" F22s None Next 0
    0xd8 AddIntLit8 "add-int/lit8" F22b None Next 0
    0xd9 RsubIntLit8 "rsub-int/lit8" F22b None Next 0
    0xda MulIntLit8 "mul-int/lit8" F22b None Next 0
    0xdb DivIntLit8 "div-int/lit8" F22b None Next 0
    0xdc RemIntLit8 "rem-int/lit8" F22b None Next 0
    0xdd AndIntLit8 "and-int/lit8" F22b None Next 0
    0xde OrIntLit8 "or-int/lit8" F22b None Next 0
    0xdf XorIntLit8 "xor-int/lit8" F22b None Next 0
    0xe0 ShlIntLit8 "shl-int/lit8" F22b None Next 0
    0xe1 ShrIntLit8 "shr-int/lit8" F22b None Next 0
    0xe2 UshrIntLit8 "ushr-int/lit8" F22b None Next 0
    0xfa InvokePolymorphic "invoke-polymorphic" F45cc MethodAndProto Next 0
    0xfb InvokePolymorphicRange "invoke-polymorphic/range" F4rcc MethodAndProto Next 0
    0xfc InvokeCustom "invoke-custom" F35c CallSite Next 0
    0xfd InvokeCustomRange "invoke-custom/range" F3rc CallSite Next 0
    0xfe ConstMethodHandle "const-method-handle" F21c MethodHandle Next 0
    0xff ConstMethodType "const-method-type" F21c Proto Next 0
}

impl Opcode {
    /// The first version of the format that has it.
    pub fn since(self) -> u8 {
        match self {
            Self::InvokePolymorphic
            | Self::InvokePolymorphicRange
            | Self::InvokeCustom
            | Self::InvokeCustomRange => 38,
            Self::ConstMethodHandle | Self::ConstMethodType => 39,
            _ => 35,
        }
    }

    /// Does a `move-result` behind it take what it gave?
    pub fn has_result(self) -> bool {
        matches!(
            self.format(),
            Format::F35c | Format::F3rc | Format::F45cc | Format::F4rcc
        )
    }

    /// Does it only make sense behind an instruction with a result?
    pub fn takes_result(self) -> bool {
        matches!(
            self,
            Self::MoveResult | Self::MoveResultWide | Self::MoveResultObject
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gaps_are_those_of_the_format() {
        let gaps: Vec<u8> = (0..=255)
            .filter(|it| Opcode::from_number(*it).is_none())
            .collect();
        let expected: Vec<u8> = (0x3e..=0x43)
            .chain([0x73])
            .chain(0x79..=0x7a)
            .chain(0xe3..=0xf9)
            .collect();
        assert_eq!(gaps, expected);
    }

    #[test]
    fn numbers_round_trip() {
        for number in 0..=255 {
            if let Some(opcode) = Opcode::from_number(number) {
                assert_eq!(opcode as u8, number);
            }
        }
    }
}
