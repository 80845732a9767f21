package statusreg

import (
	"fmt"
	"math/bits"
)

// Entry is one part of a decoded value: a bit, or a code in a field of bits.
type Entry struct {
	Mask       Value  // the bit, or all bits of the field; 0 when the value is 0
	Bit        int    // number of the lowest bit of Mask
	IsCode     bool   // the entry is about a code, not about a single bit
	Code       uint64 // the code that the field holds, 1 for a bit
	Global     int    // Ascend 950: the number of the bit in logs; -1 for others
	Name       string // short name, empty for what is not documented
	Meaning    Text
	Advice     Text // what to do about it, often empty
	Note       Text // a remark about the bit, often empty
	Numeric    bool // the cause lies in the numbers that were computed
	Unofficial bool // not stated by the maker of the device for this register
}

// Known reports whether a source documents the entry.
func (e *Entry) Known() bool { return e.Name != "" }

// Result is a decoded value.
type Result struct {
	Register Register
	Value    Value
	// Entries holds what is documented, in the order of the bits.
	Entries []Entry
	// Unknown holds the bits of Value that no entry explains.
	Unknown Value
}

// Decode tells what the bits of a value mean. It never fails: what is not
// documented is in Unknown.
func Decode(r Register, v Value) Result {
	t := r.table()
	res := Result{Register: r, Value: v}
	if v.IsZero() {
		if t.zero != nil {
			res.Entries = []Entry{t.codeEntry(r, t.zero, 0, Value{})}
		}
		return res
	}
	for i := range t.bits {
		if row := &t.bits[i]; v.Has(row.bit) {
			res.Entries = append(res.Entries, t.bitEntry(r, row, row.bit))
		}
	}
	for i := range t.upper {
		if row := &t.upper[i]; v.Has(32 + row.bit) {
			res.Entries = append(res.Entries, t.bitEntry(r, row, 32+row.bit))
		}
	}
	if code := t.field.of(v); code != 0 {
		if row := t.findCode(code); row != nil {
			res.Entries = append(res.Entries, t.codeEntry(r, row, code, t.field.mask()))
		}
	}
	res.Unknown = v
	for i := range res.Entries {
		res.Unknown = res.Unknown.AndNot(res.Entries[i].Mask)
	}
	return res
}

// Undocumented returns an entry for each part of Unknown, in the order of the
// bits: it says which bit or code is not documented.
func (r *Result) Undocumented() []Entry {
	t := r.Register.table()
	rest := r.Unknown
	var entries []Entry
	if code := t.field.of(rest); code != 0 {
		mask := t.field.mask()
		rest = rest.AndNot(mask)
		entries = append(entries, Entry{
			Mask: mask, Bit: t.field.low, IsCode: true, Code: code, Global: -1,
			Meaning: Text{
				fmt.Sprintf("code %d (%#x): not documented", code, code),
				fmt.Sprintf("错误码 %d(%#x)：未公开", code, code),
			},
		})
	}
	var below, above []Entry
	for n := range rest.ones {
		e := Entry{
			Mask: Bit(n), Bit: n, Code: 1, Global: t.global(n),
			Meaning: Text{
				fmt.Sprintf("bit %d (%v): not documented", n, Bit(n)),
				fmt.Sprintf("第 %d 位(%v)：未公开", n, Bit(n)),
			},
			Note: t.note(n),
		}
		if len(entries) > 0 && n < t.field.low {
			below = append(below, e)
		} else {
			above = append(above, e)
		}
	}
	return append(append(below, entries...), above...)
}

// DecodeGlobal decodes an error number as logs of the Ascend 950 generation
// list them: the number of a bit over all error registers of the core.
func DecodeGlobal(number int) (Result, error) {
	if number < 0 || number >= globals {
		return Result{}, fmt.Errorf("statusreg: error number %d is in no register, wanted 0 to %d", number, globals-1)
	}
	r := DavidVecHigh
	for number < r.table().base {
		r--
	}
	return Decode(r, Bit(number-r.table().base)), nil
}

// globals is how many error numbers the Ascend 950 generation has.
const globals = 384

// ones yields the numbers of the set bits.
func (v Value) ones(yield func(int) bool) {
	for i, word := range v {
		for ; word != 0; word &= word - 1 {
			if !yield(64*i + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}

// of returns the code in the field, which is below bit 64.
func (f field) of(v Value) uint64 {
	return v.And(f.mask())[0] >> f.low
}

// mask returns the bits of the field; the zero field has none.
func (f field) mask() Value {
	if f == (field{}) {
		return Value{}
	}
	return Value{^uint64(0) >> (63 - f.high) >> f.low << f.low}
}

// findCode returns the row of a code, nil when there is none.
func (t *table) findCode(code uint64) *codeRow {
	for i := range t.codes {
		if row := &t.codes[i]; row.first <= code && code <= row.last {
			return row
		}
	}
	return nil
}

func (t *table) bitEntry(r Register, row *bitRow, n int) Entry {
	return Entry{
		Mask:       Bit(n),
		Bit:        n,
		Code:       1,
		Global:     t.global(n),
		Name:       row.name,
		Meaning:    Text{row.en, row.zh},
		Advice:     adviceOn(r, uint64(n)),
		Note:       t.note(n),
		Numeric:    row.flags&numeric != 0,
		Unofficial: row.flags&unofficial != 0,
	}
}

func (t *table) codeEntry(r Register, row *codeRow, code uint64, mask Value) Entry {
	return Entry{
		Mask:       mask,
		Bit:        t.field.low,
		IsCode:     true,
		Code:       code,
		Global:     -1,
		Name:       row.name,
		Meaning:    Text{row.en, row.zh},
		Advice:     adviceOn(r, code),
		Numeric:    row.flags&numeric != 0,
		Unofficial: row.flags&unofficial != 0,
	}
}

// global returns the number of a bit over all registers, -1 for registers
// that have no such numbers.
func (t *table) global(n int) int {
	if n >= t.width {
		return -1
	}
	return t.base + n
}

// note returns the remark on a bit that the device does not use.
func (t *table) note(n int) Text {
	if t.width == 0 || t.valid.Has(n) {
		return Text{}
	}
	return Text{"outside the valid mask of 950", "不在 950 的有效掩码内"}
}
