package statusreg

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"dumptool/internal/lang"
)

// summary writes a result on one line: known entries as mask=name or
// mask:code=name, then the rest.
func summary(res Result) string {
	var parts []string
	for _, e := range res.Entries {
		part := e.Mask.String()
		if e.IsCode {
			part += fmt.Sprintf(":%d", e.Code)
		}
		parts = append(parts, part+"="+e.Name)
	}
	if !res.Unknown.IsZero() {
		parts = append(parts, "?"+res.Unknown.String())
	}
	return strings.Join(parts, " ")
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		register Register
		value    Value
		want     string
	}{
		{AICore, Value{}, ""},
		{AICore, Value{272}, "0x10=int_overflow 0x100=fp16_conversion_overflow"},
		{AICore, Value{0x20}, "0x20=float_overflow"},
		{AICore, Value{0x100}, "0x100=fp16_conversion_overflow"},
		{AICore, Value{0x400}, "0x400=cube_overflow"},
		{AICore, Value{0x120}, "0x20=float_overflow 0x100=fp16_conversion_overflow"},
		{AICore, Value{0x420}, "0x20=float_overflow 0x400=cube_overflow"},
		{AICore, Value{0x500}, "0x100=fp16_conversion_overflow 0x400=cube_overflow"},
		{AICore, Value{0x520}, "0x20=float_overflow 0x100=fp16_conversion_overflow 0x400=cube_overflow"},
		{AICore, Value{0x88}, "0x8=neg_overflow 0x80=negative_to_unsigned"},
		{AICore, Value{1}, "?0x1"},
		{AICore, Value{0x8000000000000243, 1}, "?0x18000000000000243"},
		{AICore, Value{0x21}, "0x20=float_overflow ?0x1"},

		{DHA, Value{}, ""},
		{DHA, Value{0x900}, "0xff00:9=overflow"},
		{DHA, Value{0xA00}, "0xff00:10=underflow"},
		{DHA, Value{0xB00}, "0xff00:11=source_illegal"},
		{DHA, Value{0xC00}, "0xff00:12=destination_illegal"},
		{DHA, Value{0xD00}, "0xff00:13=both_illegal"},
		{DHA, Value{0x10901}, "0xff00:9=overflow ?0x10001"},
		{DHA, Value{0xE00}, "?0xe00"},
		{DHA, Value{0x1}, "?0x1"},

		{L2, Value{}, "0x0:0=none"},
		{L2, Value{0x10000}, "0x70000:1=overflow"},
		{L2, Value{0x20000}, "0x70000:2=underflow"},
		{L2, Value{0x30000}, "0x70000:3=source_nan"},
		{L2, Value{0x40000}, "0x70000:4=destination_nan"},
		{L2, Value{0x50000}, "0x70000:5=both_nan"},
		{L2, Value{0x60000}, "?0x60000"},
		{L2, Value{0x80001}, "?0x80001"},

		{SDMA, Value{}, "0x0:0=success"},
		{SDMA, Value{4}, "0xffffffffffffffff:4=ddr_address"},
		{SDMA, Value{11}, "0xffffffffffffffff:11=reduce_overflow"},
		{SDMA, Value{12}, "0xffffffffffffffff:12=reduce_underflow"},
		{SDMA, Value{13}, "0xffffffffffffffff:13=reduce_source_illegal"},
		{SDMA, Value{14}, "0xffffffffffffffff:14=reduce_destination_illegal"},
		{SDMA, Value{15}, "0xffffffffffffffff:15=reduce_both_illegal"},
		{SDMA, Value{16}, "?0x10"},
		{SDMA, Value{11, 2}, "0xffffffffffffffff:11=reduce_overflow ?0x20000000000000000"},

		{AICPU, Value{}, ""},
		{AICPU, Value{3}, "0xffffffffffffffff:3=timeout"},
		{AICPU, Value{1002}, "0xffffffffffffffff:1002=hccl"},
		{AICPU, Value{21005}, "0xffffffffffffffff:21005=scheduler_task_not_found"},
		{AICPU, Value{13}, "?0xd"},

		{AICError, Value{}, "0x0:0=timeout_or_trap"},
		{AICError, Value{1}, "0x1=biu_l2_read_oob"},
		{AICError, Value{0x800000}, "0x800000=mte_biu_rdwr_resp"},
		{AICError, Value{0, 0x100}, "0x1000000000000000000=ccu_inf_nan"},
		{AICError, Value{1 << 54, 0, 1 << 28}, "0x40000000000000=vec_inf_nan " + Bit(156).String() + "=vec_idata_inf_nan"},
		{AICError, Bit(175).Or(Bit(176)), Bit(175).String() + "=vec_err_parity_err ?" + Bit(176).String()},

		{DavidCube, Value{0x18}, "0x10=cube_inf_nan ?0x8"},
		{DavidL1, Value{1<<54 | 1}, "0x1=l1_l0a_conflict 0x40000000000000=l1_bias_inf_nan"},
		{DavidL1High, Value{1 << 22}, "0x400000=l1_bias_inf_nan"},
		{DavidVec, Value{1<<32 | 1<<17}, "0x20000=vec_div0 0x100000000=vec_simt_join_end"},
		{None, Value{0x120}, "?0x120"},
		{Register(99), Value{1}, "?0x1"},
	} {
		res := Decode(c.register, c.value)
		if got := summary(res); got != c.want {
			t.Errorf("%v %v: decoded to %s, want %s", c.register, c.value, got, c.want)
		}
		if res.Register != c.register || res.Value != c.value {
			t.Errorf("%v %v: the result is for %v %v", c.register, c.value, res.Register, res.Value)
		}
	}
}

