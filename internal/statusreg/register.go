// Package statusreg explains the bits of status and error registers of Ascend devices, in English
// and Chinese: the status words of overflow records, the AIC_ERROR register that logs show after an
// exception, and the error registers of the Ascend 950 generation. It also finds such values in
// lines of logs.
//
// The tables follow public sources: the CANN documentation on collecting and analysing overflow
// data (AI Core status), the error tables of the CANN runtime and of the msaicerr tool (AIC_ERROR,
// SDMA, AI CPU, 950), and the precision tool for Ascend (fields of the atomic add status). The
// wording is our own. Undocumented bits are reported as such and never dropped.
//
// Package opdebug reads overflow records, and package overflow judges operators. The registers with
// the failing addresses that logs print beside AIC_ERROR are not decoded.
package statusreg

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// Register is a kind of status or error register. The zero value None is an unknown register.
type Register uint8

// The registers, in listing order.
const (
	None      Register = iota
	AICore             // status of AI Core, AIC and AIV in overflow records
	DHA                // status of atomic add in the memory controller
	L2                 // status of atomic add in the L2 cache
	SDMA               // status of the DMA engine
	AICPU              // error code of the AI CPU
	AICError           // AIC_ERROR, the error register of AI Core
	DavidCube          // from here on: error registers of the Ascend 950 generation
	DavidMTE
	DavidL1 // DavidL1High is its upper half
	DavidL1High
	DavidSC
	DavidSU
	DavidVec // DavidVecHigh is its upper half
	DavidVecHigh
)

// flags are properties of a table row.
type flags uint8

const (
	numeric    flags = 1 << iota // the computed numbers are the cause
	unofficial                   // not stated by the vendor for this register
)

// bitRow is one bit of a register.
type bitRow struct {
	bit   int
	flags flags
	name  string
	en    string
}

// codeRow is one range of codes in a field, often a single code.
type codeRow struct {
	first, last uint64
	flags       flags
	name        string
	en          string
}

// field is the range of bits of a register that holds a code, low to high.
type field struct {
	low, high int
}

// table describes a register.
type table struct {
	name  string
	title lang.Text
	bits  []bitRow // the low bits
	upper []bitRow // bits from 32 on, if they are a register of their own
	field field
	codes []codeRow // values of the field; without codes there is no field
	zero  *codeRow  // meaning of 0, if it has one
	width int       // Ascend 950: number of bits, 0 for others
	base  int       // Ascend 950: number of bit 0 in logs
	valid Value     // Ascend 950: bits that the chip uses
}

var tables = [...]table{
	None: {name: "none"},
	AICore: {
		name: "aicore", title: lang.Text{EN: "AI Core status"},
		bits: aicoreBits,
	},
	DHA: {
		name: "dha", title: lang.Text{EN: "DHA atomic add status (memory controller); any value above 0 is an overflow"},
		field: field{8, 15}, codes: dhaCodes,
	},
	L2: {
		name: "l2", title: lang.Text{EN: "L2 atomic add status (L2 cache); any value above 0 is an overflow"},
		field: field{16, 18}, codes: l2Codes, zero: &l2Codes[0],
	},
	SDMA: {
		name: "sdma", title: lang.Text{EN: "SDMA status"},
		field: field{0, 63}, codes: sdmaCodes, zero: &sdmaCodes[0],
	},
	AICPU: {
		name: "aicpu", title: lang.Text{EN: "AI CPU error code"},
		field: field{0, 63}, codes: aicpuCodes,
	},
	AICError: {
		name: "aicerror", title: lang.Text{EN: "AIC_ERROR, error register of AI Core"},
		bits: aicerrorBits, zero: &aicerrorZero,
	},
	DavidCube: {
		name: "david-cube", title: lang.Text{EN: "CUBE errors of Ascend 950"},
		bits: davidCubeBits, width: 64, base: 0, valid: Value{0x1FFF0},
	},
	DavidMTE: {
		name: "david-mte", title: lang.Text{EN: "MTE errors of Ascend 950"},
		bits: davidMTEBits, width: 64, base: 64, valid: Value{0xF407C60F},
	},
	DavidL1: {
		name: "david-l1", title: lang.Text{EN: "L1 errors of Ascend 950"},
		bits: davidL1Bits, upper: davidL1HighBits, width: 64, base: 128, valid: Value{0x1FFFFE79E9C00F},
	},
	DavidL1High: {
		name: "david-l1-high", title: lang.Text{EN: "L1 errors of Ascend 950, upper half"},
		bits: davidL1HighBits, width: 32, base: 160, valid: Value{0x1FFFFE},
	},
	DavidSC: {
		name: "david-sc", title: lang.Text{EN: "SC errors of Ascend 950"},
		bits: davidSCBits, width: 64, base: 192, valid: Value{0x8},
	},
	DavidSU: {
		name: "david-su", title: lang.Text{EN: "SU (scalar unit) errors of Ascend 950"},
		bits: davidSUBits, width: 64, base: 256, valid: Value{0xC07FFFFF},
	},
	DavidVec: {
		name: "david-vec", title: lang.Text{EN: "VEC errors of Ascend 950"},
		bits: davidVecBits, upper: davidVecHighBits, width: 64, base: 320, valid: Value{0x1FFF01FFFFC7},
	},
	DavidVecHigh: {
		name: "david-vec-high", title: lang.Text{EN: "VEC errors of Ascend 950, upper half"},
		bits: davidVecHighBits, width: 32, base: 352, valid: Value{0x1FFF},
	},
}

