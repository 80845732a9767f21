package dumpconf

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzCheck(f *testing.F) {
	for _, name := range sampleNames(f) {
		f.Add(readSample(f, name), uint8(0))
	}
	for i, c := range allCases() {
		if len(c.text) < 1000 {
			f.Add([]byte(strings.ReplaceAll(c.text, mark, "")), uint8(i))
		}
	}
	f.Add([]byte("\xff\xfe{\x00}\x00"), uint8(0))
	f.Add([]byte("{\x00\"\x00d\x00"), uint8(1))
	f.Fuzz(func(t *testing.T, src []byte, choice uint8) {
		opt := Options{Schema: Schema(choice % 6)}
		if choice&0x10 != 0 {
			opt.TargetVersion = Version{Major: 1 + int(choice>>5)}
			opt.SoC = "A2"
			opt.Devices = []uint64{1}
			opt.Container = true
			opt.Stat = stat(PathMissing)
			opt.Env = env("NPU_COLLECT_PATH=/x", "ASCEND_WORK_PATH=/w")
		}
		r := Check("acl.json", src, opt)
		lineCount := strings.Count(string(src), "\n") + 1
		for _, finding := range r.Findings {
			checkFinding(t, &finding, max(len(src), len(r.Doc.Source())), lineCount)
		}
		if len(src) > 4096 {
			return // more problems than a repair has rounds for
		}
		fixed, after := Repair("acl.json", src, opt)
		if before, left := r.Count(Error), after.Count(Error); left > before {
			t.Fatalf("%d errors became %d in\n%s", before, left, fixed)
		}
		if json.Valid(src) && !json.Valid(fixed) {
			t.Fatalf("valid text repaired to\n%s", fixed)
		}
		again, _ := Repair("acl.json", fixed, opt)
		if string(again) != string(fixed) {
			t.Fatalf("repaired\n%s\nto\n%s", fixed, again)
		}
	})
}

func checkFinding(t *testing.T, f *Finding, size, lineCount int) {
	t.Helper()
	if f.Offset < 0 || f.Length < 0 || f.Offset+f.Length > size {
		t.Fatalf("%s is at %d, %d bytes, of %d", f.Rule, f.Offset, f.Length, size)
	}
	if f.Line < 1 || f.Line > lineCount || f.Column < 1 || f.Column > size+1 {
		t.Fatalf("%s is at %d:%d of %d lines", f.Rule, f.Line, f.Column, lineCount)
	}
	if s := f.Message.String(); s == "" || !utf8.ValidString(s) {
		t.Fatalf("%s: message %q", f.Rule, s)
	}
	for _, e := range f.Edits {
		if e.Offset < 0 || e.Length < 0 || e.End() > size {
			t.Fatalf("%s: edit %+v of %d bytes", f.Rule, e, size)
		}
	}
}
