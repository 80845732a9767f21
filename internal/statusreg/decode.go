package statusreg

import (
	"math/bits"
	"slices"

	"dumptool/internal/lang"
)

// Entry is one part of a decoded value: a bit, or a code in a field of bits.
type Entry struct {
	Mask       Value  // the bit, or all bits of the field; 0 if the value is 0
	Bit        int    // number of the lowest bit of Mask
	IsCode     bool   // the entry describes a code, not a bit
	Code       uint64 // the code in the field; 1 for a bit
	Global     int    // Ascend 950: number of the bit in logs; -1 for others
	Name       string // short name, empty if not documented
	Meaning    lang.Text
	Advice     lang.Text // what to do, often empty
	Note       lang.Text // a remark on the bit, often empty
	Numeric    bool      // the computed numbers are the cause
	Unofficial bool      // not stated by the vendor for this register
}

// IsDocumented reports whether a source documents the entry.
func (e *Entry) IsDocumented() bool { return e.Name != "" }

// Result is a decoded value.
type Result struct {
	Register Register
	Value    Value
	// Entries lists the documented parts, in bit order.
	Entries []Entry
	// Unknown holds the bits of Value that no entry explains.
	Unknown Value
}

// Numeric reports whether the value means that the computed numbers are wrong. In an overflow
// record any non-zero value of AI Core, DHA and L2 is an overflow, documented or not.
func (r *Result) Numeric() bool {
	switch r.Register {
	case AICore, DHA, L2:
		return !r.Value.IsZero()
	}
	return slices.ContainsFunc(r.Entries, func(e Entry) bool { return e.Numeric })
}

