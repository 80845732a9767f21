package statusreg

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"dumptool/internal/lang"
)

// rowCounts is the number of rows in the sources for each register.
var rowCounts = map[Register]int{
	AICore: 6, DHA: 5, L2: 6, SDMA: 16, AICPU: 27, AICError: 176,
	DavidCube: 28, DavidMTE: 29, DavidL1: 30, DavidL1High: 23, DavidSC: 4, DavidSU: 33,
	DavidVec: 27, DavidVecHigh: 13,
}

func TestRowCounts(t *testing.T) {
	for _, r := range Registers() {
		tab := r.table()
		if got := len(tab.bits) + len(tab.codes); got != rowCounts[r] {
			t.Errorf("%v: %d rows, want %d", r, got, rowCounts[r])
		}
		if len(tab.bits) > 0 && len(tab.codes) > 0 {
			t.Errorf("%v has bits and codes", r)
		}
	}
}

func TestRegisterNames(t *testing.T) {
	want := "aicore dha l2 sdma aicpu aicerror david-cube david-mte david-l1 david-l1-high david-sc david-su david-vec david-vec-high"
	var names []string
	for _, r := range Registers() {
		names = append(names, r.String())
		for _, name := range []string{r.String(), strings.ToUpper(r.String()), strings.ReplaceAll(r.String(), "-", "_")} {
			if got, ok := ParseRegister(name); !ok || got != r {
				t.Errorf("ParseRegister(%q) = %v, %v", name, got, ok)
			}
		}
		checkText(t, r.String(), r.Title())
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("registers are %s, want %s", got, want)
	}
	for _, name := range []string{"", "none", "david", "aicore ", "register(99)"} {
		if r, ok := ParseRegister(name); ok || r != None {
			t.Errorf("ParseRegister(%q) = %v, %v", name, r, ok)
		}
	}
	if None.String() != "none" || Register(99).String() != "register(99)" {
		t.Errorf("unknown registers are %v and %v", None, Register(99))
	}
}

func TestBitTables(t *testing.T) {
	for _, r := range Registers() {
		tab := r.table()
		last := -1
		names := map[string]bool{}
		for _, row := range tab.bits {
			if row.bit <= last {
				t.Errorf("%v: bit %d comes after bit %d", r, row.bit, last)
			}
			last = row.bit
			checkRow(t, r, names, row.name, row.en)
		}
		for _, row := range tab.upper {
			checkRow(t, r, names, row.name, row.en)
		}
		if tab.width > 0 && last >= tab.width || tab.upper != nil && last >= 32 || last >= ValueBits {
			t.Errorf("%v: bit %d is too high", r, last)
		}
	}
}

func TestCodeTables(t *testing.T) {
	for _, r := range Registers() {
		tab := r.table()
		names := map[string]bool{}
		for i, row := range tab.codes {
			if row.last < row.first || i > 0 && row.first <= tab.codes[i-1].last {
				t.Errorf("%v: codes %d to %d are out of order", r, row.first, row.last)
			}
			if code := (Value{row.last << tab.field.low}); tab.field.extract(code) != row.last {
				t.Errorf("%v: code %d does not fit the field", r, row.last)
			}
			checkRow(t, r, names, row.name, row.en)
		}
		if tab.zero != nil {
			checkText(t, tab.zero.name, lang.Text{EN: tab.zero.en})
		}
	}
}

// TestAICErrorComplete: the register has 176 bits, each with one row.
func TestAICErrorComplete(t *testing.T) {
	meanings := map[string]int{}
	for i, row := range aicerrorBits {
		if row.bit != i {
			t.Fatalf("row %d is bit %d", i, row.bit)
		}
		for _, text := range []string{row.en, lang.Chinese(row.en)} {
			if other, ok := meanings[text]; ok {
				t.Errorf("bits %d and %d: both %q", other, i, text)
			}
			meanings[text] = i
		}
	}
}

