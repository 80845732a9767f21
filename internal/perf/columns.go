package perf

import (
	"cmp"
	"errors"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/lists"
)

// Column is a counter of the tables.
type Column uint8

// The counters, in the order of HPAA's manual. The successor of a card has no DMA counters.
const (
	MCU Column = iota
	VME
	MME
	Vec
	Syn
	MTE
	vmeInst
	mmeInst
	vecInst
	synInst
	pldInst
	icmovInst
	movInst
	PalVMEMME
	PalMTEMME
	PalVMEMTE
	PalTotal
	icmovCycle
	l12llbCycle
	llb2l1Cycle
	pldCycle
	PLDByte
	l12llbByte
	llb2l1Byte
	icmovByte
	SynWait
	vecSlotWait
	mmeSlotWait
	mteSlotWait
	L1Conflict
	IMConflict
	DCacheMiss
	ICacheMiss
	instructions
	dma0Conflict
	dma0c0Cycle0
	dma0c0Cycle1
	dma0c0Byte
	dma0c1Cycle0
	dma0c1Cycle1
	dma0c1Byte
	dma1Conflict
	dma1c0Cycle0
	dma1c0Cycle1
	dma1c0Byte
	dma1c1Cycle0
	dma1c1Cycle1
	dma1c1Byte
	numColumns
)

// columnNames lists the headings of the counters.
var columnNames = [numColumns]string{
	"mcu_cycle", "vme_cycle", "mme_cycle", "vec_cycle", "syn_cycle", "mte_total_cycle",
	"vme_inst", "mme_inst", "vec_inst", "syn_inst", "mte_pld_inst", "mte_icmov_inst", "mte_mov_inst",
	"pal_vme_mme_cycle", "pal_mte_mme_cycle", "pal_vme_mte_cycle", "pal_total_cycle",
	"mte_icmov_cycle", "mte_l12llb_cycle", "mte_llb2l1_cycle", "mte_pld_cycle",
	"mte_pld_byte", "mte_l12llb_byte", "mte_llb2l1_byte", "mte_icmov_byte",
	"syn_wait_cycle", "vec_slot_wait_cycle", "mme_slot_wait_cycle", "mte_slot_wait_cycle",
	"l1_conflict_cycle", "im_conflict_cycle", "dcache_miss_cnt", "icache_miss_cnt", "instruction_cnt",
	"dma0_llb_conflict_cycle", "dma0_c0_cycle0", "dma0_c0_cycle1", "dma0_c0_byte", "dma0_c1_cycle0", "dma0_c1_cycle1", "dma0_c1_byte",
	"dma1_llb_conflict_cycle", "dma1_c0_cycle0", "dma1_c0_cycle1", "dma1_c0_byte", "dma1_c1_cycle0", "dma1_c1_cycle1", "dma1_c1_byte",
}

// The heading of names, and the alias of im_conflict_cycle in the text of the manual.
const (
	nameColumn = "name"
	imbAlias   = "imb_conflict_cycle"
)

// Columns returns all counters in the order of the manual.
func Columns() []Column {
	all := make([]Column, numColumns)
	for i := range all {
		all[i] = Column(i)
	}
	return all
}

// String returns the heading of the column.
func (c Column) String() string { return columnNames[c] }

// IsByte reports whether the column counts bytes, which add up over cores.
func (c Column) IsByte() bool {
	switch c {
	case PLDByte, l12llbByte, llb2l1Byte, icmovByte, dma0c0Byte, dma0c1Byte, dma1c0Byte, dma1c1Byte:
		return true
	}
	return false
}

// Counters holds the counters of a row; some may be unknown.
type Counters struct {
	values [numColumns]int64
	known  uint64 // one bit per column
}

// Compile-time check: known has a bit for every column.
const _ = uint(64 - numColumns)

// Get returns a counter.
func (c *Counters) Get(col Column) Count {
	return Count{c.values[col], c.known>>col&1 != 0}
}

// Set sets a counter.
func (c *Counters) Set(col Column, v Count) {
	c.values[col] = v.N
	c.known &^= 1 << col
	if v.Known {
		c.known |= 1 << col
	}
}