// table returns the description of the register.
func (r Register) table() *table {
	if int(r) >= len(tables) {
		return &tables[None]
	}
	return &tables[r]
}

// String returns the name of the register, for instance aicore.
func (r Register) String() string {
	if int(r) >= len(tables) {
		return "register(" + strconv.Itoa(int(r)) + ")"
	}
	return tables[r].name
}

// Title describes the register in a few words.
func (r Register) Title() lang.Text { return r.table().title }

// Registers lists all registers, without None.
func Registers() []Register {
	all := make([]Register, 0, len(tables)-1)
	for i := range tables[1:] {
		all = append(all, Register(i+1))
	}
	return all
}

// ParseRegister returns the register with a name, ignoring case; _ is accepted for -.
func ParseRegister(name string) (Register, bool) {
	name = strings.ReplaceAll(name, "_", "-")
	for _, r := range Registers() {
		if strings.EqualFold(r.String(), name) {
			return r, true
		}
	}
	return None, false
}

// ValueBits is the number of bits of a Value. The longest register, AIC_ERROR, has 176.
const ValueBits = 64 * valueWords

const valueWords = 4

// Value is the content of a register in words of 64 bits, low word first. Values are comparable
// with ==; Value{272} is the number 272.
type Value [valueWords]uint64

// Bit returns the value with only bit n set; n is 0 to ValueBits-1.
func Bit(n int) Value {
	var v Value
	v[n/64] = 1 << (n % 64)
	return v
}

// HasBit reports whether bit n is set.
func (v Value) HasBit(n int) bool {
	return n >= 0 && n < ValueBits && v[n/64]>>(n%64)&1 == 1
}

// IsZero reports whether no bit is set.
func (v Value) IsZero() bool { return v == Value{} }

// AndNot returns the bits of v that are not in w.
func (v Value) AndNot(w Value) Value {
	for i := range v {
		v[i] &^= w[i]
	}
	return v
}

// String returns the value in hexadecimal: 0x110, and 0x0 for zero.
func (v Value) String() string {
	top := valueWords - 1
	for top > 0 && v[top] == 0 {
		top--
	}
	var b strings.Builder
	b.WriteString("0x" + strconv.FormatUint(v[top], 16))
	for i := top - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "%016x", v[i])
	}
	return b.String()
}

// ParseError is the error of a text that is no value.
type ParseError struct {
	Value string
	Msg   lang.Sentence // the fault and the wanted value
}

// Error quotes the text.
func (e *ParseError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *ParseError) Text() lang.Text {
	return lang.Say("value %q: %s", e.Value, e.Msg).Text()
}

// ParseValue parses a value of up to ValueBits bits: decimal digits, or 0x and hexadecimal digits.
// Underscores between digits and white space around the value are allowed. Leading zeros do not
// make a number octal.
func ParseValue(text string) (Value, error) {
	v, msg := parseValue(strings.TrimSpace(text))
	if !msg.IsZero() {
		return Value{}, &ParseError{text, msg}
	}
	return v, nil
}

// parseValue parses a value without white space; msg describes the error.
func parseValue(text string) (v Value, msg lang.Sentence) {
	digits, base, kind := text, 10, "decimal"
	if len(text) >= 2 && strings.EqualFold(text[:2], "0x") {
		digits, base, kind = text[2:], 16, "hexadecimal"
	}
	switch {
	case text == "":
		return Value{}, lang.Say("is empty, wanted a decimal or 0x hexadecimal number")
	case digits == "":
		return Value{}, lang.Say("no digits after 0x")
	case strings.HasSuffix(digits, "_"), base == 10 && digits[0] == '_', strings.Contains(digits, "__"):
		return Value{}, lang.Say("_ may only stand between digits")
	}
	digits = strings.ReplaceAll(digits, "_", "")
	for _, c := range digits {
		d := hexDigit(c)
		if d < base {
			continue
		}
		msg := lang.Say("%q is no %s digit", c, lang.Say(kind))
		if d < 16 {
			msg = lang.Say("%s, hexadecimal numbers start with 0x", msg)
		}
		return Value{}, msg
	}
	number, _ := new(big.Int).SetString(digits, base)
	if number.BitLen() > ValueBits {
		return Value{}, lang.Say("has more than %d bits", ValueBits)
	}
	for i, b := range slices.Backward(number.FillBytes(make([]byte, ValueBits/8))) {
		low := ValueBits/8 - 1 - i
		v[low/8] |= uint64(b) << (low % 8 * 8)
	}
	return v, lang.Sentence{}
}

// hexDigit returns the value of a hexadecimal digit, 16 for other characters.
func hexDigit(c rune) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return 16
}