func TestEntry(t *testing.T) {
	e := Decode(DavidSU, Bit(6)).Entries[0]
	want := Entry{
		Mask: Value{0x40}, Bit: 6, Code: 1, Global: 262, Name: "su_inf_nan",
		Meaning: lang.Text{EN: "input is Inf or NaN"}, Advice: upstreamAdvice, Numeric: true,
	}
	if e != want {
		t.Errorf("bit 6 of david-su is %+v, want %+v", e, want)
	}
	e = Decode(L2, Value{0x20000}).Entries[0]
	want = Entry{
		Mask: Value{0x70000}, Bit: 16, IsCode: true, Code: 2, Global: -1, Name: "underflow",
		Meaning: lang.Text{EN: "atomic add underflowed"}, Advice: atomicAdvice, Numeric: true, Unofficial: true,
	}
	if e != want || !e.IsDocumented() {
		t.Errorf("code 2 of l2 is %+v, want %+v", e, want)
	}
}

func TestUndocumented(t *testing.T) {
	for _, c := range []struct {
		register Register
		value    Value
		en       string
		zh       string
	}{
		{AICore, Value{0x20}, "", ""},
		{AICore, Value{0x61}, "bit 0 (0x1): not documented|bit 6 (0x40): not documented", "第 0 位（0x1）：未公开|第 6 位（0x40）：未公开"},
		{AICError, Bit(180), "bit 180 (" + Bit(180).String() + "): not documented", "第 180 位（" + Bit(180).String() + "）：未公开"},
		{DHA, Value{0x11202}, "bit 1 (0x2): not documented|code 18 (0x12): not documented|bit 16 (0x10000): not documented", "第 1 位（0x2）：未公开|错误码 18（0x12）：未公开|第 16 位（0x10000）：未公开"},
		{DHA, Value{0x901}, "bit 0 (0x1): not documented", "第 0 位（0x1）：未公开"},
		{SDMA, Value{99}, "code 99 (0x63): not documented", "错误码 99（0x63）：未公开"},
	} {
		res := Decode(c.register, c.value)
		var en, zh []string
		for _, e := range res.UndocumentedEntries() {
			en = append(en, e.Meaning.String())
			zh = append(zh, e.Meaning.Chinese())
			if e.IsDocumented() || e.Global != -1 {
				t.Errorf("%v %v: %+v", c.register, c.value, e)
			}
		}
		if got := strings.Join(en, "|"); got != c.en {
			t.Errorf("%v %v: not documented are %s, want %s", c.register, c.value, got, c.en)
		}
		if got := strings.Join(zh, "|"); got != c.zh {
			t.Errorf("%v %v: not documented are %s, want %s", c.register, c.value, got, c.zh)
		}
	}
}