// Decode returns the meaning of the bits of a value. Undocumented bits are in Unknown.
func Decode(r Register, v Value) Result {
	t := r.table()
	res := Result{Register: r, Value: v}
	if v.IsZero() {
		if t.zero != nil {
			res.Entries = []Entry{t.codeEntry(r, t.zero, 0, Value{})}
		}
		return res
	}
	for k, rows := range [][]bitRow{t.bits, t.upper} {
		for i := range rows {
			if bit := 32*k + rows[i].bit; v.HasBit(bit) {
				res.Entries = append(res.Entries, t.bitEntry(r, &rows[i], bit))
			}
		}
	}
	if code := t.field.extract(v); code != 0 {
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

// UndocumentedEntries returns an entry for each undocumented bit or code in Unknown, in bit order.
func (r *Result) UndocumentedEntries() []Entry {
	t := r.Register.table()
	rest := r.Unknown
	var entries []Entry
	if code := t.field.extract(rest); code != 0 {
		mask := t.field.mask()
		rest = rest.AndNot(mask)
		entries = append(entries, Entry{
			Mask: mask, Bit: t.field.low, IsCode: true, Code: code, Global: -1,
			Meaning: lang.Say("code %d (%#x): not documented", code, code).Text(),
		})
	}
	for n := range rest.oneBits {
		entries = append(entries, Entry{
			Mask: Bit(n), Bit: n, Code: 1, Global: t.globalNumber(n),
			Meaning: lang.Say("bit %d (%v): not documented", n, Bit(n)).Text(),
			Note:    t.maskRemark(n),
		})
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.Bit - b.Bit })
	return entries
}

// DecodeGlobal decodes an error number in logs of the Ascend 950 generation: the number of a bit
// over all error registers of the core.
func DecodeGlobal(number int) (Result, error) {
	if number < 0 || number >= globalNumbers {
		return Result{}, lang.Errorf("error number %d is in no register, wanted 0 to %d", number, globalNumbers-1)
	}
	r := DavidVecHigh
	for number < r.table().base {
		r--
	}
	return Decode(r, Bit(number-r.table().base)), nil
}

// globalNumbers is the number of error numbers of the Ascend 950 generation.
const globalNumbers = 384

// oneBits yields the numbers of the set bits.
func (v Value) oneBits(yield func(int) bool) {
	for i, word := range v {
		for ; word != 0; word &= word - 1 {
			if !yield(64*i + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}

// extract returns the code in the field, which lies below bit 64.
func (f field) extract(v Value) uint64 {
	return v[0] & f.mask()[0] >> f.low
}

// mask returns the bits of the field; the zero field has none.
func (f field) mask() Value {
	if f == (field{}) {
		return Value{}
	}
	return Value{^uint64(0) >> (63 - f.high) >> f.low << f.low}
}

// findCode returns the row of a code, nil if none.
func (t *table) findCode(code uint64) *codeRow {
	for i := range t.codes {
		if row := &t.codes[i]; row.first <= code && code <= row.last {
			return row
		}
	}
	return nil
}

func (t *table) bitEntry(r Register, row *bitRow, n int) Entry {
	e := newEntry(r, uint64(n), row.flags, row.name, lang.Text{EN: row.en})
	e.Mask, e.Bit, e.Code, e.Global, e.Note = Bit(n), n, 1, t.globalNumber(n), t.maskRemark(n)
	return e
}

func (t *table) codeEntry(r Register, row *codeRow, code uint64, mask Value) Entry {
	e := newEntry(r, code, row.flags, row.name, lang.Text{EN: row.en})
	e.Mask, e.Bit, e.IsCode, e.Code, e.Global = mask, t.field.low, true, code, -1
	return e
}

// newEntry returns an entry with the table's text and the advice on a bit or code.
func newEntry(r Register, number uint64, f flags, name string, meaning lang.Text) Entry {
	return Entry{
		Name: name, Meaning: meaning, Advice: findAdvice(r, number),
		Numeric: f&numeric != 0, Unofficial: f&unofficial != 0,
	}
}

// globalNumber returns the number of a bit over all registers, -1 for registers without such numbers.
func (t *table) globalNumber(n int) int {
	if n >= t.width {
		return -1
	}
	return t.base + n
}

// maskRemark returns a remark on a bit outside of the device's valid mask.
func (t *table) maskRemark(n int) lang.Text {
	if t.width == 0 || t.valid.HasBit(n) {
		return lang.Text{}
	}
	return lang.Text{EN: "outside the valid mask of 950"}
}

// adviceRow is advice on some bits or codes of some registers.
type adviceRow struct {
	registers []Register
	numbers   []uint64 // bits or codes
	advice    lang.Text
}

// adviceRows collects recommendations of the CANN and MindSpore documentation and of users'
// reports.
var adviceRows = []adviceRow{
	{[]Register{AICore}, []uint64{3, 4}, lang.Text{
		EN: "check the range of the integers, above all index arithmetic",
	}},
	{[]Register{AICore}, []uint64{5}, lang.Text{
		EN: "run the operator in FP32 (mixed precision black list, keep_dtype), lower the loss scale, and check constants and attributes; " +
			"if FP32 would not overflow here, report it to the owner of the operator",
	}},
	{[]Register{AICore}, []uint64{7}, lang.Text{
		EN: "look for a cast to an unsigned type that is fed negative numbers",
	}},
	{[]Register{AICore}, []uint64{8}, lang.Text{
		EN: "look for a Cast to FP16, also one fused into another operator, and keep its input in FP32 or scale it down",
	}},
	{[]Register{AICore}, []uint64{10}, lang.Text{
		EN: "look at the accumulation of MatMul or convolution: scale the inputs down, or use FP32 output and accumulation",
	}},
	{[]Register{DHA}, []uint64{0x9, 0xA, 0xB, 0xC, 0xD}, atomicAdvice},
	{[]Register{L2}, []uint64{1, 2, 3, 4, 5}, atomicAdvice},
	{[]Register{SDMA}, []uint64{11, 12, 13, 14, 15}, atomicAdvice},
	{[]Register{AICError}, []uint64{9, 54, 72, 156}, upstreamAdvice},
	{[]Register{DavidCube}, []uint64{4}, upstreamAdvice},
	{[]Register{DavidL1High}, []uint64{22}, upstreamAdvice},
	{[]Register{DavidL1}, []uint64{32 + 22}, upstreamAdvice},
	{[]Register{DavidSU}, []uint64{6}, upstreamAdvice},
	{[]Register{DavidVec}, []uint64{16}, upstreamAdvice},
	{[]Register{AICError}, []uint64{23}, lang.Text{
		EN: "if this is the only bit, the logs also have a line \"dha status 1\" and the operator's output was not cleared " +
			"before atomic add, it is an overflow in atomic add",
	}},
}

var (
	atomicAdvice = lang.Text{
		EN: "look at gradient accumulation or atomic reduction in FP16: accumulate in FP32",
	}
	upstreamAdvice = lang.Text{
		EN: "the input already holds Inf or NaN: look for the operator that made it, further up",
	}
)

// findAdvice returns the advice on a bit or code, empty if none.
func findAdvice(r Register, number uint64) lang.Text {
	for i := range adviceRows {
		row := &adviceRows[i]
		if slices.Contains(row.registers, r) && slices.Contains(row.numbers, number) {
			return row.advice
		}
	}
	return lang.Text{}
}