// SelectUnknown returns the given columns whose counters are unknown.
func (c *Counters) SelectUnknown(columns ...Column) []Column {
	return lists.Filter(columns, func(col Column) bool { return !c.Get(col).Known })
}

// columnSet is a set of counters, one bit per column.
type columnSet uint64

func (s columnSet) has(c Column) bool { return s>>c&1 != 0 }

// names returns the headings of the counters.
func (s columnSet) names() []string {
	names := []string{}
	for _, c := range Columns() {
		if s.has(c) {
			names = append(names, c.String())
		}
	}
	return names
}

// columnOf returns the counter whose heading in a table, in lower case, is heading.
func columnOf(heading string) (Column, bool) {
	if heading == imbAlias {
		return IMConflict, true
	}
	for i, name := range columnNames {
		if name == heading {
			return Column(i), true
		}
	}
	return 0, false
}

// missingColumnError returns the error for a missing required column.
func missingColumnError(column, heading string) error {
	return lang.Errorf("no column %s in the first line, %q", column, lang.Clip(heading))
}

// Count is a number of cycles, bytes or other things; it may be unknown.
type Count struct {
	N     int64
	Known bool
}

// count returns a known number.
func count(n int64) Count { return Count{n, true} }

// String returns the number, empty if unknown.
func (c Count) String() string {
	if !c.Known {
		return ""
	}
	return strconv.FormatInt(c.N, 10)
}

// MarshalJSON implements json.Marshaler: a number, or null.
func (c Count) MarshalJSON() ([]byte, error) {
	if !c.Known {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, c.N, 10), nil
}

// Quotient returns the quotient of two counts, nil if one is unknown or the divisor is 0.
func (c Count) Quotient(other Count) *float64 {
	if !c.Known || !other.Known || other.N == 0 {
		return nil
	}
	q := float64(c.N) / float64(other.N)
	return &q
}

// parseCount parses a cell: a non-negative integer in decimal notation, possibly with a fraction of
// zeros or an exponent, as 2000.0 and 1e3. An empty cell is unknown.
func parseCount(text string) (Count, error) {
	if text == "" {
		return Count{}, nil
	}
	if n, err := strconv.ParseUint(text, 10, 63); err == nil { // nearly all cells
		return count(int64(n)), nil
	}
	digits, exponent, err := splitDecimal(text)
	if err != nil {
		return Count{}, err
	}
	const maxDigits = 19
	switch {
	case digits == "":
		return count(0), nil
	case exponent < 0:
		return Count{}, lang.Errorf("%s has a fraction", lang.Clip(text))
	case len(digits)+exponent <= maxDigits:
		if n, err := strconv.ParseInt(digits+strings.Repeat("0", exponent), 10, 64); err == nil {
			return count(n), nil
		}
	}
	return Count{}, lang.Errorf("%s is larger than %d", lang.Clip(text), int64(math.MaxInt64))
}