func TestOutsideValidMask(t *testing.T) {
	res := Decode(DavidCube, Value{0x19})
	all := append(res.Entries, res.UndocumentedEntries()...)
	for i, want := range []struct {
		name, note string
		global     int
	}{
		{"cube_l0a_conflict", "outside the valid mask of 950", 0},
		{"cube_inf_nan", "", 4},
		{"", "outside the valid mask of 950", 3},
	} {
		if e := all[i]; e.Name != want.name || e.Note.EN != want.note || e.Global != want.global || (e.Note.Chinese() == "") != (want.note == "") {
			t.Errorf("entry %d is %+v, want %+v", i, e, want)
		}
	}
	// Bits above the register have no number.
	res = Decode(DavidL1High, Bit(32))
	if e := res.UndocumentedEntries()[0]; e.Global != -1 || e.Note.EN == "" {
		t.Errorf("bit 32 of a register of 32 bits is %+v", e)
	}
}

func TestDecodeGlobal(t *testing.T) {
	names := map[string]bool{}
	for n := range globalNumbers {
		res, err := DecodeGlobal(n)
		if err != nil {
			t.Fatal(err)
		}
		all := append(res.Entries, res.UndocumentedEntries()...)
		if len(all) != 1 || all[0].Global != n {
			t.Fatalf("number %d: %+v", n, all)
		}
		if name := all[0].Name; name != "" && names[name] {
			t.Errorf("two numbers are called %s", name)
		} else if name != "" {
			names[name] = true
		}
	}
	if len(names) != 187 {
		t.Errorf("%d numbers are documented, want 187", len(names))
	}
	for _, c := range []struct {
		number   int
		register Register
		want     string
	}{
		{0, DavidCube, "0x1=cube_l0a_conflict"},
		{63, DavidCube, "?0x8000000000000000"},
		{64, DavidMTE, "0x1=mte_nddma_cache_ecc"},
		{158, DavidL1, "0x40000000=l1_fetch_position"},
		{160, DavidL1High, "0x1=l1_fifo_parity"},
		{195, DavidSC, "0x8=sc_bus_timeout"},
		{258, DavidSU, "0x4=su_div0"},
		{336, DavidVec, "0x10000=vec_inf_nan"},
		{364, DavidVecHigh, "0x1000=vec_divergence_ecc"},
		{383, DavidVecHigh, "?0x80000000"},
	} {
		res, err := DecodeGlobal(c.number)
		if err != nil || res.Register != c.register || summary(res) != c.want {
			t.Errorf("number %d: %v %s, %v; want %v %s", c.number, res.Register, summary(res), err, c.register, c.want)
		}
	}
	for _, n := range []int{-1, globalNumbers, 1 << 40} {
		if res, err := DecodeGlobal(n); err == nil || res.Register != None {
			t.Errorf("number %d: %v, %v", n, res, err)
		}
	}
}

// TestNothingDropped: masks do not overlap, and with the unknown bits they
// make up the value.
func TestNothingDropped(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, r := range append(Registers(), None) {
		for range 500 {
			checkComplete(t, Decode(r, randomValue(random)))
		}
		for n := range ValueBits {
			checkComplete(t, Decode(r, Bit(n)))
		}
	}
}

func checkComplete(t *testing.T, res Result) {
	t.Helper()
	var known, unknown Value
	last := -1
	for _, e := range res.Entries {
		if !e.IsDocumented() || e.Meaning.EN == "" || e.Meaning.Chinese() == "" || e.Bit <= last || !known.And(e.Mask).IsZero() {
			t.Fatalf("%v %v: entry %+v", res.Register, res.Value, e)
		}
		known, last = known.Or(e.Mask), e.Bit
	}
	if !known.And(res.Unknown).IsZero() || known.And(res.Value).Or(res.Unknown) != res.Value {
		t.Fatalf("%v %v: known %v and unknown %v", res.Register, res.Value, known, res.Unknown)
	}
	last = -1
	for _, e := range res.UndocumentedEntries() {
		if e.IsDocumented() || e.Meaning.EN == "" || e.Meaning.Chinese() == "" || e.Bit <= last || !unknown.And(e.Mask).IsZero() {
			t.Fatalf("%v %v: not documented %+v", res.Register, res.Value, e)
		}
		unknown, last = unknown.Or(e.Mask), e.Bit
	}
	if unknown.And(res.Value) != res.Unknown {
		t.Fatalf("%v %v: not documented %v, unknown %v", res.Register, res.Value, unknown, res.Unknown)
	}
}
