package opdebug_test

import (
	"errors"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"

	"github.com/google/go-cmp/cmp"
)

// Every field gets its own value, so that two swapped ones show.
func TestParseFieldOrder(t *testing.T) {
	common := opdebug.Area{ModelID: 1, StreamID: 2, TaskID: 3, TaskType: 4, ContextID: 5}
	core := common
	core.ThreadID, core.PCStart, core.ParaBase, core.CoreID, core.BlockID = 6, 7, 8, 9, 10
	cpu := common
	cpu.Unit, cpu.CPUID, cpu.ThreadID, cpu.Status = opdebug.AICPU, 6, 7, []uint64{8}
	sdma := common
	sdma.Unit, sdma.ThreadID, sdma.SrcAddr, sdma.DstAddr = opdebug.SDMA, 6, 7, 8
	sdma.ChannelID, sdma.Status = 9, []uint64{10}
	with := func(u opdebug.Unit, status ...uint64) opdebug.Area {
		a := core
		a.Unit, a.Status = u, status
		return a
	}
	tests := []struct {
		name         string
		version, acc uint32
		dataLen      uint32
		want         opdebug.Area
	}{
		{"aic v0", 0, 0, 88, with(opdebug.AIC, 11)},
		{"aic v1", 1, 0, 112, with(opdebug.AIC, 11, 12, 13, 14)},
		{"aiv v0", 0, 1, 88, with(opdebug.AIV, 11)},
		{"aiv v1", 1, 1, 112, with(opdebug.AIV, 11, 12, 13, 14)},
		{"aicpu v0", 0, 2, 64, cpu},
		{"aicpu v1", 1, 2, 64, cpu},
		{"sdma v0", 0, 3, 80, sdma},
		{"sdma v1", 1, 3, 80, sdma},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := [6]uint32{opdebug.Magic, tt.version, 1, tt.acc, 0, tt.dataLen}
			payload := entry(0, header, seq(1, int(tt.dataLen)/8)...)
			r := mustParse(t, payload)
			if d := cmp.Diff([]opdebug.Area{tt.want}, r.Areas); d != "" {
				t.Errorf("area (-want +got):\n%s", d)
			}
			if len(r.Warnings) > 0 {
				t.Errorf("warnings: %q", r.Warnings)
			}
			if got := validHeader(tt.want.Unit, tt.version); got != r.Header {
				t.Errorf("header = %+v, want %+v", got, r.Header)
			}
			context, thread, ok := r.Areas[0].Context()
			if !ok || context != 5 || thread != tt.want.ThreadID {
				t.Errorf("Context() = %d, %d, %v", context, thread, ok)
			}
			_, err := opdebug.Parse(payload[:len(payload)-1])
			var short *opdebug.ShortError
			if !errors.As(err, &short) || short.Wanted != len(payload) {
				t.Errorf("one byte less: %v", err)
			}
		})
	}
}

func TestParseOldFieldOrder(t *testing.T) {
	info := func(u opdebug.Unit, first uint64) opdebug.Area {
		return opdebug.Area{
			Unit: u, ModelID: first, StreamID: first + 1, TaskID: first + 2, TaskType: first + 3,
			PCStart: first + 4, ParaBase: first + 5, Status: []uint64{first + 6},
		}
	}
	at := map[int]uint64{512: 7, 768: 17, 1024: 28, 1032: 29, 1040: 27}
	for i := range 6 {
		at[8*i], at[128+8*i], at[256+8*i] = uint64(i+1), uint64(i+11), uint64(i+21)
	}
	core := info(opdebug.AICore, 21)
	core.KernelCode, core.BlockIdx = 28, 29
	want := &opdebug.Record{Generation: opdebug.OldLayout, Size: 2048, Areas: []opdebug.Area{info(opdebug.DHA, 1), info(opdebug.L2, 11), core}}
	r := mustParse(t, words(2048, at))
	if d := cmp.Diff(want, r); d != "" {
		t.Errorf("record (-want +got):\n%s", d)
	}
	if n := len(r.Overflows()); n != 3 {
		t.Errorf("%d overflows, want 3", n)
	}
	if _, _, ok := r.Areas[0].Context(); ok {
		t.Error("old layout area has a context")
	}
}

