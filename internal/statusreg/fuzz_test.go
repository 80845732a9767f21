package statusreg

import (
	"strings"
	"testing"
)

func FuzzParseValue(f *testing.F) {
	for _, text := range []string{"", "272", "0x110", "0x", "1_000", " 5 ", "1f", "0x1" + strings.Repeat("0", 64), "errcode:(0, 0x8000, 0)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseValue(text)
		if err != nil {
			if !v.IsZero() {
				t.Fatalf("%v with %v", v, err)
			}
			return
		}
		if back, err := ParseValue(v.String()); err != nil || back != v {
			t.Fatalf("%v comes back as %v, %v", v, back, err)
		}
		for _, r := range Registers() {
			checkComplete(t, Decode(r, v))
		}
	})
}

func FuzzFindInText(f *testing.F) {
	for _, line := range []string{
		oldLog + "error code = 0x800000" + dumpInfo,
		coreLog + "error code = 258, 336, dump info",
		"errcode:(0, 0x8000, 0) errorStr: timeout",
		"aic error: 0x48", "dha status 1 info: 0x900", "status: 272", `"status": [`, "]", "[0, 32, 0, 256],",
		`{"AI Core":{"status":32}}`, " [AI Core][TaskId:57][StreamId:563][Status:32]",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		checkFound(t, line, FindInText(line))
		var finder Finder
		for part := range strings.Lines(line) {
			finder.Find(part)
		}
	})
}