// splitDecimal splits a number into its digits, without zeros at both ends, and its power of ten.
func splitDecimal(text string) (digits string, exponent int, err error) {
	wrong := lang.Errorf("%s is no number", lang.Clip(text))
	mantissa, power, hasPower := strings.Cut(strings.ToLower(text), "e")
	if hasPower {
		if exponent, err = strconv.Atoi(power); err != nil && !errors.Is(err, strconv.ErrRange) {
			return "", 0, wrong
		}
		const maxExponent = 1 << 30 // on a range error, exponent is the nearest int
		exponent = min(max(exponent, -maxExponent), maxExponent)
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = whole + fraction
	switch {
	case digits == "" || strings.Trim(digits, "0123456789") != "":
		return "", 0, wrong
	case negative:
		return "", 0, lang.Errorf("%s is negative", lang.Clip(text))
	}
	exponent -= len(fraction)
	digits = strings.TrimLeft(digits, "0")
	short := strings.TrimRight(digits, "0")
	return short, exponent + len(digits) - len(short), nil
}

// sumDifference returns the sum of plus minus the sum of minus, all non-negative. It is exact except that it
// saturates at math.MinInt64; ok is false above math.MaxInt64.
func sumDifference(plus, minus []int64) (n int64, ok bool) {
	for len(plus) > 0 || len(minus) > 0 {
		// Adding the number whose sign opposes n cannot overflow.
		if len(plus) > 0 && (n < 0 || len(minus) == 0) {
			if n > math.MaxInt64-plus[0] {
				return 0, false
			}
			n, plus = n+plus[0], plus[1:]
			continue
		}
		if n < math.MinInt64+minus[0] {
			return math.MinInt64, true
		}
		n, minus = n-minus[0], minus[1:]
	}
	return n, true
}

// sumCounts adds counts; an unknown count makes the sum unknown. ok is false on overflow.
func sumCounts(counts ...Count) (c Count, ok bool) {
	plus := make([]int64, len(counts))
	for i, c := range counts {
		if !c.Known {
			return Count{}, true
		}
		plus[i] = c.N
	}
	n, ok := sumDifference(plus, nil)
	return count(n), ok
}

// Ratio is a non-negative decimal number, such as 0.05, that is compared with counts exactly. It
// implements a flag value.
type Ratio struct{ num, den uint64 }

// ratioDigits is the largest number of digits on each side of the point.
const ratioDigits = 9

// ParseRatio parses a ratio.
func ParseRatio(text string) (Ratio, error) {
	digits, exponent, err := splitDecimal(strings.TrimSpace(text))
	switch {
	case err != nil:
		return Ratio{}, err
	case digits == "":
		return Ratio{0, 1}, nil
	case exponent < -ratioDigits || len(digits)+exponent > ratioDigits:
		return Ratio{}, lang.Errorf("%s has more than %d digits on one side of the point", lang.Clip(text), ratioDigits)
	}
	r := Ratio{1, 1}
	if r.num, err = strconv.ParseUint(digits, 10, 64); err != nil {
		return Ratio{}, lang.Errorf("%s is no number", lang.Clip(text))
	}
	for ; exponent > 0; exponent-- {
		r.num *= 10
	}
	for ; exponent < 0; exponent++ {
		r.den *= 10
	}
	return r, nil
}

// mustRatio parses a constant; it panics if text is no ratio.
func mustRatio(text string) Ratio {
	r, err := ParseRatio(text)
	if err != nil {
		panic(err)
	}
	return r
}

// String returns the ratio as a decimal number.
func (r Ratio) String() string {
	return strconv.FormatFloat(float64(r.num)/float64(max(r.den, 1)), 'f', -1, 64)
}

// MarshalJSON implements json.Marshaler.
func (r Ratio) MarshalJSON() ([]byte, error) { return []byte(r.String()), nil }

// Set implements the value of a flag.
func (r *Ratio) Set(text string) error {
	v, err := ParseRatio(text)
	if err == nil {
		*r = v
	}
	return err
}

// Type implements the value of a flag.
func (r *Ratio) Type() string { return "ratio" }

// compareProducts compares a*b with c*d.
func compareProducts(a, b, c, d uint64) int {
	h1, l1 := bits.Mul64(a, b)
	h2, l2 := bits.Mul64(c, d)
	return cmp.Or(cmp.Compare(h1, h2), cmp.Compare(l1, l2))
}

// compare compares x with r*y, both from 0.
func (r Ratio) compare(x, y int64) int { return compareProducts(uint64(x), r.den, uint64(y), r.num) }

// isReached reports whether x >= r*y.
func (r Ratio) isReached(x, y int64) bool { return r.compare(x, y) >= 0 }

// hasGrown reports whether a non-negative number grew by more than the share r, and by at least minimum.
func (r Ratio) hasGrown(before, after, minimum int64) bool {
	return after > before && after-before >= minimum && r.compare(after-before, before) > 0
}

// hasShrunk reports whether a non-negative number fell by more than the share r, and by at least minimum.
func (r Ratio) hasShrunk(before, after, minimum int64) bool {
	return after < before && before-after >= minimum && r.compare(before-after, before) > 0
}