// TestNumeric: these bits and codes are about numbers, all others are not.
func TestNumeric(t *testing.T) {
	want := map[Register][]uint64{
		AICore:       {3, 4, 5, 7, 8, 10},
		DHA:          {0x9, 0xA, 0xB, 0xC, 0xD},
		L2:           {1, 2, 3, 4, 5},
		SDMA:         {11, 12},
		AICError:     {3, 7, 9, 52, 54, 57, 58, 72, 97, 98, 156, 157, 158, 159, 160},
		DavidCube:    {4},
		DavidL1High:  {22},
		DavidSU:      {2, 4, 6, 11, 12},
		DavidVec:     {16, 17, 18, 19},
		DavidVecHigh: nil,
	}
	for _, r := range Registers() {
		var got []uint64
		for _, row := range r.table().bits {
			if row.flags&numeric != 0 {
				got = append(got, uint64(row.bit))
			}
		}
		for _, row := range r.table().codes {
			if row.flags&numeric != 0 {
				got = append(got, row.first)
			}
		}
		if !slices.Equal(got, want[r]) {
			t.Errorf("%v: numeric are %v, want %v", r, got, want[r])
		}
	}
}

// TestValidMasks: the halves split the mask, and every bit that an Ascend 950 uses is documented.
func TestValidMasks(t *testing.T) {
	for _, r := range Registers() {
		mask := r.table().valid
		if want := strings.HasPrefix(r.String(), "david-"); mask.IsZero() == want {
			t.Errorf("%v: valid mask %v", r, mask)
		}
		if res := Decode(r, mask); !res.Unknown.IsZero() {
			t.Errorf("%v: valid but not documented: %v", r, res.Unknown)
		}
	}
	for _, c := range []struct{ full, high Register }{{DavidL1, DavidL1High}, {DavidVec, DavidVecHigh}} {
		full, high := c.full.table().valid, c.high.table().valid
		if full[0]>>32 != high[0] {
			t.Errorf("%v is not the upper half of %v", high, full)
		}
	}
}

// TestAdvice: every advice is about an existing row, and no row has two.
func TestAdvice(t *testing.T) {
	type key struct {
		r Register
		n uint64
	}
	seen := map[key]bool{}
	for _, row := range adviceRows {
		checkText(t, "advice", row.advice)
		for _, r := range row.registers {
			for _, n := range row.numbers {
				if seen[key{r, n}] {
					t.Errorf("%v %d has two advices", r, n)
				}
				seen[key{r, n}] = true
				v := Value{n << r.table().field.low}
				if len(r.table().bits) > 0 {
					v = Bit(int(n))
				}
				if res := Decode(r, v); len(res.Entries) != 1 || res.Entries[0].Advice != row.advice {
					t.Errorf("%v %v: decoded to %+v, want the advice %q", r, v, res.Entries, row.advice.String())
				}
			}
		}
	}
	for _, row := range aicoreBits {
		if !seen[key{AICore, uint64(row.bit)}] {
			t.Errorf("bit %d of aicore has no advice", row.bit)
		}
	}
}

func checkRow(t *testing.T, r Register, names map[string]bool, name, en string) {
	t.Helper()
	if names[name] {
		t.Errorf("%v: two rows are called %s", r, name)
	}
	names[name] = true
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		t.Errorf("%v: %q is no name", r, name)
	}
	checkText(t, r.String()+" "+name, lang.Text{EN: en})
}

// checkText: both texts exist, in their language, and are no sentences.
func checkText(t *testing.T, what string, text lang.Text) {
	t.Helper()
	han := func(c rune) bool { return unicode.Is(unicode.Han, c) }
	if text.String() == "" || strings.ContainsFunc(text.String(), func(c rune) bool { return c > unicode.MaxASCII }) {
		t.Errorf("%s: English text is %q", what, text.String())
	}
	if !strings.ContainsFunc(text.Chinese(), han) {
		t.Errorf("%s: Chinese text is %q", what, text.Chinese())
	}
	if strings.HasSuffix(text.String(), ".") || strings.HasSuffix(text.Chinese(), "。") || text.String() != strings.TrimSpace(text.String()) {
		t.Errorf("%s: %q or %q ends like a sentence", what, text.String(), text.Chinese())
	}
}