// Rows: an unusual payload, and the values read nevertheless.
func TestParseWarnings(t *testing.T) {
	old := map[int]uint64{256: 514, 1040: 32}
	core := append(seq(1, 10), 32, 0, 256, 7) // fields, then status words
	header := func(version, valid, acc, rsv, dataLen uint32) [6]uint32 {
		return [6]uint32{opdebug.Magic, version, valid, acc, rsv, dataLen}
	}
	tests := []struct {
		name     string
		payload  []byte
		status   []uint64 // of the last area
		overflow bool
		warnings []string // a part of each warning
	}{
		{"old 2048", words(2048, old), []uint64{32}, true, nil},
		{"old 1048", words(1048, old), []uint64{32}, true, []string{"has 1048 bytes, wanted 2048"}},
		{"old 2047", words(2047, old), []uint64{32}, true, []string{"has 2047 bytes, wanted 2048"}},
		{"old 2049", words(2049, old), []uint64{32}, true, []string{"has 2049 bytes, wanted 2048"}},
		{"old reserved", words(2048, map[int]uint64{1040: 32, 48: 0x100, 1048: 1, 2040: 1 << 56}), []uint64{32}, true,
			[]string{"reserved bytes 0x31 to 0x31", "reserved bytes 0x418 to 0x7ff"}},
		{"512 buffer", entry(512, header(0, 1, 0, 0, 88), core[:11]...), []uint64{32}, true, nil},
		{"2048 buffer", entry(2048, header(1, 1, 0, 0, 112), core...), core[10:], true, nil},
		{"valid 0", entry(0, header(0, 0, 0, 0, 88), core[:11]...), []uint64{32}, false,
			[]string{"valid is 0, wanted 1"}},
		{"valid 2", entry(0, header(0, 2, 0, 0, 88), core[:11]...), []uint64{32}, false,
			[]string{"valid is 2, wanted 1"}},
		{"rsv", entry(0, header(0, 1, 0, 9, 88), core[:11]...), []uint64{32}, true, []string{"rsv is 9"}},
		{"version 0 with four words", entry(0, header(0, 1, 1, 0, 112), core...), core[10:], true,
			[]string{"data_len is 112, AIV of version 0 has 88: read as 112"}},
		{"version 1 with one word", entry(0, header(1, 1, 1, 0, 88), core[:11]...), []uint64{32}, true,
			[]string{"data_len is 88, AIV of version 1 has 112: read as 88"}},
		{"version 2 with four words", entry(0, header(2, 1, 0, 0, 112), core...), core[10:], true,
			[]string{"version 2 is unknown, wanted 0 or 1: status words read: 4"}},
		{"version 2 with one word", entry(0, header(2, 1, 0, 0, 88), core[:11]...), []uint64{32}, true,
			[]string{"version 2 is unknown, wanted 0 or 1: status words read: 1"}},
		{"odd data_len, version 0", entry(512, header(0, 1, 0, 0, 90), core[:11]...), []uint64{32}, true,
			[]string{"data_len is 90, AIC of version 0 has 88: read as 88"}},
		{"odd data_len, version 1", entry(512, header(1, 1, 0, 0, 0), core...), core[10:], true,
			[]string{"data_len is 0, AIC of version 1 has 112: read as 112"}},
		{"data_len of another unit", entry(0, header(0, 1, 3, 0, 88), core...), []uint64{10}, true,
			[]string{"data_len is 88, SDMA of version 0 has 80", "unknown bytes 0x68 to 0x68 of the entry", "bytes 0x79 to 0x80 after"}},
		{"data_len beyond the payload", entry(0, header(0, 1, 0, 0, 1<<32-1), core[:11]...), []uint64{32}, true,
			[]string{"data_len is 4294967295"}},
		{"a second entry", entry(512, header(0, 1, 0, 0, 88), append(core[:11:11], 0x5A00, 5)...), []uint64{32}, true,
			[]string{"bytes 0x71 to 0x78 after the entry's end at 0x70 are not zero"}},
		{"status 0", entry(0, header(0, 1, 0, 0, 88), append(seq(1, 10), 0)...), []uint64{0}, false, nil},
		{"four zero words", entry(136, header(1, 1, 0, 0, 112), seq(1, 10)...), make([]uint64, 4), false, nil},
		{"only the last word", entry(0, header(1, 1, 0, 0, 112), append(seq(1, 10), 0, 0, 0, 1)...), []uint64{0, 0, 0, 1}, true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := mustParse(t, tt.payload)
			if d := cmp.Diff(tt.status, r.Areas[len(r.Areas)-1].Status); d != "" {
				t.Errorf("status (-want +got):\n%s", d)
			}
			if r.HasOverflow() != tt.overflow {
				t.Errorf("Overflowed() = %v", r.HasOverflow())
			}
			if len(r.Warnings) != len(tt.warnings) {
				t.Fatalf("warnings %q, want %q", r.Warnings, tt.warnings)
			}
			for i, w := range tt.warnings {
				if !strings.Contains(r.Warnings[i].String(), w) {
					t.Errorf("warning %q, want %q in it", r.Warnings[i], w)
				}
			}
			sameBytes(t, dumptest.EncodeRecord(r), tt.payload)
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name    string
		payload []byte
		want    string
	}{
		{"empty", nil, "opdebug: old layout: payload cut off at 0x0: found 0 bytes, wanted 2048 (at least 1048)"},
		{"three bytes of magic", []byte("ZZZ"), "found 3 bytes, wanted 2048"},
		{"old 1047", make([]byte, 1047), "found 1047 bytes, wanted 2048 (at least 1048)"},
		{"magic only", []byte("ZZZZ"), "opdebug: new layout: header cut off at 0x4: found 4 bytes, wanted 24"},
		{"header only", entry(0, [6]uint32{opdebug.Magic, 0, 1, 1, 0, 88}),
			"opdebug: new layout: AIV entry of version 0 cut off at 0x18: found 24 bytes, wanted 112"},
		{"data_len 112 with one word", entry(0, [6]uint32{opdebug.Magic, 0, 1, 0, 0, 112}, seq(1, 11)...),
			"found 112 bytes, wanted 136"},
		{"acc_type 4", entry(512, [6]uint32{opdebug.Magic, 1, 1, 4, 0, 88}),
			"opdebug: acc_type 4 at 0xc, wanted 0 to 3 (header: version 1, valid 1, rsv 0, data_len 88)"},
		{"acc_type 260", entry(512, [6]uint32{opdebug.Magic, 1, 1, 260, 0, 88}), "acc_type 260"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := opdebug.Parse(tt.payload)
			if r != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse = %v, %v, want %q", r, err, tt.want)
			}
		})
	}
}

func TestAccTypeErrorKeepsHeader(t *testing.T) {
	_, err := opdebug.Parse(entry(2048, [6]uint32{opdebug.Magic, 2, 1, 9, 3, 96}))
	var acc *opdebug.AccTypeError
	if !errors.As(err, &acc) {
		t.Fatalf("error %v", err)
	}
	want := opdebug.Header{Magic: opdebug.Magic, Version: 2, Valid: 1, AccType: 9, Rsv: 3, DataLen: 96}
	if acc.Header != want {
		t.Errorf("header %+v, want %+v", acc.Header, want)
	}
}

func TestEmpty(t *testing.T) {
	tests := []struct {
		name    string
		payload []byte
		want    bool
	}{
		{"old zeros", make([]byte, 2048), true},
		{"old status", words(2048, map[int]uint64{768: 1}), false},
		{"old id", words(2048, map[int]uint64{8: 1}), false},
		{"new zeros", entry(512, [6]uint32{opdebug.Magic, 1, 1, 0, 0, 112}), true},
		{"new status", entry(0, [6]uint32{opdebug.Magic, 1, 1, 0, 0, 112}, append(make([]uint64, 13), 1)...), false},
	}
	for _, tt := range tests {
		r := mustParse(t, tt.payload)
		if r.Empty() != tt.want {
			t.Errorf("%s: Empty() = %v", tt.name, r.Empty())
		}
		if tt.want && r.HasOverflow() {
			t.Errorf("%s: empty and overflowed", tt.name)
		}
	}
}

// Context 0 is a legal FFTS+ id and must not look like an absent one.
func TestContextZero(t *testing.T) {
	a := opdebug.Area{Unit: opdebug.AIV, Status: []uint64{1}}
	if c, th, ok := a.Context(); !ok || c != 0 || th != 0 {
		t.Errorf("Context() = %d, %d, %v", c, th, ok)
	}
	a.ThreadID = opdebug.NoID
	if _, _, ok := a.Context(); ok {
		t.Error("context without a thread")
	}
}

func TestUnitString(t *testing.T) {
	if s := opdebug.Unit(99).String(); s != "Unit(99)" {
		t.Error(s)
	}
	if a := (opdebug.Area{Unit: 99}); a.Fields() != nil {
		t.Error("unknown unit has fields")
	}
}
